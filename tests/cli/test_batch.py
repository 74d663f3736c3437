# SPDX-License-Identifier: Apache-2.0
"""ingot generate --input --output: batch files, bad lines, kills at any moment, resuming."""

import json
import random
import signal
import subprocess
import time

import pytest
from openai.types import Completion
from openai.types.chat import ChatCompletion

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"


def line(custom_id, url, body, **more):
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": url, "body": body, **more})


def chat(content, **fields):
    return {"model": "default", "messages": [{"role": "user", "content": content}], **fields}


def mixed_lines():
    """40 lines; those that are answered have ids that begin with "ok", refused ones with "bad"."""
    lines = []
    for i in range(12):
        lines.append(line(f"ok-chat-{i}", CHAT, chat(f"Count to {i}.", temperature=0,
                                                     max_tokens=10 + i)))
    for i in range(12):
        lines.append(line(f"ok-text-{i}", COMPLETIONS,
                          {"prompt": f"Once upon a time there were {i}", "temperature": 0,
                           "max_tokens": 12 + 2 * i}))
    lines.append(line("ok-n", CHAT, chat("Hi", n=3, seed=5, temperature=1, max_tokens=8)))
    lines.append(line("ok-best", COMPLETIONS, {"prompt": "A", "best_of": 3, "seed": 1}))
    lines.append(line("ok-beams", COMPLETIONS, {"prompt": "A", "use_beam_search": True, "n": 2}))
    lines.append(line("ok-logprobs", CHAT, chat("Hi", logprobs=True, top_logprobs=3, max_tokens=4,
                                                temperature=0)))
    lines.append(line("ok-echo", COMPLETIONS, {"prompt": "Once upon", "echo": True, "logprobs": 1,
                                               "max_tokens": 1, "temperature": 0}))
    lines.append(line("ok-many", COMPLETIONS, {"prompt": ["One", "Two"], "seed": 3}))
    lines.append(line("ok-ids", COMPLETIONS, {"prompt": [1, 3, 203], "seed": 3, "stop": ["e"]}))
    lines.append(line("bad-n", CHAT, chat("Hi", n=100)))
    lines.append(line("bad-url", "/v1/embeddings", {"input": "x"}))
    lines.append(line("bad-format", CHAT, chat("Hi", response_format={"type": "json_object"})))
    lines.append(line("bad-long", COMPLETIONS, {"prompt": "long " * 20000}))
    lines.append(line("bad-empty", CHAT, {}))
    lines.append("this is no JSON")
    lines.append(json.dumps({"method": "POST"}))
    lines.append(line("ok-chat-0", CHAT, chat("a second one of the same name")))
    lines.append('{"custom_id": "torn", "method": ')
    assert len(lines) == 40
    return lines


@pytest.fixture
def batch(ingot, tmp_path):
    class Batch:
        source = tmp_path / "in.jsonl"
        target = tmp_path / "out.jsonl"
        partial = tmp_path / "out.jsonl.partial"

        def args(self, *more):
            return ["generate", "default", "--input", str(self.source), "--output",
                    str(self.target), "-t", "1", "--kv-cache-memory", "256MB", *map(str, more)]

        def run(self, *more, **options):
            return ingot(*self.args(*more), **options)

        def results(self):
            return [json.loads(text) for text in self.target.read_text().splitlines()]

        def start(self):
            return subprocess.Popen([ingot.binary, *self.args()], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE)

    return Batch()


def comparable(results):
    """What must not depend on when and in how many runs an answer was made."""
    found = {}
    for result in results:
        key = result["custom_id"] or result["id"]
        assert key not in found, f"{key} stands there twice"
        if result["response"] and result["response"]["status_code"] == 200:
            body = result["response"]["body"]
            del body["created"], body["timings"], body["usage"]["prompt_tokens_details"]
            del body["seed"]  # drawn where none is given; greedy answers and beams do not use it
        found[key] = result
    return found


