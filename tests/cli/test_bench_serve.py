# SPDX-License-Identifier: Apache-2.0
"""ingot bench serve: against our own server, and against small ones that behave badly on purpose.
Nothing here depends on speed."""

import json
import random
import ssl
import subprocess
import threading
import time
import xml.etree.ElementTree as ElementTree
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

SERVER_KEYS = {
    "name", "url", "model", "prompts", "tokens_per_word", "notes", "seconds", "completed", "refused",
    "failed", "unsent", "mean_in_flight", "peak_in_flight", "prompt_tokens", "cached_prompt_tokens",
    "processed_prompt_tokens", "output_tokens", "chunks", "answers_of_other_length",
    "answers_without_usage", "requests_per_s", "prompt_tokens_per_s", "output_tokens_per_s",
    "total_tokens_per_s", "ttft_ms", "tpot_ms", "itl_ms", "e2el_ms", "refusal_ms", "late_ms",
    "goodput", "retry_after_s", "load_generator_cpu", "errors", "rounds",
}


def bench(ingot, *args, code=0):
    result = ingot("bench", "serve", "--json", *args, code=code).json
    assert {"benchmark", "machine", "load", "endpoint", "workload", "servers"} <= set(result)
    for server in result["servers"]:
        assert set(server) == SERVER_KEYS
    return result


def check_answers(server, requests, output_tokens):
    """Every request was answered in full, and the numbers hang together."""
    assert (server["completed"], server["refused"], server["failed"]) == (requests, 0, 0)
    assert server["errors"] == {} and server["unsent"] == 0
    assert server["output_tokens"] == output_tokens
    assert server["answers_of_other_length"] == server["answers_without_usage"] == 0
    assert server["seconds"] > 0
    assert server["requests_per_s"] == pytest.approx(requests / server["seconds"])
    assert server["output_tokens_per_s"] == pytest.approx(output_tokens / server["seconds"])
    for name in ("ttft_ms", "itl_ms", "tpot_ms", "e2el_ms"):
        spread = server[name]
        assert 0 <= spread["min"] <= spread["p50"] <= spread["p90"] <= spread["p99"] <= spread["max"]
    assert server["ttft_ms"]["max"] <= server["e2el_ms"]["max"] <= server["seconds"] * 1e3
    assert 0 < server["mean_in_flight"] <= server["peak_in_flight"] <= requests


# Against our own server.


def test_a_closed_loop_of_exact_lengths(ingot, server):
    result = bench(ingot, "--base-url", server.url, "--num-prompts", 6, "--input-len", 12,
                   "--output-len", 5, "--max-concurrency", 3)
    one, = result["servers"]
    check_answers(one, requests=6, output_tokens=30)
    assert one["prompts"] == "token ids"
    assert one["prompt_tokens"] == 6 * 12
    assert one["cached_prompt_tokens"] + one["processed_prompt_tokens"] == one["prompt_tokens"]
    assert one["peak_in_flight"] == 3
    assert result["endpoint"] == "/v1/completions"


def test_the_same_seed_makes_the_same_requests(ingot, server):
    def prompt_tokens(seed):
        result = bench(ingot, "--base-url", server.url, "--num-prompts", 4, "--input-len", "1:200",
                       "--output-len", 1, "--seed", seed)
        return result["servers"][0]["prompt_tokens"]

    assert prompt_tokens(1) == prompt_tokens(1) != prompt_tokens(2)


def test_arrivals_keep_their_times(ingot, server, tmp_path):
    lines = tmp_path / "requests.jsonl"
    result = bench(ingot, "--base-url", server.url, "--num-prompts", 8, "--request-rate", 40,
                   "--input-len", 4, "--output-len", 2, "--save-requests", lines)
    check_answers(result["servers"][0], requests=8, output_tokens=16)
    assert result["load"]["request_rate"] == 40
    records = sorted(map(json.loads, lines.read_text().splitlines()), key=lambda r: r["due_s"])
    assert [record["conversation"] for record in records] == list(range(8))
    assert records[0]["due_s"] == 0 < records[1]["due_s"] < records[-1]["due_s"]
    for record in records:
        assert record["sent_s"] >= record["due_s"]
        assert record["outcome"] == "ok" and record["http_status"] == 200
        assert record["finish_reason"] == "length"


