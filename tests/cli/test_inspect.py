# SPDX-License-Identifier: Apache-2.0
"""ingot inspect, --version, --help and completion."""

import json
import struct
import subprocess

import pytest
from conftest import MODELS

COMMANDS = ["run", "generate", "inspect", "tokenize", "detokenize", "template", "eval", "perplexity",
            "completion"]


def test_inspect_knows_the_default_model(ingot):
    report = ingot("inspect", "default", "--json").json
    assert report["architecture"] == "llama" and report["supported"] is True
    assert report["parameters"] == 29368832
    assert report["context"] == 1024 and report["layers"] == 8
    row_bytes = {"f32": 256, "f16": 128, "bf16": 128, "fp8_e4m3": 64, "fp8_e5m2": 64, "int8": 66,
                 "int4": 36}
    per_token = {dtype: 8 * 4 * 2 * size for dtype, size in row_bytes.items()}
    assert report["memory"]["kv_bytes_per_token"] == per_token
    assert report["memory"]["kv_bytes_full_context"] == {dtype: 1024 * size
                                                         for dtype, size in per_token.items()}
    names = {t["name"]: t for t in report["tensors"]}
    assert names["token_embd.weight"]["shape"] == [8192, 512]
    total = sum(t["bytes"] for t in report["tensors"])
    assert report["memory"]["weight_bytes"] == total
    assert report["bits_per_weight"] == pytest.approx(total * 8 / 29368832)
    assert "general.architecture" in report["metadata"]


def test_inspect_prints_every_tensor_for_people(ingot):
    report = ingot("inspect", "default", "--json").json
    text = ingot("inspect", "default").text
    for tensor in report["tensors"]:
        assert tensor["name"] in text
    assert "blk.0.attn_q.weight" not in ingot("inspect", "default", "--summary").text
    only = ingot("inspect", "default", "--tensors").text
    assert len(only.splitlines()) == len(report["tensors"])


def test_inspect_reads_safetensors_folders(ingot):
    report = ingot("inspect", MODELS / "public-llama-sharded", "--json").json
    assert report["format"] == "safetensors" and report["supported"] is True
    assert report["metadata"]["model_type"] == "llama"


def test_inspect_works_for_an_architecture_nobody_knows(ingot, tmp_path):
    header = json.dumps({"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}).encode()
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(24))
    (tmp_path / "config.json").write_text('{"model_type": "no_such_thing"}')
    report = ingot("inspect", tmp_path, "--json").json
    assert report["supported"] is False and "no_such_thing" in report["reason"]
    assert report["parameters"] == 6
    assert "not supported" in ingot("inspect", tmp_path).text
    assert "no_such_thing" in ingot("generate", tmp_path, "--prompt-ids", "1", code=2).err


def test_version_names_targets_and_processor(ingot):
    lines = ingot("--version").text.splitlines()
    assert lines[0].startswith("ingot ") and lines[1].startswith("targets: ")
    assert "scalar" in lines[1] and lines[2].startswith("cpu: ")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(ingot, command):
    text = ingot(command, "--help").text
    assert f"Usage: ingot {command}" in text and "Examples:" in text
    outcome = ingot(command, "--no-such-flag", code=2)
    assert f"'ingot {command} --help'" in outcome.err and outcome.out == b""


def test_no_command_shows_the_help(ingot):
    assert "ingot COMMAND --help" in ingot().text
    ingot("nonsense", code=2)


def test_completion_scripts_are_sound(ingot, tmp_path):
    script = tmp_path / "ingot.bash"
    script.write_bytes(ingot("completion", "bash").out)
    ask = (f"source {script}; COMP_WORDS=(ingot generate --max-t); COMP_CWORD=2; _ingot; "
           'echo "${COMPREPLY[@]}"')
    out = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["--max-tokens"]
    for shell in ("zsh", "fish"):
        text = ingot("completion", shell).text
        for command in COMMANDS:
            assert command in text
    ingot("completion", "tcsh", code=2)
