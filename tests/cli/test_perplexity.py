# SPDX-License-Identifier: Apache-2.0
"""ingot perplexity: the arithmetic against log-probabilities taken another way."""

import math

import pytest

STORY = (
    "Once upon a time there was a little dog named Max. Max liked to run in the park. One day he saw "
    "a big red ball under a tree. \"Whose ball is this?\" he asked. A small bird said it was hers. "
    "Max gave the ball back and the bird was happy. They played together until the sun went down. "
)


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    file = tmp_path_factory.mktemp("text") / "story.txt"
    file.write_text(STORY * 3)
    return file


def nll_of(ingot, ids, first):
    """Of ids[first:], each given all before it."""
    result = ingot.generate("--prompt-ids", ",".join(map(str, ids)), "-n", 0, "--temp", 0, "--json",
                            "--prompt-logprobs", 0).json
    return [-entry["logprob"] for entry in result["prompt_logprobs"][first:]]


def test_chunks_score_their_second_half(ingot, story):
    ids = ingot("tokenize", "--json", "-f", story).json["ids"]
    expected = []
    for begin in range(0, len(ids) // 64 * 64, 64):
        expected += nll_of(ingot, [1] + ids[begin + 1:begin + 64], 33)
    result = ingot("perplexity", "default", "-f", story, "-c", 64, "--json", "-t", 1).json
    assert result["tokens"] == len(expected) == len(ids) // 64 * 31
    assert result["mean_nll"] == pytest.approx(sum(expected) / len(expected), rel=1e-5)
    assert result["perplexity"] == pytest.approx(math.exp(result["mean_nll"]))
    mean = sum(expected) / len(expected)
    variance = sum(x * x for x in expected) / len(expected) - mean * mean
    error = math.sqrt(variance / (len(expected) - 1)) * math.exp(mean)
    assert result["standard_error"] == pytest.approx(error, rel=1e-3)


def test_whole_windows_score_everything_after_bos(ingot, story):
    ids = ingot("tokenize", "--json", "--no-special", "-f", story).json["ids"]
    windows = len(ids) // 99
    expected = []
    for i in range(windows):
        expected += nll_of(ingot, [1] + ids[i * 99:(i + 1) * 99], 1)
    args = ("default", "-f", story, "-c", 100, "--window-all", "--json", "-t", 1)
    result = ingot("perplexity", *args).json
    assert result["tokens"] == windows * 99 and result["chunks"] == windows
    assert result["mean_nll"] == pytest.approx(sum(expected) / len(expected), rel=1e-5)


def test_strides_and_chunk_limits(ingot, story):
    result = ingot("perplexity", "-f", story, "-c", 64, "--stride", 16, "--json", "-t", 1).json
    assert result["protocol"] == "stride" and result["tokens"] == result["chunks"] * 16
    limited = ingot("perplexity", "-f", story, "-c", 64, "--chunks", 2, "--json", "-t", 1).json
    assert limited["chunks"] == 2
    text = ingot("perplexity", "-f", story, "-c", 64, "--chunks", 2, "-t", 1).text
    assert text.startswith(f"perplexity: {limited['perplexity']:.4f} +/- ")


def test_too_short_a_text_is_refused(ingot, tmp_path):
    file = tmp_path / "short.txt"
    file.write_text("Hello")
    assert "tokens" in ingot("perplexity", "default", "-f", file, code=2).err
    ingot("perplexity", "default", "-f", "/no/such", code=2)
    ingot("perplexity", "default", code=2)