def test_a_chat_sends_the_real_answers_back(ingot, server, tmp_path):
    lines = tmp_path / "requests.jsonl"
    result = bench(ingot, "--base-url", server.url, "--workload", "chat", "--users", 2, "--turns", 3,
                   "--input-len", 8, "--output-len", 6, "--shared-prefix", 48, "--save-requests",
                   lines)
    assert result["endpoint"] == "/v1/chat/completions"
    one, = result["servers"]
    check_answers(one, requests=6, output_tokens=36)
    assert one["prompts"] == "messages" and one["peak_in_flight"] == 2
    records = list(map(json.loads, lines.read_text().splitlines()))
    for user in range(2):
        turns = [record for record in records if record["conversation"] == user]
        assert [turn["turn"] for turn in turns] == [0, 1, 2]
        prompts = [turn["prompt_tokens"] for turn in turns]
        assert prompts[0] < prompts[1] < prompts[2]
        # What was said before is not computed again.
        assert turns[2]["cached_tokens"] > prompts[0] // 2


def test_a_shared_prefix_is_computed_once(ingot, server):
    result = bench(ingot, "--base-url", server.url, "--workload", "shared-prefix", "--num-prompts", 4,
                   "--shared-prefix", 64, "--input-len", 8, "--output-len", 2, "--max-concurrency",
                   1, "--seed", random.randrange(1 << 30))  # not seen before
    one, = result["servers"]
    check_answers(one, requests=4, output_tokens=8)
    assert one["prompt_tokens"] == 4 * 72
    assert 3 * 32 <= one["cached_prompt_tokens"] <= 3 * 71


def test_a_part_of_the_prompts_has_the_prefix(ingot, server):
    result = bench(ingot, "--base-url", server.url, "--num-prompts", 4, "--shared-prefix", 32,
                   "--prefix-share", 0.5, "--input-len", 8, "--output-len", 1)
    assert result["servers"][0]["prompt_tokens"] == 4 * 8 + 2 * 32


@pytest.mark.parametrize("args", [["--endpoint", "/v1/chat/completions"], ["--prompts", "words"]])
def test_words_come_near_the_length_asked(ingot, server, args):
    result = bench(ingot, "--base-url", server.url, "--num-prompts", 3, "--input-len", 60,
                   "--output-len", 2, *args)
    one, = result["servers"]
    check_answers(one, requests=3, output_tokens=6)
    assert one["tokens_per_word"] >= 0.5
    # What a chat template adds is not ours to know.
    assert 3 * 40 <= one["prompt_tokens"] <= 3 * 200


def test_servers_by_turns(ingot, server, tmp_path):
    page = tmp_path / "compare.html"
    result = bench(ingot, "--compare", f"a={server.url}", "--compare", f"b={server.url}/v1",
                   "--rounds", 2, "--num-prompts", 3, "--input-len", 6, "--output-len", 4,
                   "--warmup", 1, "--plot", page)
    assert [one["name"] for one in result["servers"]] == ["a", "b"]
    for one in result["servers"]:
        check_answers(one, requests=6, output_tokens=24)
        assert [run["completed"] for run in one["rounds"]] == [3, 3]
        assert sum(run["seconds"] for run in one["rounds"]) == pytest.approx(one["seconds"])
    speeds = [[run["output_tokens_per_s"] for run in one["rounds"]] for one in result["servers"]]
    ratios = [a / b for a, b in zip(*speeds)]
    ratio = result["output_tokens_per_s_ratio"]["b"]
    assert (ratio["min"], ratio["max"]) == (pytest.approx(min(ratios)), pytest.approx(max(ratios)))
    text = page.read_text()
    assert "<svg" in text and "a / b" in text and "<script" not in text
    ElementTree.fromstring(text.split("\n", 1)[1])  # after the doctype


def test_goodput_counts_what_keeps_every_bound(ingot, server):
    def share(*bounds):
        result = bench(ingot, "--base-url", server.url, "--num-prompts", 3, "--input-len", 4,
                       "--output-len", 3, "--goodput", *bounds)
        return result["servers"][0]["goodput"]["share"]

    assert share("ttft:1e9", "tpot:1e9", "e2el:1e9") == 1
    assert share("ttft:1e9", "e2el:0") == 0


def test_tables_are_for_people(ingot, server):
    text = ingot("bench", "serve", "--base-url", server.url, "--num-prompts", 2, "--input-len", 4,
                 "--output-len", 2, "--percentiles", "50,99.9", "--goodput", "ttft:1000").text
    for words in ("output tokens/s", "first token, p99.9 ms", "per output token, mean ms",
                  "inter-token, p50 ms", "end to end, p50 ms", "prompt tokens processed",
                  "goodput, requests/s", "requests refused (429)"):
        assert words in text


