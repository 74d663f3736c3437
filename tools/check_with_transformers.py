# SPDX-License-Identifier: Apache-2.0
"""Quantizes a model with ingot in every safetensors format and compares the logits of the files in
Hugging Face transformers with ingot's own.

    python tools/check_with_transformers.py --ingot build/release/ingot --model story-29m --text test.txt

Run it with a python that has torch and transformers (and gptqmodel, compressed-tensors, bitsandbytes
for their formats). A file that transformers cannot load on this machine is decoded by the documented
rules of its format (quantized_rules.py) into the plain model; the table says which, and --rules does
so for all. Computes on the GPU where there is one. Exits with 1 where a file differs.

Where inputs are rounded too, a sum that differs in its last bit now and then moves an input to the
next code, and that difference grows from layer to layer: two right programs drift apart as far as the
rounding itself. Such files are compared once more on their first layer and the beginnings of windows,
where most tokens see no such step: their median tells.
"""
import argparse
import json
import logging
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

os.environ.setdefault("TQDM_DISABLE", "1")
import numpy as np
import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM

from quantized_rules import decode, input_rounding, quantized_modules

FORMATS = {
    "gptq4": ["gptq"],
    "gptq4 act-order": ["gptq", "--act-order"],
    "gptq4 asymmetric g64": ["gptq", "--asym", "--group-size", "64"],
    "gptq8": ["gptq", "--bits", "8"],
    "gptq3": ["gptq", "--bits", "3"],
    "gptq2": ["gptq", "--bits", "2", "--group-size", "32"],
    "awq": ["awq"],
    "rtn4 as awq": ["rtn", "--format", "awq"],
    "W4A16": ["rtn"],
    "W4A16 asymmetric": ["rtn", "--asym"],
    "W8A16": ["rtn", "--bits", "8"],
    "W4A16 and W8A16": ["rtn", "--override", "down_proj=8"],
    "W8A8 (smoothquant)": ["smoothquant"],
    "fp8 per channel": ["fp8"],
    "fp8 static": ["fp8", "--static"],
    "fp8 blocks": ["fp8", "--scales", "block"],
    "nf4": ["nf4"],
    "nf4 with plain scales": ["nf4", "--no-double-quant"],
    "mxfp4": ["mxfp4"],
    "nvfp4": ["nvfp4"],
}
MOST_KL = 1e-3  # transformers may compute in 16 bits, and ingot's integer kernels round inputs to 8
MOST_KL_ROUNDED = 5e-3  # of files that round inputs: about what the rounding itself costs
MOST_KL_LAYER = 1e-6  # median, of their first layer


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")


def read_logits(path):
    """Windows of tokens and their logits up to a constant (docs/formats/reference-logits.md)."""
    data = path.read_bytes()
    assert data[:8] == b"INGOTREF"
    _, vocab, _, bos, context = struct.unpack_from("<IIIiq", data, 8)
    count, _, windows, rows = struct.unpack_from("<QQQQ", data, 48)
    tokens = np.frombuffer(data, "<i4", count, 88)
    at, row_bytes = 88 + 4 * count, 4 + (2 * vocab + 3) // 4 * 4
    table = np.frombuffer(data, np.uint8, rows * row_bytes, at).reshape(rows, row_bytes)
    step = np.ascontiguousarray(table[:, :4]).view("<f4")
    logits = -step * np.ascontiguousarray(table[:, 4 : 4 + 2 * vocab]).view("<u2")
    each = context - 1  # a window is bos and so many tokens, all of them scored
    starts = range(0, windows * each, each)
    ids = [[bos, *tokens[s : s + each - 1].tolist()] for s in starts]
    return torch.tensor(ids), torch.tensor(logits).view(len(ids), each, vocab)


def first_layer(model, folder):
    """The model with all layers but one left out of its config; its files are the same."""
    folder.mkdir(exist_ok=True)
    for file in model.iterdir():
        link = folder / file.name
        if not link.exists():
            link.symlink_to(file.resolve())
    config = json.loads((model / "config.json").read_text()) | {"num_hidden_layers": 1}
    (folder / "config.json").unlink()
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def load_by_rules(folder, model):
    """The plain model with the file's weights in it, and its inputs rounded as the format says."""
    config = json.loads((folder / "config.json").read_text())["quantization_config"]
    tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        tensors |= load_file(file)
    plain = AutoConfig.from_pretrained(model)
    result = AutoModelForCausalLM.from_config(plain, dtype=torch.float32)
    state = {name: value.float() for name, value in tensors.items() if name in result.state_dict()}
    rounded = {}
    layers = plain.num_hidden_layers
    for name in quantized_modules(tensors):
        if int(name.split(".layers.")[1].split(".")[0]) >= layers:
            continue
        state[name + ".weight"] = decode(tensors, name, config)
        rounded[name] = input_rounding(config, tensors, name)
    missing, unexpected = result.load_state_dict(state, strict=False)
    if unexpected or [name for name in missing if name != "lm_head.weight"]:
        sys.exit(f"{folder}: {missing} missing, {unexpected} unknown")
    result.tie_weights()
    for name, function in rounded.items():
        if function is not None:
            module = result.get_submodule(name)
            module.register_forward_pre_hook(lambda _, inputs, f=function: (f(inputs[0]),))
    return result


