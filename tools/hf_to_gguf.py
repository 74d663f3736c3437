#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Converts a folder with config.json and safetensors of a dense decoder to one GGUF file.

    tools/hf_to_gguf.py FOLDER OUT.gguf [--type F32|F16|BF16|Q8_0]

Weights only, no vocabulary: it makes the test-suite's GGUF models from its Hugging Face ones, with
the names, row orders and keys that GGUF files of these architectures have. Where GGUF has no key
for something a config may say (Gemma 2's score scale, SmolLM3's rotated layers, Mistral's window),
the key another architecture uses for it is written. Needs numpy.
"""
import argparse
import json
import math
import re
from pathlib import Path

import numpy as np

from ggml_quantizers import QUANTIZERS
from gguf_writer import BOOL, FLOAT32, GgufWriter
from safetensors_reader import read_folder

ARCHITECTURES = {
    "cohere": "command-r", "cohere2": "cohere2", "ernie4_5": "ernie4_5", "exaone4": "exaone4",
    "falcon": "falcon", "gemma": "gemma", "gemma2": "gemma2", "gemma3_text": "gemma3",
    "glm4": "glm4", "gpt2": "gpt2", "gpt_bigcode": "starcoder", "gpt_neox": "gptneox",
    "granite": "granite", "llama": "llama", "mistral": "llama", "nemotron": "nemotron",
    "olmo": "olmo", "olmo2": "olmo2", "olmo3": "olmo2", "phi": "phi2", "phi3": "phi3",
    "qwen2": "qwen2", "qwen3": "qwen3", "seed_oss": "seed_oss", "smollm3": "smollm3",
    "stablelm": "stablelm", "starcoder2": "starcoder2",
}
# Rotate neighbouring dimensions in GGUF and halves in the checkpoint: rows of q and k move.
INTERLEAVED = {"llama", "granite", "olmo", "smollm3"}
LAYER_NORMED = {"command-r", "cohere2", "falcon", "gpt2", "starcoder", "gptneox", "nemotron",
                "olmo", "phi2", "stablelm", "starcoder2"}
NORM_PLUS_ONE = {"gemma", "gemma2", "gemma3", "nemotron"}
POST_NORMED = {"gemma2", "gemma3", "olmo2", "exaone4", "seed_oss"}

MODEL_NAMES = {
    "embed_tokens": "token_embd", "wte": "token_embd", "word_embeddings": "token_embd",
    "embed_in": "token_embd", "wpe": "position_embd", "norm": "output_norm",
    "final_layernorm": "output_norm", "ln_f": "output_norm", "final_layer_norm": "output_norm",
    "lm_head": "output", "embed_out": "output",
}
LAYER_NAMES = {
    "input_layernorm": "attn_norm", "ln_1": "attn_norm", "ln_mlp": "attn_norm",
    "ln_attn": "attn_norm_2", "post_attention_layernorm": "ffn_norm", "ln_2": "ffn_norm",
    "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm",
    "post_self_attn_layernorm": "post_attention_norm", "post_mlp_layernorm": "post_ffw_norm",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.dense": "attn_output",
    "attention.dense": "attn_output", "self_attention.dense": "attn_output",
    "attn.c_proj": "attn_output", "self_attn.qkv_proj": "attn_qkv", "attn.c_attn": "attn_qkv",
    "attention.query_key_value": "attn_qkv", "self_attention.query_key_value": "attn_qkv",
    "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.gate_up_proj": "ffn_up",
    "mlp.fc1": "ffn_up", "mlp.c_fc": "ffn_up", "mlp.dense_h_to_4h": "ffn_up",
    "mlp.down_proj": "ffn_down", "mlp.fc2": "ffn_down", "mlp.c_proj": "ffn_down",
    "mlp.dense_4h_to_h": "ffn_down",
}


class Model:
    """config.json under one spelling."""

    def __init__(self, config):
        get = config.get
        self.config = config
        self.arch = ARCHITECTURES[config["model_type"]]
        self.layers = get("num_hidden_layers", get("n_layer"))
        self.hidden = get("hidden_size", get("n_embd"))
        self.heads = get("num_attention_heads", get("n_head"))
        self.kv_heads = get("num_key_value_heads", self.heads)
        if self.arch == "falcon":
            is_grouped = config["new_decoder_architecture"]
            self.kv_heads = get("num_kv_heads") if is_grouped else 1 if get("multi_query") else self.heads
        self.head_dim = get("head_dim") or self.hidden // self.heads
        self.ffn = (get("intermediate_size") or get("ffn_hidden_size") or get("n_inner")
                    or 4 * self.hidden)
        self.context = get("max_position_embeddings", get("n_positions"))
        self.eps = get("rms_norm_eps", get("layer_norm_eps", get("layer_norm_epsilon",
                       get("norm_epsilon", get("norm_eps", 1e-5)))))
        ropes = get("rope_parameters") or {}
        self.rope = ropes.get("full_attention", ropes)
        self.sliding_rope = ropes.get("sliding_attention", {})
        partial = self.rope.get("partial_rotary_factor", 1.0)
        self.rotary_dim = int(self.head_dim * partial)


def set_rope_keys(model, put):
    rope = model.rope
    if not rope:
        return
    put("rope.dimension_count", model.rotary_dim)
    put("rope.freq_base", float(rope["rope_theta"]))
    if "rope_theta" in model.sliding_rope:
        put("rope.freq_base_swa", float(model.sliding_rope["rope_theta"]))
    kind = rope.get("rope_type", "default")
    if kind in ("linear", "yarn"):
        put("rope.scaling.type", kind)
        put("rope.scaling.factor", float(rope["factor"]))
    if kind == "yarn":
        put("rope.scaling.original_context_length", rope["original_max_position_embeddings"])
    if kind == "longrope":
        original = rope["original_max_position_embeddings"]
        stretch = model.context / original
        put("rope.scaling.original_context_length", original)
        put("rope.scaling.attn_factor", math.sqrt(1 + math.log(stretch) / math.log(original)))
    if kind not in ("default", "linear", "yarn", "longrope", "llama3"):
        raise ValueError(f"GGUF has no rope of type {kind}")


def set_family_keys(model, put):
    config, arch = model.config, model.arch
    if arch == "gptneox":
        put("use_parallel_residual", bool(config["use_parallel_residual"]))
    if arch in ("command-r", "cohere2"):
        put("logit_scale", float(config["logit_scale"]))
    if arch == "granite":
        put("attention.scale", float(config["attention_multiplier"]))
        put("embedding_scale", float(config["embedding_multiplier"]))
        put("residual_scale", float(config["residual_multiplier"]))
        put("logit_scale", float(config["logits_scaling"]))
    if arch == "gemma2" and config["query_pre_attn_scalar"] != model.head_dim:
        put("attention.scale", config["query_pre_attn_scalar"] ** -0.5)
    if config.get("attn_logit_softcapping"):
        put("attn_logit_softcapping", float(config["attn_logit_softcapping"]))
    if config.get("final_logit_softcapping"):
        put("final_logit_softcapping", float(config["final_logit_softcapping"]))
    if config.get("clip_qkv"):
        put("attention.clamp_kqv", float(config["clip_qkv"]))
    if config.get("sliding_window") and config.get("use_sliding_window", True):
        put("attention.sliding_window", config["sliding_window"])
        if "layer_types" in config:
            slides = [kind == "sliding_attention" for kind in config["layer_types"]]
            put("attention.sliding_window_pattern", slides, BOOL)
    if arch == "smollm3" and any(model.config.get("no_rope_layers", [])):
        put("attention.rope_pattern", [bool(use) for use in config["no_rope_layers"]], BOOL)


def set_keys(model, out):
    def put(key, value, kind=None):
        out.set(f"{model.arch}.{key}", value, FLOAT32 if isinstance(value, float) else kind)

    out.set("general.architecture", model.arch)
    out.set("general.name", model.config["model_type"])
    put("vocab_size", model.config["vocab_size"])
    put("context_length", model.context)
    put("embedding_length", model.hidden)
    put("block_count", model.layers)
    put("feed_forward_length", model.ffn)
    put("attention.head_count", model.heads)
    put("attention.head_count_kv", model.kv_heads)
    if model.head_dim != model.hidden // model.heads or "head_dim" in model.config:
        put("attention.key_length", model.head_dim)
        put("attention.value_length", model.head_dim)
    kind = "layer_norm_epsilon" if model.arch in LAYER_NORMED else "layer_norm_rms_epsilon"
    put(f"attention.{kind}", float(model.eps))
    set_rope_keys(model, put)
    set_family_keys(model, put)
    out.set("tokenizer.ggml.model", "no_vocab")
    for name in ("bos_token_id", "eos_token_id"):
        if isinstance(model.config.get(name), int):
            out.set(f"tokenizer.ggml.{name}", model.config[name])


def interleave(weight, heads):
    """Rows of each head from [first half, second half] to neighbours."""
    halves = weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:])
    return halves.swapaxes(1, 2).reshape(weight.shape)


def split_groups(weight, groups, q_per_group):
    """Rows of a fused matrix from [q.. k v] in every group to all q, all k, all v."""
    rest = weight.shape[1:]
    parts = weight.reshape(groups, q_per_group + 2, -1, *rest)
    q, k, v = parts[:, :-2], parts[:, -2], parts[:, -1]
    return np.concatenate([part.reshape(-1, *rest) for part in (q, k, v)])


def convert(model, name, kind, weight):
    """One tensor of the checkpoint: its rows as GGUF orders them."""
    arch = model.arch
    if arch == "gpt2" and kind == "weight" and name in ("attn_qkv", "attn_output", "ffn_up", "ffn_down"):
        weight = weight.T
    if arch in INTERLEAVED and name in ("attn_q", "attn_k"):
        weight = interleave(weight, model.heads if name == "attn_q" else model.kv_heads)
    if arch in ("falcon", "gptneox") and name == "attn_qkv":
        weight = split_groups(weight, model.kv_heads, model.heads // model.kv_heads)
    if arch in NORM_PLUS_ONE and kind == "weight" and name.endswith("norm"):
        weight = weight + np.float32(1)
    return np.ascontiguousarray(weight)


def gguf_name(model, name):
    """'blk.0.attn_q', 'weight' for a checkpoint's tensor; None for buffers."""
    stem, _, kind = name.rpartition(".")
    layer = re.search(r"(?:^|\.)(?:layers|h)\.(\d+)\.(.+)$", stem)
    if layer is None:
        found = MODEL_NAMES.get(stem.rpartition(".")[2])
        return (found, found, kind) if found else None
    found = LAYER_NAMES.get(layer.group(2))
    if found == "ffn_norm" and layer.group(2) == "post_attention_layernorm" and model.arch in POST_NORMED:
        found = "post_attention_norm"
    return (f"blk.{layer.group(1)}.{found}", found, kind) if found else None


def rope_divisors(model):
    """Llama 3's stretch as GGUF keeps it: one divisor for each pair of dimensions."""
    rope, divisors = model.rope, []
    original = rope["original_max_position_embeddings"]
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    for pair in range(model.rotary_dim // 2):
        wavelength = 2 * math.pi * rope["rope_theta"] ** (2 * pair / model.rotary_dim)
        smooth = (original / wavelength - low) / (high - low)
        smooth = min(max(smooth, 0.0), 1.0)
        divisors.append(1 / ((1 - smooth) / rope["factor"] + smooth))
    return np.array(divisors, np.float32)


def add_tensors(model, weights, out, matrix_type):
    def add(name, weight):
        is_small = weight.ndim < 2 or name.endswith("norm.weight") or name == "position_embd.weight"
        kind = "F32" if is_small else matrix_type
        out.add(name, kind, weight.shape, QUANTIZERS[kind](weight))

    for name, weight in weights.items():
        target = gguf_name(model, name)
        if target is None:
            raise ValueError(f"no GGUF name for tensor {name}")
        full, short, kind = target
        if full == "output" and model.config.get("tie_word_embeddings"):
            continue
        add(f"{full}.{kind}", convert(model, short, kind, weight))
    kind = model.rope.get("rope_type")
    if kind == "llama3":
        add("rope_freqs.weight", rope_divisors(model))
    if kind == "longrope":
        add("rope_factors_long.weight", np.array(model.rope["long_factor"], np.float32))
        add("rope_factors_short.weight", np.array(model.rope["short_factor"], np.float32))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--type", choices=["F32", "F16", "BF16", "Q8_0"], default="F32")
    args = parser.parse_args()
    model = Model(json.loads((args.folder / "config.json").read_text()))
    out = GgufWriter()
    set_keys(model, out)
    weights = {name: weight for name, weight in read_folder(args.folder).items()}
    add_tensors(model, weights, out, args.type)
    out.write(args.out)


if __name__ == "__main__":
    main()