# Against servers that behave badly.


class Fake:
    """A server whose every POST is answered by a function of (handler, body)."""

    def __init__(self, answer, certificate=None):
        fake = self
        self.bodies = []
        self.authorizations = set()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def reply(self, status, document, **headers):
                body = document if isinstance(document, bytes) else json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def stream(self, data, piece=7, size=None):
                """Chunks of a few bytes, flushed one by one; cut off after `size` bytes."""
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for begin in range(0, len(data) if size is None else size, piece):
                    part = data[begin:begin + piece]
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                    self.wfile.flush()
                if size is None:
                    self.wfile.write(b"0\r\n\r\n")
                else:
                    self.close_connection = True

            def do_GET(self):
                fake.authorizations.add(self.headers.get("Authorization"))
                self.reply(200, {"data": [{"id": "fake", "meta": {"n_vocab": 500}}]})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fake.authorizations.add(self.headers.get("Authorization"))
                fake.bodies.append(body)
                answer(self, body)

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
            scheme = "https"
        self.url = f"{scheme}://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()

    @property
    def measured(self):
        """The bodies after those that ask what the server takes."""
        return [body for body in self.bodies if body["max_tokens"] == 3]


RUN = ("--num-prompts", 4, "--input-len", 10, "--output-len", 3)


def events(body, text="é"):
    """As many tokens as asked, each in an event of its own."""
    tokens = [{"choices": [{"index": 0, "text": text, "finish_reason": None}]}
              for _ in range(body["max_tokens"])]
    tokens[-1]["choices"][0]["finish_reason"] = "length"
    usage = {"prompt_tokens": prompt_tokens(body), "completion_tokens": body["max_tokens"]}
    lines = [json.dumps(token, ensure_ascii=False) for token in tokens]
    return "".join(f"data: {line}\r\n\r\n" for line in
                   [*lines, json.dumps({"choices": [], "usage": usage}), "[DONE]"]).encode()


def prompt_tokens(body):
    prompt = body["prompt"]
    return len(prompt) if isinstance(prompt, list) else 2 * len(prompt.split()) + 1


def good(handler, body):
    handler.stream(events(body))


def test_streams_may_be_cut_anywhere(ingot):
    with Fake(good) as fake:
        result = bench(ingot, "--base-url", fake.url, "--api-key", "secret", *RUN)
    one, = result["servers"]
    check_answers(one, requests=4, output_tokens=12)
    assert one["model"] == "fake" and one["chunks"] == 12 and one["prompt_tokens"] == 40
    assert one["cached_prompt_tokens"] is None
    assert fake.authorizations == {"Bearer secret"}
    for body in fake.measured:
        assert body["stream"] and body["ignore_eos"] and body["min_tokens"] == 3
        assert len(body["prompt"]) == 10 and all(100 <= token < 500 for token in body["prompt"])


def test_fields_can_be_added_and_removed(ingot):
    with Fake(good) as fake:
        bench(ingot, "--base-url", fake.url, *RUN, "--no-ignore-eos", "--vocab", "7:9",
              "--extra-body", '{"top_p": 0.5, "temperature": null}')
    for body in fake.measured:
        assert body["top_p"] == 0.5 and set(body["prompt"]) <= {7, 8}
        assert not {"temperature", "ignore_eos", "min_tokens"} & set(body)


def test_what_a_server_refuses_is_left_out(ingot):
    def answer(handler, body):
        if "min_tokens" in body:
            handler.reply(400, {"error": {"message": "unknown field: min_tokens"}})
        elif not isinstance(body["prompt"], str):
            handler.reply(400, {"detail": "prompt must be a string"})
        else:
            good(handler, body)

    with Fake(answer) as fake:
        result = bench(ingot, "--base-url", fake.url, *RUN)
    one, = result["servers"]
    check_answers(one, requests=4, output_tokens=12)
    assert one["prompts"] == "text" and one["tokens_per_word"] == 2
    assert "min_tokens" in one["notes"][0]
    for body in fake.measured:
        assert len(body["prompt"].split()) == 5  # ten tokens


