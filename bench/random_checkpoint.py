# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of Llama shapes with random weights in the formats that quantizers write, and GGUF
files with the same shapes and an F16 head, so that only the format of the linears differs. Speed
does not depend on the values: scales keep the weights near a deviation of 0.02.
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

from gguf_writer import UINT32, GgufWriter  # noqa: E402

SHAPES = {  # hidden, layers, heads, KV heads, head size, feed-forward, vocabulary
    "160m": (768, 12, 12, 12, 64, 3072, 32000),
    "1b": (2048, 16, 32, 8, 64, 8192, 32000),
    "8b": (4096, 32, 32, 8, 128, 14336, 32000),
}
DEVIATION = 0.02
random = np.random.default_rng(7)


def linears(shape):
    """(module, name in GGUF, rows, columns) of every linear of one layer."""
    hidden, _, heads, kv_heads, size, wide, _ = SHAPES[shape]
    return [("self_attn.q_proj", "attn_q", heads * size, hidden),
            ("self_attn.k_proj", "attn_k", kv_heads * size, hidden),
            ("self_attn.v_proj", "attn_v", kv_heads * size, hidden),
            ("self_attn.o_proj", "attn_output", hidden, heads * size),
            ("mlp.gate_proj", "ffn_gate", wide, hidden), ("mlp.up_proj", "ffn_up", wide, hidden),
            ("mlp.down_proj", "ffn_down", hidden, wide)]


def words(*shape):
    return random.integers(-(2**31), 2**31, shape, dtype=np.int64).astype(np.int32)


def scales(shape, middle, kind=np.float16):
    return (middle * random.uniform(0.75, 1.25, shape)).astype(kind)


