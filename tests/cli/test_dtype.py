# SPDX-License-Identifier: Apache-2.0
"""--dtype: what float weights are kept as, on every command that runs a model."""

import json
import struct

import pytest
from conftest import MODELS

BF16_MODEL = MODELS / "public-llama-plain"
IDS = "1,5,9,20,33,7"


def logprobs(ingot, model, *args):
    result = ingot.generate(model, "--prompt-ids", IDS, "-n", 4, "--ignore-eos", "--temp", 0,
                            "--json", "--prompt-logprobs", 0, *args).json
    return [entry["logprob"] for entry in result["prompt_logprobs"][1:]]


def enlarge_a_weight(folder):
    """A copy of the model in which one weight is 1e30, which bf16 holds and half does not."""
    folder.mkdir()
    for path in BF16_MODEL.iterdir():
        if path.name != "model.safetensors":
            (folder / path.name).symlink_to(path.resolve())
    data = bytearray((BF16_MODEL / "model.safetensors").read_bytes())
    size = struct.unpack("<Q", data[:8])[0]
    name = "model.layers.0.mlp.up_proj.weight"
    begin, _ = json.loads(data[8:8 + size])[name]["data_offsets"]
    at = 8 + size + begin
    data[at:at + 2] = struct.pack("<f", 1e30)[2:]
    (folder / "model.safetensors").write_bytes(data)
    return name


@pytest.mark.parametrize("names", [["half", "float16", "fp16", "f16"], ["bfloat16", "bf16"],
                                   ["float", "float32", "f32"], ["auto"]])
def test_all_names_of_a_type_mean_the_same(ingot, names):
    first, *others = [logprobs(ingot, BF16_MODEL, "--dtype", name) for name in names]
    assert all(other == first for other in others)


def test_types_differ_by_no_more_than_they_round(ingot):
    exact = logprobs(ingot, BF16_MODEL, "--dtype", "float")
    drift = json.loads((BF16_MODEL / "goldens.json").read_text())["bf16_yardstick"]["max_abs_diff"]
    for name in ["auto", "half", "bfloat16"]:
        found = logprobs(ingot, BF16_MODEL, "--dtype", name)
        assert max(abs(a - b) for a, b in zip(found, exact)) < drift


def test_float_is_what_kernels_without_bf16_compute(ingot):
    if b"avx512_bf16" not in ingot("--version").out:
        pytest.skip("no dot products of bf16 here")
    plain = logprobs(ingot, BF16_MODEL, "--kernels", "avx512")
    assert logprobs(ingot, BF16_MODEL, "--dtype", "float") == plain
    assert logprobs(ingot, BF16_MODEL, "--dtype", "bfloat16") != plain


def test_auto_keeps_a_small_model_exact(ingot):
    assert logprobs(ingot, BF16_MODEL) == logprobs(ingot, BF16_MODEL, "--dtype", "float")


def test_quantized_weights_stay_as_they_are(ingot):
    first = ingot.generate("-p", "Once", "-n", 8, "--temp", 0).out
    assert ingot.generate("-p", "Once", "-n", 8, "--temp", 0, "--dtype", "half").out == first


def test_a_value_too_large_for_half_is_named(ingot, tmp_path):
    name = enlarge_a_weight(tmp_path / "large")
    failed = ingot.generate(tmp_path / "large", "--prompt-ids", IDS, "-n", 1, "--dtype", "half",
                            code=2)
    assert name in failed.err and "F16" in failed.err
    ingot.generate(tmp_path / "large", "--prompt-ids", IDS, "-n", 1, "--dtype", "bfloat16")


@pytest.mark.parametrize("command", ["generate", "run", "perplexity", "serve"])
def test_every_command_that_loads_a_model_has_it(ingot, command):
    assert "--dtype" in ingot(command, "--help").text


def test_an_unknown_type_is_refused(ingot):
    failed = ingot.generate("-p", "x", "-n", 1, "--dtype", "int3", code=2)
    assert "--dtype" in failed.err and "bfloat16" in failed.err