def test_refusals_are_counted_apart(ingot):
    def answer(handler, body):
        if len(fake.measured) % 2 == 0:
            good(handler, body)
        else:
            handler.reply(429, {"error": {"message": "queue is full"}}, Retry_After="7")

    fake = Fake(answer)
    with fake:
        result = bench(ingot, "--base-url", fake.url, *RUN, "--goodput", "ttft:1e9",
                       "--max-concurrency", 1)
        text = ingot("bench", "serve", "--base-url", fake.url, *RUN).text
    one, = result["servers"]
    assert (one["completed"], one["refused"], one["failed"]) == (2, 2, 0)
    assert one["errors"] == {"HTTP 429: queue is full": 2}
    assert one["retry_after_s"] == 7 and one["refusal_ms"]["max"] > 0
    assert one["goodput"]["share"] == 0.5
    assert "retry after 7 s" in text


def test_failures_are_told_apart(ingot):
    def answer(handler, body):
        number = len(fake.measured)
        if number == 1:
            handler.reply(500, {"error": {"message": "out of luck"}})
        elif number == 2:
            handler.stream(events(body), size=70)
        elif number == 3:
            handler.stream(b'data: {"error": {"message": "out of pages"}}\n\ndata: [DONE]\n\n')
        else:
            good(handler, body)

    fake = Fake(answer)
    with fake:
        result = bench(ingot, "--base-url", fake.url, *RUN, "--max-concurrency", 1)
    one, = result["servers"]
    assert (one["completed"], one["failed"]) == (1, 3)
    errors = sorted(one["errors"])
    assert errors[0] == "HTTP 500: out of luck"
    assert "in the middle" in errors[1] and "out of pages" in errors[2]


def test_answers_of_another_length_are_reported(ingot):
    def answer(handler, body):
        good(handler, dict(body, max_tokens=2) if body["max_tokens"] == 3 else body)

    with Fake(answer) as fake:
        result = bench(ingot, "--base-url", fake.url, *RUN)
        text = ingot("bench", "serve", "--base-url", fake.url, *RUN).text
    assert result["servers"][0]["answers_of_other_length"] == 4
    assert "4 of 4 answers were not as long as asked" in text


def test_a_silent_server_is_not_waited_for(ingot):
    def answer(handler, body):
        if body["max_tokens"] == 3:
            time.sleep(3)
        good(handler, body)

    with Fake(answer) as fake:
        outcome = ingot("bench", "serve", "--base-url", fake.url, *RUN, "--timeout", 1, code=1)
    assert "did not answer within 1 s" in outcome.err


def test_tls_is_verified_unless_told_otherwise(ingot, tmp_path):
    certificate = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=127.0.0.1", "-days", "2",
                    "-out", certificate[0], "-keyout", certificate[1]], check=True,
                   capture_output=True)
    with Fake(good, certificate) as fake:
        outcome = ingot("bench", "serve", "--base-url", fake.url, *RUN, code=2)
        assert "certificate verify failed" in outcome.err
        result = bench(ingot, "--base-url", fake.url, "--insecure", *RUN)
    check_answers(result["servers"][0], requests=4, output_tokens=12)


def test_nobody_there(ingot):
    outcome = ingot("bench", "serve", "--base-url", "http://127.0.0.1:1", code=2)
    assert outcome.err.startswith("ingot: http://127.0.0.1:1: ")
    assert "is the server running?" in outcome.err and outcome.out == b""


@pytest.mark.parametrize("args", [
    ["--base-url", "ftp://x"],
    ["--base-url", "http://host:99999"],
    ["--compare", "nameless"],
    ["--compare", "a=http://x", "--compare", "a=http://y"],
    ["--compare", "a=http://x", "--base-url", "http://y"],
    ["--endpoint", "/v1/embeddings"],
    ["--request-rate", "0"],
    ["--burstiness", "0"],
    ["--max-concurrency", "0"],
    ["--rounds", "0"],
    ["--goodput", "speed:5"],
    ["--percentiles", "101"],
    ["--header", "nonsense"],
    ["--header", "A: b\r\nC: d"],
    ["--extra-body", "[]"],
    ["--extra-body", "{"],
    ["--vocab", "9:3"],
    ["--prompts", "nonsense"],
    ["--workload", "stall"],
    ["--timeout", "0"],
    ["--plot", "file.png"],
])
def test_bad_arguments_are_exit_code_two(ingot, args):
    outcome = ingot("bench", "serve", *args, code=2)
    assert outcome.out == b""
    assert outcome.err.startswith("ingot: ") and outcome.err.count("\n") == 1
