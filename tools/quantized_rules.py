# SPDX-License-Identifier: Apache-2.0
"""Weights of quantized checkpoints in torch, by the documented rules of their formats.

`decode(tensors, name, config)` gives a module's float32 matrix [rows, cols]; `input_rounding(config,
tensors, name)` what the format does to the module's inputs, or None. Written from the formats'
descriptions, apart from ingot's own readers: it is what those are checked against.
"""
import json

import torch

E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]  # nibble i of a word is column AWQ_ORDER[i]
E4M3_MOST = 448.0


def unpack_words(words, bits):
    """int32 [..., n] -> codes [..., n * 32 / bits], low bits first; 3 bits run across words."""
    words = words.to(torch.int64) & 0xFFFFFFFF
    if bits == 3:
        low, middle, high = words[..., 0::3], words[..., 1::3], words[..., 2::3]
        whole = low | (middle << 32)  # bits 0-63 of 96; the sign bit is harmless under the masks
        codes = [(whole >> (3 * i)) & 7 for i in range(20)]
        codes += [((middle >> 28) & 15 | (high << 4)) >> (3 * i) & 7 for i in range(12)]
        return torch.stack(codes, -1).flatten(-2)
    return torch.stack([(words >> s) & (2**bits - 1) for s in range(0, 32, bits)], -1).flatten(-2)


def spread(per_group, cols):
    """[rows, groups] -> [rows, cols]."""
    return per_group.repeat_interleave(-(-cols // per_group.shape[1]), 1)[:, :cols]


def gptq(t, name, config):
    bits = config["bits"]
    codes = unpack_words(t[name + ".qweight"].T, bits)  # [rows, cols]
    zeros = unpack_words(t[name + ".qzeros"], bits)  # [groups, rows]
    if config.get("checkpoint_format", "gptq") == "gptq":
        zeros = zeros + 1
    group = t[name + ".g_idx"].long()
    scales = t[name + ".scales"].float()
    return ((codes.T - zeros[group]).float() * scales[group]).T


def awq(t, name, config):
    def columns(words):  # [n, rows / 8] -> [n, rows]
        nibbles = unpack_words(words, 4).unflatten(-1, (-1, 8))
        result = torch.empty_like(nibbles)
        result[..., AWQ_ORDER] = nibbles
        return result.flatten(-2)

    size = config["group_size"]
    codes = columns(t[name + ".qweight"])
    group = torch.arange(codes.shape[0]) // (size if size > 0 else codes.shape[0])
    zeros = columns(t[name + ".qzeros"])[group]
    return ((codes - zeros).float() * t[name + ".scales"].float()[group]).T


def packed_integers(t, name, weights):
    bits = weights["num_bits"]
    rows, cols = t[name + ".weight_shape"].tolist()
    codes = unpack_words(t[name + ".weight_packed"], bits)[:, :cols].float()
    zero = 2 ** (bits - 1)
    if name + ".weight_zero_point" in t:  # packed along the rows
        points = unpack_words(t[name + ".weight_zero_point"].T, bits).T[:rows]
        zero = spread(points.float(), cols)
    return (codes - zero) * spread(t[name + ".weight_scale"].float(), cols)


def packed_floats(t, name):
    packed = t[name + ".weight_packed"]
    codes = torch.stack([packed & 15, packed >> 4], -1).flatten(-2).long()
    scale = t[name + ".weight_scale"]
    if scale.dtype == torch.uint8:  # powers of two
        scale = torch.exp2(scale.float() - 127)
    else:
        scale = scale.float() / t[name + ".weight_global_scale"].float()
    return E2M1[codes] * spread(scale, codes.shape[1])


def compressed(t, name, config):
    weights = group_of(config, name)["weights"]
    if weights["num_bits"] == 4 and weights["type"] == "float":
        return packed_floats(t, name)
    if name + ".weight_packed" in t:
        return packed_integers(t, name, weights)
    return t[name + ".weight"].float() * t[name + ".weight_scale"].float().reshape(-1, 1)


def fp8_blocks(t, name, config):
    high, wide = config["weight_block_size"]
    weight = t[name + ".weight"].float()
    scale = t[name + ".weight_scale_inv"].float()
    scale = scale.repeat_interleave(high, 0).repeat_interleave(wide, 1)
    return weight * scale[: weight.shape[0], : weight.shape[1]]


def nf4(t, name, config):
    del config
    state = json.loads(bytes(t[name + ".weight.quant_state.bitsandbytes__nf4"].tolist()))
    absmax = t[name + ".weight.absmax"]
    if name + ".weight.nested_absmax" in t:
        nested = t[name + ".weight.nested_absmax"].repeat_interleave(state["nested_blocksize"])
        values = t[name + ".weight.nested_quant_map"][absmax.long()]
        absmax = values * nested[: len(values)] + state["nested_offset"]
    packed = t[name + ".weight"].flatten()
    codes = torch.stack([packed >> 4, packed & 15], -1).flatten().long()
    values = t[name + ".weight.quant_map"][codes].view(-1, state["blocksize"])
    return (values * absmax[:, None]).view(state["shape"])


def group_of(config, name):
    """The rule of compressed-tensors for a module: one that names it wins over its class."""
    groups = list(config["config_groups"].values())
    named = [g for g in groups if name in g["targets"]]
    return (named or [g for g in groups if "Linear" in g["targets"]])[0]


RULES = {"gptq": gptq, "awq": awq, "compressed-tensors": compressed, "fp8": fp8_blocks, "bitsandbytes": nf4}
MARKS = (".qweight", ".weight_packed", ".weight_scale", ".weight_scale_inv", ".weight.quant_map")


def quantized_modules(tensors):
    names = {name[: -len(mark)] for name in tensors for mark in MARKS if name.endswith(mark)}
    return sorted(names)


def decode(tensors, name, config):
    return RULES[config["quant_method"]](tensors, name, config)


def round_e4m3(x, scale):
    codes = (x / scale).clamp(-E4M3_MOST, E4M3_MOST).to(torch.float8_e4m3fn)
    return codes.float() * scale


def per_token_int8(x):
    scale = (x.abs().amax(-1, keepdim=True) / 127).clamp_min(1e-12)
    return torch.round(x / scale).clamp(-128, 127) * scale


def per_token_e4m3(x):
    return round_e4m3(x, (x.abs().amax(-1, keepdim=True) / E4M3_MOST).clamp_min(1e-12))


def input_rounding(config, tensors, name):
    if config["quant_method"] == "fp8":
        width = config["weight_block_size"][1]
        return lambda x: per_token_e4m3(x.unflatten(-1, (-1, width))).flatten(-2)
    if config["quant_method"] != "compressed-tensors":
        return None
    inputs = group_of(config, name)["input_activations"]
    if inputs is None:
        return None
    if inputs["type"] == "int":
        return per_token_int8
    if inputs["dynamic"]:
        return per_token_e4m3
    scale = tensors[name + ".input_scale"].float()
    return lambda x: round_e4m3(x, scale.to(x.device))
