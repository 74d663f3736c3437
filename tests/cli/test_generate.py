# SPDX-License-Identifier: Apache-2.0
"""ingot generate: greedy runs, log-probabilities, stop strings, prompts from everywhere."""

import json
import math

import pytest
from conftest import MODELS

PROMPT = "Once upon a time"


def greedy(ingot, *args, **more):
    return ingot.generate(*args, "--temp", 0, "--json", **more).json


def test_greedy_continuation_equals_the_oracle(ingot):
    model = MODELS / "public-llama-plain"
    for prompt in json.loads((model / "goldens.json").read_text())["prompts"]:
        ids = ",".join(map(str, prompt["ids"]))
        result = greedy(ingot, model, "--prompt-ids", ids, "-n", 24, "--ignore-eos")
        assert result["prompt_ids"] == prompt["ids"]
        assert len(result["ids"]) == 24
        for mine, theirs, margin in zip(result["ids"], prompt["greedy"], prompt["greedy_margins"]):
            if mine != theirs:
                assert margin < 1e-3  # below the float error of another summation order
                break


def test_a_model_without_tokenizer_runs_on_ids(ingot):
    model = MODELS / "public-llama-plain"
    result = greedy(ingot, model, "--prompt-ids", "1,5,9", "-n", 4, "--ignore-eos")
    assert result["text"] is None
    assert result["finish_reason"] == "length"
    assert set(result) == {"prompt_ids", "ids", "text", "finish_reason"}
    plain = ingot.generate(model, "--prompt-ids", "1,5,9", "-n", 4, "--ignore-eos", "--temp", 0)
    assert plain.text.split() == [str(i) for i in result["ids"]]
    failed = ingot.generate(model, "-p", "text", code=2)
    assert "--prompt-ids" in failed.err


def test_logprobs_have_their_shape(ingot):
    result = greedy(ingot, "-p", PROMPT, "-n", 5, "--logprobs", 3, "--prompt-logprobs", 2)
    assert len(result["prompt_logprobs"]) == len(result["prompt_ids"])
    assert result["prompt_logprobs"][0] is None
    for entry, token in zip(result["prompt_logprobs"][1:], result["prompt_ids"][1:]):
        assert set(entry) == {"id", "logprob", "top"}
        assert entry["id"] == token
        assert len(entry["top"]) == 2
    assert len(result["logprobs"]) == len(result["ids"]) == 5
    for entry, token in zip(result["logprobs"], result["ids"]):
        assert entry["id"] == token == entry["top"][0]["id"]  # greedy: the best stands there
        assert entry["logprob"] == entry["top"][0]["logprob"] <= 0
        values = [t["logprob"] for t in entry["top"]]
        assert values == sorted(values, reverse=True) and len(values) == 3


def test_logprobs_of_all_tokens_sum_to_one(ingot):
    result = greedy(ingot, "-p", PROMPT, "-n", 1, "--logprobs", 8192)
    top = result["logprobs"][0]["top"]
    assert len(top) == 8192
    assert math.isclose(sum(math.exp(t["logprob"]) for t in top), 1, abs_tol=1e-4)


def test_zero_alternatives_give_the_token_alone(ingot):
    result = greedy(ingot, "-p", PROMPT, "-n", 2, "--logprobs", 0, "--prompt-logprobs", 0)
    assert result["logprobs"][0]["top"] == []
    assert result["prompt_logprobs"][1]["top"] == []


def test_streamed_text_equals_the_json(ingot):
    args = ("-p", PROMPT, "-n", 60, "--seed", 7)
    streamed = ingot.generate(*args).text
    result = ingot.generate(*args, "--json").json
    assert streamed == result["text"]
    special = ingot("detokenize", "default", "--no-special", *result["ids"]).text
    assert special == result["text"]


def test_the_same_seed_gives_the_same_text_on_any_number_of_threads(ingot):
    args = ("-p", PROMPT, "-n", 20, "--seed", 11, "--temp", 1)
    first = ingot.generate(*args).out
    assert ingot.generate(*args).out == first
    assert ingot("generate", *args, "-t", 2, timeout=300).out == first
    assert ingot.generate("-p", PROMPT, "-n", 20, "--seed", 12, "--temp", 1).out != first


