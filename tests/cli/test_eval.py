# SPDX-License-Identifier: Apache-2.0
"""ingot eval: the real program on the default model, with small limits."""

import json
import math
import re
import struct
from pathlib import Path

import pytest

STORY = (
    "Once upon a time there was a little dog named Max. Max liked to run in the park. One day he saw "
    "a big red ball under a tree. \"Whose ball is this?\" he asked. A small bird said it was hers. "
    "Max gave the ball back and the bird was happy. They played together until the sun went down. "
)
# Public benchmarks are read where they stand, beside the project; they are no part of it.
DATA = next((folder / "shared" / "data" for folder in Path(__file__).resolve().parents
             if (folder / "shared" / "data").is_dir()), Path("../shared/data"))


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    file = tmp_path_factory.mktemp("text") / "story.txt"
    file.write_text(STORY * 3)
    return file


@pytest.fixture
def measure(ingot, tmp_path):
    """measure(*flags) -> the first model of the JSON report."""

    def run(*flags, **more):
        file = tmp_path / "out.json"
        ingot("eval", "default", *flags, "-t", 1, "--json", file, **more)
        return json.loads(file.read_text())["models"][0]

    return run


def tokenize(ingot, text):
    return ingot("tokenize", "--json", "-f", "-", stdin=text.encode()).json["ids"]


def nll_of(ingot, ids, first):
    result = ingot.generate("--prompt-ids", ",".join(map(str, ids)), "-n", 0, "--temp", 0, "--json",
                            "--prompt-logprobs", 0).json
    return [-entry["logprob"] for entry in result["prompt_logprobs"][first:]]


def test_perplexity_is_the_one_of_its_alias(ingot, measure, story):
    found = measure("--perplexity", story, "-c", 64)["perplexity"][0]
    alias = ingot("perplexity", "default", "-f", story, "-c", 64, "--json", "-t", 1).json
    assert found["perplexity"] == alias["perplexity"]
    assert found["standard_error"] == alias["standard_error"]
    assert found["windows"] == alias["chunks"] and found["protocol"] == "llama"
    assert found["lower"] < found["perplexity"] < found["upper"]
    low, high = (math.log(found[x] / found["perplexity"]) for x in ("lower", "upper"))
    assert -low == pytest.approx(high)


def test_strided_windows_take_every_token_once(ingot, measure, story):
    ids = ingot("tokenize", "--json", "-f", story).json["ids"]
    expected, end = [], 0
    for begin in range(0, len(ids), 40):
        last = min(begin + 96, len(ids))
        first = max(end - begin, 1)
        expected += nll_of(ingot, ids[begin:last], first)
        end = last
        if end == len(ids):
            break
    found = measure("--perplexity", story, "--protocol", "hf", "-c", 96, "--stride", 40)
    found = found["perplexity"][0]
    assert found["tokens"] == len(expected) == len(ids) - 1
    assert found["mean_nll"] == pytest.approx(sum(expected) / len(expected), rel=1e-5)


def test_batches_and_threads_change_no_bit(ingot, story, tmp_path):
    seen = set()
    for threads, batch in ((1, 50), (2, 300), (2, 4096)):
        file = tmp_path / "out.json"
        ingot("eval", "default", "--perplexity", story, "-c", 64, "-t", threads, "--batch-tokens", batch,
              "--json", file)
        seen.add(json.loads(file.read_text())["models"][0]["perplexity"][0]["mean_nll"])
    assert len(seen) == 1


def test_divergence_from_itself_is_nothing(ingot, measure, story, tmp_path):
    base = tmp_path / "story.ref"
    first = measure("--perplexity", story, "-c", 64, "--kl-divergence-base", base)
    saved = measure("--kl-divergence", "--kl-base", base)
    assert saved["kl_divergence"]["mean"] < 1e-6
    assert saved["kl_divergence"]["top1_agreement"] == 1
    assert saved["perplexity"][0]["mean_nll"] == first["perplexity"][0]["mean_nll"]
    live = measure("--perplexity", story, "-c", 64, "--reference", "default")["kl_divergence"]
    assert live["mean"] == 0 and live["perplexity_ratio"] == 1 and live["top1_agreement"] == 1
    # The same text may be given with it; another may not.
    measure("--kl-base", base, "--perplexity", story)
    other = tmp_path / "other.txt"
    other.write_text(STORY)
    assert "is not the text" in ingot("eval", "default", "--kl-base", base, "--perplexity", other, code=2).err


def test_divergence_is_that_of_two_runs(measure, story, tmp_path):
    """A cache of 4 bits moves every distribution a little."""
    base = tmp_path / "story.ref"
    exact = measure("--perplexity", story, "-c", 64, "--kl-divergence-base", base)["perplexity"][0]
    coarse = measure("--kl-base", base, "--kv-cache-dtype", "int4")
    kl = coarse["kl_divergence"]
    assert 1e-4 < kl["median"] < kl["mean"] < kl["p99"] <= kl["p99_9"] <= kl["max"]
    assert 0.5 < kl["top1_agreement"] < 1 and 0 < kl["rms_delta_p"] < 0.5
    ratio = coarse["perplexity"][0]["perplexity"] / exact["perplexity"]
    assert kl["perplexity_ratio"] == pytest.approx(ratio, rel=1e-4)
    assert sum(kl["histogram"]["counts"]) == kl["tokens"] == exact["tokens"]