def test_mixed_lines_are_all_answered_in_openais_shapes(ingot, batch):
    lines = mixed_lines()
    batch.source.write_text("\n".join(lines) + "\n")
    done = batch.run()
    assert "40 requests, 9 failed" in done.err
    assert "tokens/s" in done.err and "reused" in done.err
    assert not batch.partial.exists()
    results = batch.results()
    assert len(results) == 40
    by_id = {r["custom_id"]: r for r in results if r["custom_id"]}
    assert len(by_id) == 36
    for custom_id, result in by_id.items():
        response = result["response"]
        assert result["error"] is None
        if custom_id.startswith("ok"):
            assert response["status_code"] == 200, response
            model = ChatCompletion if "chat" in response["body"]["object"] else Completion
            if custom_id != "ok-echo":  # its first entries are null, which the schema has no word for
                model.model_validate(response["body"], strict=True)
            assert response["body"]["usage"]["total_tokens"] > 0
            assert isinstance(response["body"]["seed"], int)
        else:
            assert response["status_code"] == 400
            assert set(response["body"]["error"]) == {"message", "type", "param", "code"}
    assert by_id["bad-n"]["response"]["body"]["error"]["param"] == "n"
    assert by_id["bad-long"]["response"]["body"]["error"]["code"] == "context_length_exceeded"
    errors = [r["error"]["code"] for r in results if r["custom_id"] is None]
    assert sorted(errors) == ["duplicate_custom_id", "invalid_json_line", "invalid_json_line",
                              "missing_custom_id"]
    check_shapes(by_id)
    check_single_runs(ingot, by_id)


def check_shapes(by_id):
    def body(key):
        return by_id[key]["response"]["body"]

    assert [c["index"] for c in body("ok-n")["choices"]] == [0, 1, 2]
    assert len(body("ok-many")["choices"]) == 2
    assert len(body("ok-beams")["choices"]) == 2
    entry = body("ok-logprobs")["choices"][0]["logprobs"]["content"][0]
    assert len(entry["top_logprobs"]) == 3 and entry["top_logprobs"][0]["token"] == entry["token"]
    echo = body("ok-echo")["choices"][0]
    assert echo["text"].startswith("Once upon")
    logprobs = echo["logprobs"]
    count = body("ok-echo")["usage"]["total_tokens"]
    assert all(len(logprobs[k]) == count for k in
               ("tokens", "token_logprobs", "top_logprobs", "text_offset"))
    assert logprobs["token_logprobs"][0] is None
    for value, top in list(zip(logprobs["token_logprobs"], logprobs["top_logprobs"]))[1:]:
        assert value in top.values()


def check_single_runs(ingot, by_id):
    for i in (0, 5, 11):
        single = ingot.generate("--chat", "-p", f"Count to {i}.", "-n", 10 + i, "--temp", 0,
                                "--json").json
        choice = by_id[f"ok-chat-{i}"]["response"]["body"]["choices"][0]
        assert choice["message"]["content"] == single["text"]
        assert choice["finish_reason"] == single["finish_reason"]
        single = ingot.generate("-p", f"Once upon a time there were {i}", "-n", 12 + 2 * i,
                                "--temp", 0, "--json").json
        assert by_id[f"ok-text-{i}"]["response"]["body"]["choices"][0]["text"] == single["text"]


def test_killed_runs_resume_without_losing_or_repeating_a_line(batch):
    lines = mixed_lines()
    batch.source.write_text("\n".join(lines) + "\n")
    batch.run()
    whole = comparable(batch.results())
    batch.target.unlink()
    rng = random.Random(7)
    kills = 0
    for _ in range(12):
        run = batch.start()
        # From a moment before the first answer to one between two of them.
        wanted = len(lines_of(batch.partial)) + rng.choice([0, 1, 4, 9])
        deadline = time.monotonic() + 60
        while run.poll() is None and time.monotonic() < deadline:
            if len(lines_of(batch.partial)) >= wanted and batch.partial.exists():
                break
            time.sleep(0.002)
        if run.poll() is None:
            run.kill()
            kills += 1
        run.communicate()
        if batch.target.exists():
            break
        kept = lines_of(batch.partial)
        assert len(kept) == len(set(kept))
        if rng.random() < 0.5 and batch.partial.exists():  # as a power cut may leave it
            with batch.partial.open("ab") as file:
                file.write(b'{"id":"batch_req_1","custom_id":"ok-ch')
    assert kills >= 3
    if not batch.target.exists():
        batch.run()
    assert comparable(batch.results()) == whole
    assert not batch.partial.exists()


