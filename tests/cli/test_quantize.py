# SPDX-License-Identifier: Apache-2.0
"""ingot quantize and imatrix: every method's file loads, loses little, and appears whole or not at all."""

import hashlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

STORY = (
    "Once upon a time there was a little dog named Max. Max liked to run in the park. One day he saw "
    "a big red ball under a tree. \"Whose ball is this?\" he asked. A small bird said it was hers. "
    "Max gave the ball back and the bird was happy. They played together until the sun went down. "
)
SMALL = ["--samples", 4, "--seq-len", 96]
# What a file may lose of the default model's perplexity on the story, and its method's flags.
SAFETENSORS = {
    "rtn": (1.10, []),
    "rtn8": (1.01, ["--method", "rtn", "--bits", 8]),
    "rtn-gptq": (1.10, ["--method", "rtn", "--format", "gptq", "--asym", "--group-size", 64]),
    "gptq": (1.06, []),
    "gptq-act": (1.06, ["--method", "gptq", "--act-order", "--asym"]),
    "gptq3": (1.25, ["--method", "gptq", "--bits", 3, "--group-size", 64]),
    "awq": (1.06, []),
    "smoothquant": (1.01, []),
    "fp8": (1.02, []),
    "fp8-block": (1.02, ["--method", "fp8", "--scales", "block"]),
    "fp8-static": (1.02, ["--method", "fp8", "--static"]),
    "nf4": (1.08, []),
    "mxfp4": (1.12, []),
    "nvfp4": (1.08, []),
}
GGUF = {"q8_0": 1.01, "q6_k": 1.01, "q4_k_m": 1.03, "q4_0": 1.06, "q3_k_m": 1.12, "iq4_xs": 1.05, "q2_k": 1.6}


