# SPDX-License-Identifier: Apache-2.0
"""ingot convert and ingot verify, as a user runs them."""

import json
import os
import shutil
import struct
from pathlib import Path

import pytest
from conftest import MODELS

LLAMA = MODELS / "public-llama-plain"


def write_safetensors(path: Path, tensors: dict) -> None:
    """name -> (rows of floats)"""
    header, data = {}, b""
    for name, rows in tensors.items():
        flat = [value for row in rows for value in row]
        begin = len(data)
        data += struct.pack(f"<{len(flat)}f", *flat)
        header[name] = {"dtype": "F32", "shape": [len(rows), len(rows[0])], "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def test_there_and_back_the_bytes_are_the_same(ingot, tmp_path):
    ingot("convert", LLAMA, "-o", tmp_path / "m.gguf")
    ingot("convert", tmp_path / "m.gguf", "-o", tmp_path / "back")
    report = ingot("verify", tmp_path / "back", "--against", LLAMA, "--json").json
    assert report["ok"] and report["tensors"]
    assert all(tensor["identical"] for tensor in report["tensors"])
    assert sorted(os.listdir(tmp_path)) == ["back", "m.gguf"]


def test_splits_are_made_and_merged(ingot, tmp_path):
    ingot("convert", LLAMA, "-o", tmp_path / "m.gguf", "--shard-size", "100K")
    parts = sorted(name for name in os.listdir(tmp_path))
    assert len(parts) > 2 and parts[0].startswith("m-00001-of-000")
    ingot("convert", tmp_path / parts[0], "-o", tmp_path / "one.gguf")
    ingot("convert", LLAMA, "-o", tmp_path / "whole.gguf")
    assert (tmp_path / "one.gguf").read_bytes() == (tmp_path / "whole.gguf").read_bytes()


def test_shards_keep_every_tensor(ingot, tmp_path):
    ingot("convert", LLAMA, "-o", tmp_path / "shards", "--shard-size", "100K")
    assert (tmp_path / "shards" / "model.safetensors.index.json").exists()
    ingot("verify", tmp_path / "shards", "--against", LLAMA)


def test_casts_say_when_they_round(ingot, tmp_path):
    exact = ingot("convert", LLAMA, "-o", tmp_path / "f32.gguf", "--outtype", "f32").text
    assert "rounded" not in exact
    assert "rounded to F16" in ingot("convert", LLAMA, "-o", tmp_path / "f16.gguf", "--outtype", "f16").text
    ingot("verify", tmp_path / "f32.gguf", "--against", LLAMA)
    ingot("verify", tmp_path / "f16.gguf", "--against", LLAMA, "--tolerance", "0.001")
    ingot("convert", LLAMA, "-o", tmp_path / "half", "--outtype", "f16")
    config = json.loads((tmp_path / "half" / "config.json").read_text())
    assert "float16" in (config.get("dtype"), config.get("torch_dtype"))


def test_an_output_that_is_there_stays_unless_forced(ingot, tmp_path):
    out = tmp_path / "m.gguf"
    out.write_text("mine")
    assert "--force" in ingot("convert", LLAMA, "-o", out, code=1).err
    assert out.read_text() == "mine"
    ingot("convert", LLAMA, "-o", out, "--force")
    ingot("verify", out)
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "one.jpg").write_text("x")
    assert "without a model" in ingot("convert", LLAMA, "-o", folder, "--force", code=1).err
    assert "is the input" in ingot("convert", LLAMA, "-o", LLAMA, "--force", code=2).err


def test_act_order_is_refused_with_a_way_out(ingot, tmp_path):
    model = MODELS / "public-gptq-4bit-g128-sym-act"
    error = ingot("convert", model, "-o", tmp_path / "m.gguf", code=2).err
    assert "--outtype" in error and "ingot quantize" in error
    assert os.listdir(tmp_path) == []
    ingot("convert", model, "-o", tmp_path / "m.gguf", "--outtype", "f32")
    ingot("verify", tmp_path / "m.gguf", "--against", model)


def test_an_adapter_is_merged(ingot, tmp_path):
    config = json.loads((LLAMA / "config.json").read_text())
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    rows = heads * config.get("head_dim", hidden // heads)
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 1, "lora_alpha": 2}))
    name = "base_model.model.model.layers.0.self_attn.q_proj"
    write_safetensors(adapter / "adapter_model.safetensors",
                      {f"{name}.lora_A.weight": [[1.0] * hidden],
                       f"{name}.lora_B.weight": [[0.25]] * rows})
    ingot("convert", LLAMA, "-o", tmp_path / "merged", "--lora", adapter, "--outtype", "f32")
    ingot("convert", LLAMA, "-o", tmp_path / "merged.gguf", "--lora", adapter, "--outtype", "f32")
    ingot("verify", tmp_path / "merged.gguf", "--against", tmp_path / "merged")
    report = ingot("verify", tmp_path / "merged", "--against", LLAMA, "--json", code=1).json
    changed = {tensor["name"]: tensor["max_difference"] for tensor in report["tensors"]
               if tensor["max_difference"] > 0}
    assert list(changed) == ["model.layers.0.self_attn.q_proj.weight"]
    assert changed["model.layers.0.self_attn.q_proj.weight"] == pytest.approx(0.5, abs=1e-6)
    twice = ingot("convert", LLAMA, "-o", tmp_path / "zero", "--lora", adapter, "--lora-scale", 0,
                  "--outtype", "f32")
    assert twice.code == 0
    ingot("verify", tmp_path / "zero", "--against", LLAMA)


def test_verify_finds_what_is_wrong(ingot, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(LLAMA, copy)
    ingot("verify", copy)
    file = copy / "model.safetensors"
    data = bytearray(file.read_bytes())
    data[-2:] = b"\xff\x7f"  # a NaN in bf16
    file.write_bytes(data)
    outcome = ingot("verify", copy, code=1)
    assert "NaN" in outcome.text
    report = ingot("verify", copy, "--against", LLAMA, "--sha256", "--json", code=1).json
    assert not report["ok"] and len(report["tensors"][0]["hash"]) == 64


def test_architectures_that_gguf_lacks_are_named(ingot, tmp_path):
    config = json.loads((LLAMA / "config.json").read_text())
    copy = tmp_path / "copy"
    shutil.copytree(LLAMA, copy)
    config["rope_parameters"] = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}
    (copy / "config.json").write_text(json.dumps(config))
    error = ingot("convert", copy, "-o", tmp_path / "m.gguf", code=2).err
    assert "cannot express the rope" in error
    assert not (tmp_path / "m.gguf").exists()