def lines_of(path):
    try:
        return path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:  # not begun, or renamed to its target by a run that just ended
        return []


def test_answers_of_an_earlier_run_are_kept_as_they_are(batch):
    lines = [line(f"r{i}", COMPLETIONS, {"prompt": "A", "max_tokens": 2}) for i in range(4)]
    batch.source.write_text("\n".join(lines))
    kept = json.dumps({"id": "batch_req_3", "custom_id": "r2", "response": {"kept": True},
                       "error": None}, separators=(",", ":"))
    foreign = kept.replace("r2", "gone")
    batch.partial.write_text(f"{kept}\n{foreign}\n" + '{"id":"batch_req_1","cust')
    done = batch.run()
    assert "4 requests (1 of them earlier), 0 failed" in done.err
    results = {r["custom_id"]: r for r in batch.results()}
    assert len(batch.results()) == 4 and set(results) == {"r0", "r1", "r2", "r3"}
    assert results["r2"]["response"] == {"kept": True}


def test_ctrl_c_keeps_the_answers_and_says_how_to_go_on(batch):
    lines = [line(f"r{i}", COMPLETIONS, {"prompt": "Once", "max_tokens": 5 if i < 2 else 400,
                                         "ignore_eos": True, "seed": i}) for i in range(40)]
    batch.source.write_text("\n".join(lines))
    run = batch.start()
    deadline = time.monotonic() + 60
    while not lines_of(batch.partial) and time.monotonic() < deadline:
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert b"run the same command again" in err
    assert 1 <= len(lines_of(batch.partial)) < 40
    assert not batch.target.exists()


def test_outputs_are_not_overwritten_unless_told(batch):
    batch.source.write_text(line("a", COMPLETIONS, {"prompt": "A", "max_tokens": 1}))
    batch.target.write_text("old")
    assert "--overwrite" in batch.run(code=2).err
    assert batch.target.read_text() == "old"
    batch.run("--overwrite")
    assert [r["custom_id"] for r in batch.results()] == ["a"]


def test_the_input_is_never_the_output(ingot, batch):
    text = line("a", COMPLETIONS, {"prompt": "A"})
    batch.source.write_text(text)
    failed = ingot("generate", "--input", batch.source, "--output", batch.source, "--overwrite",
                   code=2)
    assert "overwrite the input" in failed.err
    assert batch.source.read_text() == text
    assert "both --input and --output" in ingot("generate", "--input", batch.source, code=2).err


def test_unknown_fields_and_other_model_names_are_told_once(batch):
    lines = [line(f"r{i}", COMPLETIONS, {"model": "gpt", "prompt": "A", "max_tokens": 1,
                                         "colour": "red"}) for i in range(3)]
    batch.source.write_text("\n".join(lines))
    done = batch.run()
    assert done.err.count("'colour'") == 1
    assert done.err.count("'gpt'") == 1
    for result in batch.results():
        assert "'colour'" in result["response"]["body"]["warnings"][0]
        assert result["response"]["body"]["model"] == "default"


def test_a_drawn_seed_is_told_and_repeats_the_answer(batch):
    body = {"prompt": "Once upon", "max_tokens": 12, "temperature": 1.2}
    batch.source.write_text(line("a", COMPLETIONS, body))
    batch.run()
    first = batch.results()[0]["response"]["body"]
    batch.source.write_text(line("a", COMPLETIONS, {**body, "seed": first["seed"]}))
    batch.run("--overwrite")
    assert batch.results()[0]["response"]["body"]["choices"] == first["choices"]


def test_an_empty_file_has_an_empty_answer(batch):
    batch.source.write_text("\n\n")
    batch.run()
    assert batch.target.read_text() == ""