@pytest.fixture(scope="module")
def story(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("text") / "story.txt"
    file.write_text(STORY * 8)
    return file


@pytest.fixture(scope="module")
def folder(ingot, tmp_path_factory) -> Path:
    """The default model as safetensors, the form that quantizers of other projects start from."""
    path = tmp_path_factory.mktemp("model") / "plain"
    ingot("convert", "default", "-o", path, "--to", "safetensors", "--outtype", "bf16")
    return path


@pytest.fixture(scope="module")
def plain(ingot, folder, story) -> float:
    return perplexity(ingot, folder, story)


def perplexity(ingot, model, text) -> float:
    return ingot("perplexity", model, "-f", text, "-c", 128, "--json", "-t", 1).json["perplexity"]


def tree_hash(path: Path) -> str:
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    digest = hashlib.sha256()
    for file in sorted(path.iterdir()):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()


@pytest.mark.parametrize("name", SAFETENSORS)
def test_safetensors_of_every_method_load_and_lose_little(ingot, folder, story, plain, tmp_path, name):
    most, flags = SAFETENSORS[name]
    out = tmp_path / "out"
    report = ingot("quantize", folder, "-o", out, *(flags or ["--method", name]), "--calibration", story,
                   *SMALL, "--json").json
    assert report["quantized_weights"] > 0 and report["kept"] == []
    assert report["bits_per_weight"] < 9
    assert json.loads((out / "config.json").read_text())["quantization_config"]["quant_method"]
    assert perplexity(ingot, out, story) < most * plain


@pytest.mark.parametrize("name", GGUF)
def test_gguf_of_every_mixture_loads_and_loses_little(ingot, folder, story, plain, tmp_path, name):
    out = tmp_path / "out.gguf"
    ingot("quantize", folder, "-o", out, "--method", name)
    assert perplexity(ingot, out, story) < GGUF[name] * plain


def test_an_importance_matrix_is_made_and_used(ingot, folder, story, plain, tmp_path):
    matrix = tmp_path / "matrix.gguf"
    assert "56 weights" in ingot("imatrix", folder, "-f", story, "-o", matrix, *SMALL).text
    out = tmp_path / "out.gguf"
    ingot("quantize", folder, "-o", out, "--method", "iq2_xs", "--imatrix", matrix)
    assert perplexity(ingot, out, story) < 2 * plain
    keys = ingot("inspect", out, "--json").json["metadata"]
    assert str(matrix) in json.dumps(keys)


def test_calibrated_k_blocks_take_in_errors_and_lose_less(ingot, folder, story, plain, tmp_path):
    flags = ["--method", "q2_k", "--calibration", story, "--samples", 8, "--seq-len", 96, "--json"]
    fed, plainly, file = tmp_path / "fed.gguf", tmp_path / "plainly.gguf", tmp_path / "in.gguf"
    assert ingot("quantize", folder, "-o", fed, *flags).json["error_feedback_tensors"] == 56
    report = ingot("quantize", folder, "-o", plainly, *flags, "--no-error-feedback").json
    assert report["error_feedback_tensors"] == 0
    loss = perplexity(ingot, fed, story) / plain - 1
    assert loss < 0.8 * (perplexity(ingot, plainly, story) / plain - 1)
    # Rows of q and k stand in another order in GGUF; what is fed back goes along columns.
    ingot("convert", folder, "-o", file)
    again = tmp_path / "again.gguf"
    assert ingot("quantize", file, "-o", again, *flags).json["error_feedback_tensors"] == 56
    assert perplexity(ingot, again, story) == pytest.approx(perplexity(ingot, fed, story), rel=0.02)


def test_a_model_writes_samples_for_itself(ingot, folder, tmp_path):
    flags = ["--method", "q4_k_m", "--samples", 2, "--seq-len", 48, "--own-samples", 3]
    one, other = tmp_path / "one.gguf", tmp_path / "other.gguf"
    ingot("quantize", folder, "-o", one, *flags)
    ingot("quantize", folder, "-o", other, *flags, "-t", 1)
    assert tree_hash(one) == tree_hash(other)
    keys = json.dumps(ingot("inspect", one, "--json").json["metadata"])
    assert "3 windows of the model's own" in keys


def test_a_mix_meets_its_target_and_its_recipe_replays(ingot, folder, story, tmp_path):
    out, again = tmp_path / "mix.gguf", tmp_path / "again.gguf"
    ingot("quantize", folder, "-o", out, "--target-bpw", 5, "--calibration", story, *SMALL, timeout=600)
    recipe = json.loads((tmp_path / "mix.gguf.recipe.json").read_text())
    assert 4.7 < recipe["bits_per_weight"] <= 5
    assert recipe["measured_kl"] == pytest.approx(recipe["predicted_kl"], rel=0.5)
    ingot("quantize", folder, "-o", again, "--recipe", tmp_path / "mix.gguf.recipe.json", "--calibration",
          story, *SMALL)
    assert tree_hash(out) == tree_hash(again)
    recipe["tensors"]["blk.0.ffn_up.weight"] = "Q8_0"
    (tmp_path / "edited.json").write_text(json.dumps(recipe))
    ingot("quantize", folder, "-o", again, "--recipe", tmp_path / "edited.json", "--calibration", story,
          *SMALL, "--force")
    types = {t["name"]: t["type"] for t in ingot("inspect", again, "--json").json["tensors"]}
    assert types["blk.0.ffn_up.weight"] == "Q8_0"


def test_rules_keep_modules_and_give_others_more_bits(ingot, folder, story, plain, tmp_path):
    out = tmp_path / "out"
    report = ingot("quantize", folder, "-o", out, "--method", "rtn", "--format", "gptq", "--keep", "layers.0.",
                   "--override", "down_proj=8", "--json").json
    assert len(report["kept"]) == 7
    config = json.loads((out / "config.json").read_text())["quantization_config"]
    assert any("down_proj" in key for key in config["dynamic"])
    assert perplexity(ingot, out, story) < 1.1 * plain


def test_a_gguf_file_becomes_safetensors_on_the_way(ingot, folder, story, plain, tmp_path):
    file, packed = tmp_path / "in.gguf", tmp_path / "packed.gguf"
    ingot("convert", folder, "-o", file)
    ingot("quantize", folder, "-o", packed, "--method", "q8_0")
    direct, out, again = tmp_path / "direct", tmp_path / "out", tmp_path / "again"
    flags = ["--method", "rtn", "--format", "gptq"]
    ingot("quantize", folder, "-o", direct, *flags)
    said = ingot("quantize", file, "-o", out, *flags).err
    assert "converting to safetensors first" in said and "quantized already" not in said
    assert perplexity(ingot, out, story) == perplexity(ingot, direct, story)
    said = ingot("quantize", packed, "-o", again, "--method", "gptq", "--calibration", story, *SMALL).err
    assert "quantized already" in said
    assert perplexity(ingot, again, story) < 1.06 * plain
    assert "exists; give --force" in ingot("quantize", file, "-o", out, *flags, code=1).err
    bad = ingot("quantize", file, "-o", tmp_path / "bad", *flags, "--keep", ".", code=2).err
    assert "nothing is left to quantize" in bad
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again", "direct", "in.gguf", "out", "packed.gguf"]


@pytest.mark.parametrize("method", ["gptq", "q4_k_m"])
def test_a_killed_run_goes_on_where_it_was(ingot, binary, folder, story, tmp_path, method):
    name = "out.gguf" if method.startswith("q") else "out"
    flags = ["--method", method, "--calibration", str(story), *map(str, SMALL), "-t", "1"]
    reference = tmp_path / "reference" / name
    reference.parent.mkdir()
    ingot("quantize", folder, "-o", reference, *flags)
    out = tmp_path / name
    started = time.monotonic()
    delay, kills = 0.2, 0
    while not out.exists() and time.monotonic() - started < 100:
        run = subprocess.Popen([binary, "quantize", str(folder), "-o", str(out), *flags],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            run.wait(delay)
            assert run.returncode == 0, run.stderr.read().decode()
        except subprocess.TimeoutExpired:
            os.kill(run.pid, signal.SIGKILL)
            run.wait()
            kills += 1
        delay *= 1.6
    assert kills > 0
    assert tree_hash(out) == tree_hash(reference)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, "reference"])