def test_broken_saved_logits_are_refused(ingot, measure, story, tmp_path):
    base = tmp_path / "story.ref"
    measure("--perplexity", story, "-c", 64, "--chunks", 2, "--kl-divergence-base", base)
    good = base.read_bytes()
    for bad in (b"", good[:50], good[:-1], good + b"x", b"GGUF" + good[4:],
                good[:48] + struct.pack("<Q", 1 << 60) + good[56:]):
        base.write_bytes(bad)
        ingot("eval", "default", "--kl-base", base, code=2)


def test_reports_are_written(ingot, story, tmp_path):
    html = tmp_path / "out.html"
    out = ingot("eval", "default", "--perplexity", story, "-c", 64, "--reference", "default", "--html",
                html, "-t", 1).text
    assert "perplexity: " in out and "mean KL" in out and "bits per weight" in out
    page = html.read_text()
    assert page.endswith("</html>\n") and "<svg" in page
    assert not re.search(r"<script|https?://(?!www\.w3\.org)|src=", page)


def test_own_tasks_of_every_kind(ingot, measure, tmp_path):
    task = tmp_path / "mine.jsonl"
    lines = [
        {"kind": "multiple_choice", "context": "Once upon a", "choices": ["time", "xylophone"], "answer": 0},
        {"kind": "multiple_choice", "context": "The little dog liked to", "group": "dogs",
         "choices": ["play", "of the"], "answer": "A"},
        {"kind": "exact_match", "prompt": "Once upon a", "answer": "time", "max_tokens": 1},
        {"kind": "contains", "prompt": "Once upon a time", "answer": ["zzzz"], "max_tokens": 4},
        {"kind": "perplexity", "text": STORY},
    ]
    task.write_text("\n".join(map(json.dumps, lines)))
    found = measure("--task", task)["tasks"][0]
    assert found["task"] == "mine" and found["items"] == 5
    metrics = found["metrics"]
    assert metrics["acc"]["value"] == 1 and metrics["acc"]["lower"] < 1
    assert metrics["exact_match"]["value"] == 1
    assert metrics["contains"]["value"] == 0
    ids = tokenize(ingot, STORY)
    nll = sum(nll_of(ingot, ids, 1))
    assert metrics["bits_per_byte"]["value"] == pytest.approx(nll / math.log(2) / len(STORY), rel=1e-4)
    assert found["groups"]["dogs"]["value"] == 1


def test_choices_are_scored_by_their_own_tokens(ingot, measure, tmp_path):
    """The likelihood of a choice is that of its tokens behind the context's, however it is cached."""
    context, choices = "The little dog liked to run in the", ["park", "sun went down", "red ball"]

    def logprob(choice):
        ids = tokenize(ingot, f"{context} {choice}")
        before = tokenize(ingot, context)
        assert ids[:len(before)] == before
        return -sum(nll_of(ingot, ids, len(before)))

    scores = [logprob(choice) for choice in choices]
    best = scores.index(max(scores))
    task = tmp_path / "mine.jsonl"
    for answer in range(3):
        task.write_text(json.dumps({"kind": "multiple_choice", "context": context, "choices": choices,
                                    "answer": answer}))
        assert measure("--task", task)["tasks"][0]["metrics"]["acc"]["value"] == (answer == best)


@pytest.mark.skipif(not DATA.is_dir(), reason=f"{DATA} is not there")
@pytest.mark.parametrize("task, flags, metrics", [
    ("hellaswag", ("--limit", 12), {"acc", "acc_norm"}),
    ("mmlu", ("--limit", 1, "--num-fewshot", 1), {"acc", "acc_norm"}),
    ("truthfulqa", ("--limit", 6), {"mc1", "mc2"}),
    ("gsm8k", ("--limit", 3, "--num-fewshot", 1, "--max-tokens", 24), {"exact_match", "strict_match"}),
    ("ifeval", ("--limit", 6, "--max-tokens", 32),
     {"prompt_strict", "prompt_loose", "instruction_strict", "instruction_loose"}),
])
def test_benchmarks_run(measure, task, flags, metrics):
    found = measure("--task", task, "--data", DATA, *flags)["tasks"][0]
    assert set(found["metrics"]) == metrics
    for metric in found["metrics"].values():
        assert 0 <= metric["lower"] <= metric["value"] <= metric["upper"] <= 1


def test_wrong_flags_are_refused(ingot, story, tmp_path):
    for flags in ((), ("--kl-divergence",), ("--reference", "default"), ("--task", "no-such"),
                  ("--task", "hellaswag"), ("--task", "hellaswag", "--data", "/no/such"),
                  ("--perplexity", "/no/such"), ("--perplexity", story, "--protocol", "other"),
                  ("--perplexity", story, "--protocol", "hf", "-c", 64, "--stride", 64),
                  ("--perplexity", story, "--kl-base", "a", "--reference", "b"),
                  ("--perplexity", story, "--sweep", "q8_0,,q4_0")):
        assert ingot("eval", "default", *flags, code=2).err.startswith("ingot:")
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"kind": "perplexity", "text": "a"}\n{"kind": 5}\n')
    assert "bad.jsonl:2" in ingot("eval", "default", "--task", bad, code=2).err


def test_nothing_is_written_where_the_folder_is_missing(ingot, story):
    ingot("eval", "default", "--perplexity", story, "-c", 64, "--json", "/no/such/folder/out.json", "-t", 1,
          code=2)