def load_in_transformers(folder, device):
    errors = []
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        try:
            model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, device_map=device)
            with torch.no_grad():  # some kernels refuse only when they run
                model(torch.tensor([[1, 2, 3]], device=model.device))
            return model, str(dtype).removeprefix("torch.")
        except Exception as error:  # noqa: BLE001 - packages fail in every way
            errors.append(f"{type(error).__name__}: {error}".splitlines()[0][:160])
    return None, errors[0]


def logits_of(model, ids):
    device = next(model.parameters()).device
    with torch.no_grad():
        return torch.cat([model(row[None].to(device)).logits.float().cpu() for row in ids])


def compare(ours, theirs):
    a, b = torch.log_softmax(ours.double(), -1), torch.log_softmax(theirs.double(), -1)
    kl = (a.exp() * (a - b)).sum(-1).mean().item()
    same = (a.argmax(-1) == b.argmax(-1)).double().mean().item()
    # Logits are known up to a constant: the mean difference of a row. Deep ones are cut off in the file.
    seen = a > a.amax(-1, keepdim=True) - 39
    difference = torch.where(seen, a - b, torch.nan)
    difference = (difference - difference.nanmedian(-1, keepdim=True).values).abs()
    span = (a.amax(-1) - a.amin(-1)).mean().item()
    return same, kl, difference.nanmean().item() / span, difference[seen].max().item() / span


def median_kl(ours, theirs):
    a, b = torch.log_softmax(ours.double(), -1), torch.log_softmax(theirs.double(), -1)
    return (a.exp() * (a - b)).sum(-1).median().item()


def ingot_logits(args, model, saved, context, windows):
    run(args.ingot, "eval", model, "--perplexity", args.text, "--protocol", "windows", "-c", context,
        "--chunks", windows, "--dtype", "float", "-t", args.threads, "--kl-divergence-base", saved)
    return read_logits(saved)


def rounds_inputs(folder):
    config = json.loads((folder / "config.json").read_text()).get("quantization_config", {})
    groups = config.get("config_groups", {}).values()
    return config.get("quant_method") == "fp8" or any(group["input_activations"] for group in groups)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ingot", default="ingot", help="the program")
    parser.add_argument("--model", required=True, help="a folder of plain safetensors")
    parser.add_argument("--text", required=True, help="text to predict")
    parser.add_argument("--calibration", help="text to calibrate on (the built-in mix)")
    parser.add_argument("--folder", help="where the quantized models stay; found there, they are used")
    parser.add_argument("--formats", help="a part of the list, by its names, with commas")
    parser.add_argument("--windows", type=int, default=4, help="of 256 tokens")
    parser.add_argument("--threads", type=int, default=0, help="of ingot (0: all cores)")
    parser.add_argument("--rules", action="store_true", help="load nothing by transformers' quantizers")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    folder = Path(args.folder or tempfile.mkdtemp(prefix="ingot-formats-"))
    folder.mkdir(exist_ok=True)
    wanted = args.formats.split(",") if args.formats else FORMATS
    calibration = ["--calibration", args.calibration] if args.calibration else []
    print("| format | loaded by | same top token | mean KL | mean error | largest error |")
    print("| --- | --- | --- | --- | --- | --- |")
    notes, is_bad = [], False
    for name in ["original", *wanted]:
        out = Path(args.model)
        if name != "original":
            out = folder / name.translate(str.maketrans(" ()", "---"))
            method, *flags = FORMATS[name]
            if not out.exists():
                run(args.ingot, "quantize", args.model, "-o", out, "--method", method, *flags,
                    "--samples", 16, "-t", args.threads, *calibration)
        ids, ours = ingot_logits(args, out, folder / "logits", 256, args.windows)
        ways = []
        if not args.rules:
            model, how = load_in_transformers(out, args.device)
            if model is None:
                notes.append(f"{name}: {how}")
            else:
                ways.append((f"transformers, {how}", model))
        if name != "original":
            ways.append(("documented rules", load_by_rules(out, args.model).to(args.device)))
        for how, model in ways:
            same, kl, mean, most = compare(ours, logits_of(model, ids))
            print(f"| {name} | {how} | {100 * same:.1f} % | {kl:.1e} | {mean:.1e} | {most:.1e} |", flush=True)
            is_bad |= not kl < (MOST_KL_ROUNDED if rounds_inputs(out) else MOST_KL)
        if rounds_inputs(out):
            layer, plain = first_layer(out, folder / "layer"), first_layer(Path(args.model), folder / "plain")
            ids, ours = ingot_logits(args, layer, folder / "logits", 8, 32)
            median = median_kl(ours, logits_of(load_by_rules(layer, plain).to(args.device), ids))
            print(f"| {name}, first layer | documented rules | | {median:.1e} (median) | | |", flush=True)
            is_bad |= not median < MOST_KL_LAYER
            shutil.rmtree(layer)
    for note in notes:
        print(f"not loaded by transformers: {note}")
    if not args.folder:
        shutil.rmtree(folder)
    return 1 if is_bad else 0


if __name__ == "__main__":
    sys.exit(main())