@pytest.mark.parametrize(("flags", "word"), [
    (["--method", "q9_z"], "unknown method"),
    ([], "say how"),
    (["--method", "gptq", "--bits", "5"], "2, 3, 4 or 8"),
    (["--method", "gptq", "--group-size", "100"], "multiple of 8"),
    (["--method", "awq", "--act-order"], "--act-order"),
    (["--method", "rtn", "--sym", "--asym"], "exclude"),
    (["--method", "gptq", "--calibration", "/nowhere.txt"], "/nowhere.txt"),
    (["--method", "rtn", "--keep", "("], "("),
    (["--method", "rtn", "--keep", "."], "nothing is left"),
    (["--method", "rtn", "--override", "x=9"], "PATTERN=BITS"),
    (["--recipe", "/nowhere.json"], "/nowhere.json"),
    (["--target-bpw", "1.1", "--calibration", "STORY", "--samples", "1", "--seq-len", "32"], "smallest"),
    (["--target-bpw", "4", "--max-kl", "0.1"], "one of them"),
])
def test_mistakes_are_named_and_write_nothing(ingot, folder, story, tmp_path, flags, word):
    flags = [str(story) if flag == "STORY" else flag for flag in flags]
    done = ingot("quantize", folder, "-o", tmp_path / "out", *flags, code=2, timeout=300)
    assert word in done.err
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_is_there_is_not_replaced_unless_asked(ingot, folder, tmp_path):
    out = tmp_path / "out.gguf"
    out.write_text("precious")
    done = ingot("quantize", folder, "-o", out, "--method", "q8_0", code=1)
    assert "--force" in done.err and out.read_text() == "precious"
    ingot("quantize", folder, "-o", out, "--method", "q8_0", "--force")
    assert out.stat().st_size > 1000


def test_quantizing_twice_warns(ingot, folder, tmp_path):
    ingot("quantize", folder, "-o", tmp_path / "once.gguf", "--method", "q4_0")
    done = ingot("quantize", tmp_path / "once.gguf", "-o", tmp_path / "twice.gguf", "--method", "q8_0")
    assert "quantized already" in done.err


def test_inspect_finds_outliers_and_sensitive_matrices(ingot, folder, story):
    report = ingot("inspect", folder, "--outliers", "--sensitivity", "--calibration", story, "--samples", 1,
                   "--seq-len", 64, "--json", timeout=300).json
    assert len(report["outliers"]["inputs"]) == 8 * 4 and len(report["outliers"]["weights"]) == 56
    losses = report["sensitivity"]["tensors"][0]["estimated_kl"]
    assert losses["Q8_0"] < losses["Q4_K"] < losses["Q2_K"]
    assert "attention in" in ingot("inspect", folder, "--outliers", "--samples", 1, "--seq-len", 32).text
