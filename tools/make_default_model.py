#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs a trained Llama folder (safetensors + tokenizer.json) into one GGUF file.

    tools/make_default_model.py FOLDER OUT.gguf [--recipe q4_k_m]

A recipe names a layout for the matrices of the layers, one for the two that suffer most from
rounding (attn_v, ffn_down) and one for the embedding, which is the output head too. Norms stay F32.
models/README.md has the sizes and perplexities of all recipes. Needs numpy.
"""
import argparse
import json
from pathlib import Path

import numpy as np

from ggml_quantizers import QUANTIZERS
from gguf_writer import FLOAT32, INT32, GgufWriter
from safetensors_reader import read_folder

# name: (most matrices, attn_v and ffn_down, embedding, general.file_type)
RECIPES = {
    "f32": ("F32", "F32", "F32", 0),
    "bf16": ("BF16", "BF16", "BF16", 32),
    "f16": ("F16", "F16", "F16", 1),
    "q8_0": ("Q8_0", "Q8_0", "Q8_0", 7),
    "q6_k": ("Q6_K", "Q6_K", "Q6_K", 18),
    "q5_k_m": ("Q5_K", "Q6_K", "Q6_K", 17),
    "q5_k_s": ("Q5_K", "Q5_K", "Q6_K", 16),
    "q4_k_m": ("Q4_K", "Q6_K", "Q6_K", 15),
    "q4_k_s": ("Q4_K", "Q4_K", "Q6_K", 14),
}

NORMAL, CONTROL = 1, 3  # token types

DESCRIPTION = (
    "A 29 million parameter storyteller trained for ingot: short children's stories and small talk "
    "about them. It knows next to nothing else. For demonstration and research."
)
LICENSE_NOTE = (
    "Weights for research and demonstration: parts of the training text are share-alike (CC BY-SA) "
    "or state no licence. See models/README.md."
)


def interleave_rope_rows(weight, heads):
    """GGUF's llama rotates neighbouring rows, the checkpoint rotates halves of a head."""
    rows, cols = weight.shape
    halves = weight.reshape(heads, 2, rows // heads // 2, cols)
    return halves.swapaxes(1, 2).reshape(rows, cols)


def set_model_keys(out, config, file_type):
    head_dim = config["head_dim"]
    out.set("general.architecture", "llama")
    out.set("general.type", "model")
    out.set("general.name", "Story 29M")
    out.set("general.description", DESCRIPTION)
    out.set("general.license", "other")
    out.set("general.license.name", LICENSE_NOTE)
    out.set("general.size_label", "29M")
    out.set("general.languages", ["en"])
    out.set("general.file_type", file_type)
    out.set("general.quantization_version", 2)
    out.set("general.sampling.temp", 0.7)
    out.set("general.sampling.top_p", 0.9)
    out.set("general.sampling.penalty_repeat", 1.1)
    out.set("llama.block_count", config["num_hidden_layers"])
    out.set("llama.context_length", config["max_position_embeddings"])
    out.set("llama.embedding_length", config["hidden_size"])
    out.set("llama.feed_forward_length", config["intermediate_size"])
    out.set("llama.attention.head_count", config["num_attention_heads"])
    out.set("llama.attention.head_count_kv", config["num_key_value_heads"])
    out.set("llama.attention.key_length", head_dim)
    out.set("llama.attention.value_length", head_dim)
    out.set("llama.attention.layer_norm_rms_epsilon", config["rms_norm_eps"], FLOAT32)
    out.set("llama.rope.dimension_count", head_dim)
    out.set("llama.rope.freq_base", config["rope_theta"], FLOAT32)
    out.set("llama.vocab_size", config["vocab_size"])


def set_tokenizer_keys(out, folder, config):
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    model, pre = tokenizer["model"], tokenizer["pre_tokenizer"]
    assert model["type"] == "BPE" and pre["type"] == "ByteLevel" and pre["use_regex"]
    tokens = [None] * config["vocab_size"]
    for token, index in model["vocab"].items():
        tokens[index] = token
    types = [NORMAL] * len(tokens)
    for added in tokenizer["added_tokens"]:
        tokens[added["id"]] = added["content"]
        types[added["id"]] = CONTROL
    assert None not in tokens
    merges = [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]
    out.set("tokenizer.ggml.model", "gpt2")
    out.set("tokenizer.ggml.pre", "gpt-2")
    out.set("tokenizer.ggml.tokens", tokens)
    out.set("tokenizer.ggml.token_type", types, INT32)
    out.set("tokenizer.ggml.merges", merges)
    out.set("tokenizer.ggml.bos_token_id", config["bos_token_id"])
    out.set("tokenizer.ggml.eos_token_id", config["eos_token_id"])
    out.set("tokenizer.ggml.padding_token_id", config["pad_token_id"])
    out.set("tokenizer.ggml.add_bos_token", True)
    out.set("tokenizer.ggml.add_eos_token", False)
    out.set("tokenizer.chat_template", settings["chat_template"])


def add_tensors(out, weights, config, recipe):
    most, careful, embedding, _ = recipe

    def add(name, kind, weight):
        out.add(name, kind, weight.shape, QUANTIZERS[kind](weight))

    add("token_embd.weight", embedding, weights["model.embed_tokens.weight"])
    for layer in range(config["num_hidden_layers"]):
        source, target = f"model.layers.{layer}.", f"blk.{layer}."
        q = weights[source + "self_attn.q_proj.weight"]
        k = weights[source + "self_attn.k_proj.weight"]
        add(target + "attn_norm.weight", "F32", weights[source + "input_layernorm.weight"])
        add(target + "attn_q.weight", most, interleave_rope_rows(q, config["num_attention_heads"]))
        add(target + "attn_k.weight", most, interleave_rope_rows(k, config["num_key_value_heads"]))
        add(target + "attn_v.weight", careful, weights[source + "self_attn.v_proj.weight"])
        add(target + "attn_output.weight", most, weights[source + "self_attn.o_proj.weight"])
        add(target + "ffn_norm.weight", "F32", weights[source + "post_attention_layernorm.weight"])
        add(target + "ffn_gate.weight", most, weights[source + "mlp.gate_proj.weight"])
        add(target + "ffn_up.weight", most, weights[source + "mlp.up_proj.weight"])
        add(target + "ffn_down.weight", careful, weights[source + "mlp.down_proj.weight"])
    add("output_norm.weight", "F32", weights["model.norm.weight"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--recipe", choices=RECIPES, default="q4_k_m")
    args = parser.parse_args()
    config = json.loads((args.folder / "config.json").read_text())
    assert config["model_type"] == "llama" and config["tie_word_embeddings"]
    recipe = RECIPES[args.recipe]
    out = GgufWriter()
    set_model_keys(out, config, recipe[3])
    set_tokenizer_keys(out, args.folder, config)
    add_tensors(out, read_folder(args.folder), config, recipe)
    out.write(args.out)
    print(f"{args.out}: {args.out.stat().st_size} bytes")


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