def test_a_stop_string_ends_the_text_across_tokens(ingot):
    whole = greedy(ingot, "-p", PROMPT, "-n", 40)["text"]
    stop = whole[11:17]  # cuts through words and tokens
    result = greedy(ingot, "-p", PROMPT, "-n", 40, "--stop", "never seen", "--stop", stop)
    assert result["text"] == whole[:whole.index(stop)]
    assert result["finish_reason"] == "stop"
    streamed = ingot.generate("-p", PROMPT, "-n", 40, "--temp", 0, "--stop", stop).text
    assert streamed == result["text"]


def test_eos_ends_the_answer_unless_ignored(ingot):
    args = ("--chat", "-p", "Hi", "-n", 400)
    stopped = greedy(ingot, *args)
    assert stopped["finish_reason"] == "stop"
    length = len(stopped["ids"])
    ignored = greedy(ingot, "--chat", "-p", "Hi", "-n", length + 3, "--ignore-eos")
    assert ignored["finish_reason"] == "length"
    assert len(ignored["ids"]) == length + 3
    assert ignored["ids"][:length] == stopped["ids"]
    assert ignored["ids"][length] == 2  # <|end|>


def test_prompts_come_from_stdin_and_files(ingot, tmp_path):
    file = tmp_path / "prompt.txt"
    file.write_text(PROMPT)
    expected = greedy(ingot, "-p", PROMPT, "-n", 3)
    assert greedy(ingot, "-n", 3, stdin=PROMPT.encode()) == expected
    assert greedy(ingot, "-n", 3, "-f", file) == expected
    ids = ",".join(map(str, expected["prompt_ids"]))
    assert greedy(ingot, "-n", 3, "--prompt-ids", ids) == expected
    bare = greedy(ingot, "-n", 3, "-p", PROMPT, "--no-special")
    assert bare["prompt_ids"] == expected["prompt_ids"][1:]


def test_chat_applies_the_template(ingot):
    result = greedy(ingot, "--chat", "-p", "Hi", "-n", 1)
    assert result["prompt_ids"] == [1, 3, 203, 4798, 2, 203, 4, 203]


def test_no_tokens_are_generated_when_none_are_wanted(ingot):
    result = greedy(ingot, "-p", PROMPT, "-n", 0, "--prompt-logprobs", 1)
    assert result["ids"] == [] and result["text"] == "" and result["finish_reason"] == "length"
    assert len(result["prompt_logprobs"]) == len(result["prompt_ids"])


def test_reference_kernels_agree(ingot):
    expected = greedy(ingot, "-p", PROMPT, "-n", 6)
    reference = greedy(ingot, "-p", PROMPT, "-n", 6, "--kernels", "reference")
    assert reference["ids"] == expected["ids"]


def test_batch_invariant_changes_nothing_on_the_processor(ingot):
    expected = greedy(ingot, "-p", PROMPT, "-n", 6, "--device", "cpu", "--logprobs", 3)
    invariant = greedy(ingot, "-p", PROMPT, "-n", 6, "--device", "cpu", "--logprobs", 3,
                       "--batch-invariant")
    assert invariant["ids"] == expected["ids"]
    assert invariant["logprobs"] == expected["logprobs"]


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "fp8", "fp8_e4m3", "fp8_e5m2", "int8",
                                   "int4"])
def test_every_cache_type_runs(ingot, dtype):
    result = greedy(ingot, "-p", PROMPT, "-n", 8, "--kv-cache-dtype", dtype)
    assert len(result["ids"]) == 8
    small_pages = greedy(ingot, "-p", PROMPT, "-n", 8, "--kv-cache-dtype", dtype, "--block-size", 8)
    assert small_pages["ids"] == result["ids"]


@pytest.mark.parametrize("args", [
    ["--prompt-ids", "1,x"],
    ["--prompt-ids", "99999999"],
    ["--prompt-ids", ""],
    ["-p", "a", "--prompt-ids", "1"],
    ["-p", "a", "--temp", "-1"],
    ["-p", "a", "--top-p", "nan"],
    ["-p", "a", "--logprobs", "-3"],
    ["-p", "a", "--kernels", "no-such"],
    ["-p", "a", "--threads", "x"],
    ["-f", "/no/such/file"],
    ["-p", "word " * 3000],
])
def test_bad_arguments_are_exit_code_two(ingot, args):
    outcome = ingot.generate(*args, code=2)
    assert outcome.out == b""
    assert outcome.err.startswith("ingot: ") and outcome.err.count("\n") == 1