def gptq(rows, cols, is_symmetric):
    zeros = np.full((cols // 128, rows // 8), 0x77777777, np.int32)  # seven means eight
    return {"qweight": words(cols // 8, rows), "scales": scales((cols // 128, rows), DEVIATION / 4.6),
            "qzeros": zeros if is_symmetric else words(cols // 128, rows // 8),
            "g_idx": (np.arange(cols) // 128).astype(np.int32)}


def awq(rows, cols):
    return {"qweight": words(cols, rows // 8), "qzeros": words(cols // 128, rows // 8),
            "scales": scales((cols // 128, rows), DEVIATION / 4.6)}


NF4_LEVELS = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
              -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
              0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
              0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0]


def nf4(rows, cols):
    state = {"quant_type": "nf4", "blocksize": 64, "dtype": "float16", "shape": [rows, cols]}
    return {"weight": random.integers(0, 256, (rows * cols // 2, 1), dtype=np.uint8),
            "weight.absmax": scales(rows * cols // 64, DEVIATION * 2, np.float32),
            "weight.quant_map": np.array(NF4_LEVELS, np.float32),
            "weight.quant_state.bitsandbytes__nf4": np.frombuffer(json.dumps(state).encode(), np.uint8)}


def bnb_fp4(rows, cols):
    levels = np.array([0, 0.0625, 8, 12, 4, 6, 2, 3], np.float32) / 12
    tensors = nf4(rows, cols)
    state = {"quant_type": "fp4", "blocksize": 64, "dtype": "float16", "shape": [rows, cols]}
    del tensors["weight.quant_state.bitsandbytes__nf4"]
    return tensors | {"weight.quant_map": np.concatenate([levels, -levels]),
                      "weight.quant_state.bitsandbytes__fp4":
                          np.frombuffer(json.dumps(state).encode(), np.uint8)}


def nvfp4(rows, cols):
    codes = random.integers(0x30, 0x50, (rows, cols // 16), dtype=np.uint8)
    return {"weight_packed": random.integers(0, 256, (rows, cols // 2), dtype=np.uint8),
            "weight_scale": ("F8_E4M3", codes),
            "weight_global_scale": np.array([3 / DEVIATION], np.float32)}


def int8(rows, cols):
    codes = random.integers(-127, 128, (rows, cols), dtype=np.int8)
    return {"weight": ("I8", codes), "weight_scale": scales((rows, 1), DEVIATION / 73, np.float32)}


def fp8(rows, cols):
    codes = random.integers(0, 0x70, (rows, cols), dtype=np.uint8)  # no NaN among them
    codes |= random.integers(0, 2, (rows, cols), dtype=np.uint8) << 7
    return {"weight": ("F8_E4M3", codes), "weight_scale": scales((rows, 1), DEVIATION / 45, np.float32)}


def mxfp4(rows, cols):
    return {"weight_packed": random.integers(0, 256, (rows, cols // 2), dtype=np.uint8),
            "weight_scale": random.integers(118, 121, (rows, cols // 32), dtype=np.uint8)}


def compressed(form, weights, activations=None):
    group = {"targets": ["Linear"], "weights": weights, "input_activations": activations}
    return {"quant_method": "compressed-tensors", "format": form, "quantization_status": "compressed",
            "ignore": ["lm_head"], "config_groups": {"group_0": group}}


def gptq_config(is_symmetric):
    return {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False,
            "sym": is_symmetric, "checkpoint_format": "gptq"}


FLOAT8 = {"num_bits": 8, "type": "float", "symmetric": True}
FLOAT4 = {"num_bits": 4, "type": "float", "symmetric": True}
INT8 = {"num_bits": 8, "type": "int", "symmetric": True}
FORMATS = {  # name: (tensors of a linear, quantization_config)
    "gptq4": (lambda rows, cols: gptq(rows, cols, True), gptq_config(True)),
    "gptq4-asym": (lambda rows, cols: gptq(rows, cols, False), gptq_config(False)),
    "awq4": (awq, {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True,
                   "version": "gemm"}),
    "nf4": (nf4, {"quant_method": "bitsandbytes", "load_in_4bit": True, "load_in_8bit": False,
                  "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": False}),
    "fp8": (fp8, compressed("float-quantized", FLOAT8 | {"strategy": "channel", "dynamic": False},
                            FLOAT8 | {"strategy": "token", "dynamic": True})),
    "w8a8": (int8, compressed("int-quantized", INT8 | {"strategy": "channel", "dynamic": False},
                              INT8 | {"strategy": "token", "dynamic": True})),
    "mxfp4": (mxfp4, compressed("mxfp4-pack-quantized",
                                FLOAT4 | {"strategy": "group", "group_size": 32,
                                          "scale_dtype": "torch.uint8"})),
    "nvfp4": (nvfp4, compressed("nvfp4-pack-quantized",
                                FLOAT4 | {"strategy": "tensor_group", "group_size": 16})),
    "bnb-fp4": (bnb_fp4, {"quant_method": "bitsandbytes", "load_in_4bit": True,
                          "load_in_8bit": False, "bnb_4bit_quant_type": "fp4"}),
}
DTYPES = {np.dtype(np.int32): "I32", np.dtype(np.float16): "F16", np.dtype(np.float32): "F32",
          np.dtype(np.uint8): "U8"}


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, (dtype, array) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(array.shape),
                        "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for _, array in tensors.values():
            out.write(array.tobytes())


def floats(rows, cols):
    return (random.standard_normal((rows, cols), np.float32) * DEVIATION).astype(np.float16)


def write_checkpoint(folder, shape, name):
    """A folder as Hugging Face's libraries write it, without a tokenizer."""
    make, quantization = FORMATS[name]
    hidden, layers, heads, kv_heads, size, wide, vocabulary = SHAPES[shape]
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    ones = ("F16", np.ones(hidden, np.float16))
    tensors = {"model.embed_tokens.weight": ("F16", floats(vocabulary, hidden)), "model.norm.weight": ones}
    parts = {module: make(rows, cols) for module, _, rows, cols in linears(shape)}
    for layer in range(layers):
        at = f"model.layers.{layer}."
        tensors |= {at + "input_layernorm.weight": ones, at + "post_attention_layernorm.weight": ones}
        for module, arrays in parts.items():
            for part, array in arrays.items():
                typed = array if isinstance(array, tuple) else (DTYPES[array.dtype], array)
                tensors[f"{at}{module}.{part}"] = typed
    write_safetensors(folder / "model.safetensors", tensors)
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": hidden,
              "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv_heads,
              "head_dim": size, "intermediate_size": wide, "vocab_size": vocabulary, "rms_norm_eps": 1e-5,
              "rope_theta": 500000.0, "max_position_embeddings": 8192, "hidden_act": "silu",
              "tie_word_embeddings": True, "torch_dtype": "float16", "quantization_config": quantization}
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    return folder


BLOCKS = {"Q4_0": (32, 18, DEVIATION / 4.6), "Q8_0": (32, 34, DEVIATION / 73)}


def gguf_bytes(kind, rows, cols):
    elements, size, scale = BLOCKS[kind]
    blocks = random.integers(0, 256, (rows * cols // elements, size), dtype=np.uint8)
    blocks[:, 0:2] = scales(len(blocks), scale).view(np.uint8).reshape(-1, 2)
    return blocks.tobytes()


def write_gguf(path, shape, kind):
    """The same shapes with linears of one GGUF type."""
    hidden, layers, heads, kv_heads, size, wide, vocabulary = SHAPES[shape]
    out = GgufWriter()
    out.set("general.architecture", "llama")
    out.set("tokenizer.ggml.model", "no_vocab")
    for key, value in {"block_count": layers, "context_length": 8192, "embedding_length": hidden,
                       "feed_forward_length": wide, "attention.head_count": heads,
                       "attention.head_count_kv": kv_heads, "attention.key_length": size,
                       "attention.value_length": size, "rope.dimension_count": size,
                       "vocab_size": vocabulary}.items():
        out.set(f"llama.{key}", value, UINT32)
    out.set("llama.attention.layer_norm_rms_epsilon", 1e-5)
    out.set("llama.rope.freq_base", 500000.0)
    ones = np.ones(hidden, np.float32).tobytes()
    out.add("token_embd.weight", "F16", (vocabulary, hidden), floats(vocabulary, hidden).tobytes())
    out.add("output_norm.weight", "F32", (hidden,), ones)
    data = {name: gguf_bytes(kind, rows, cols) for _, name, rows, cols in linears(shape)}
    for layer in range(layers):
        out.add(f"blk.{layer}.attn_norm.weight", "F32", (hidden,), ones)
        out.add(f"blk.{layer}.ffn_norm.weight", "F32", (hidden,), ones)
        for _, name, rows, cols in linears(shape):
            out.add(f"blk.{layer}.{name}.weight", kind, (rows, cols), data[name])
    out.write(path)
    return Path(path)
