# SPDX-License-Identifier: Apache-2.0
"""A real GGUF model that says what a test wants: its one layer does nothing, so the next token depends
on the last one alone, and its output matrix spells the script.

Every piece of a script is a token of its own and may occur once in it.
"""

import struct
from pathlib import Path

import numpy as np

HIDDEN = 512
CHATML = ("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}<|im_end|>\n{% endfor %}"
          "{% if tools %}<tools>{% for t in tools %}{{ t | tojson }}{% endfor %}</tools>{% endif %}"
          "{# <tool_call>{\"name\": ..., \"arguments\": ...}</tool_call> and <think>...</think> #}<|im_start|>assistant\n<go>")


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def write_scripted_model(path: Path, script: list[str], special: tuple[str, ...] = (),
                         template: str = CHATML) -> Path:
    """`special` names the pieces that are special tokens of the vocabulary."""
    control, user, byte = 3, 4, 6
    tokens = [("<unk>", 2), ("<s>", control), ("</s>", control), ("<go>", control),
              ("<|im_start|>", control), ("<|im_end|>", control)]
    tokens += [(f"<0x{i:02X}>", byte) for i in range(256)]
    first = len(tokens)
    assert len(set(script)) == len(script), "pieces must differ"
    tokens += [(piece, control if piece in special else user) for piece in script]
    assert len(tokens) <= HIDDEN
    ids = {text: i for i, (text, _) in enumerate(tokens)}

    embedding = np.zeros((len(tokens), HIDDEN), np.float32)
    embedding[np.arange(len(tokens)), np.arange(len(tokens))] = 1
    output = np.zeros((len(tokens), HIDDEN), np.float32)
    chain = [ids["<go>"], *range(first, first + len(script)), ids["</s>"]]
    for now, then in zip(chain, chain[1:]):
        output[then, now] = 10
    zero = np.zeros((HIDDEN, HIDDEN), np.float32)
    one = np.ones(HIDDEN, np.float32)
    tensors = {"token_embd.weight": embedding, "output.weight": output, "output_norm.weight": one,
               "blk.0.attn_norm.weight": one, "blk.0.ffn_norm.weight": one}
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        tensors[f"blk.0.{name}.weight"] = zero

    u32, f32, boolean, string, array = 4, 6, 7, 8, 9
    pairs = []

    def put(key: str, kind: int, value: bytes) -> None:
        pairs.append(_text(key) + struct.pack("<I", kind) + value)

    put("general.architecture", string, _text("llama"))
    put("general.name", string, _text("scripted"))
    for key, value in {"block_count": 1, "context_length": 512, "embedding_length": HIDDEN,
                       "feed_forward_length": HIDDEN, "attention.head_count": 8,
                       "attention.head_count_kv": 8, "rope.dimension_count": 64}.items():
        put(f"llama.{key}", u32, struct.pack("<I", value))
    put("llama.attention.layer_norm_rms_epsilon", f32, struct.pack("<f", 1e-6))
    put("tokenizer.ggml.model", string, _text("llama"))
    put("tokenizer.ggml.tokens", array, struct.pack("<IQ", string, len(tokens)) +
        b"".join(_text(text) for text, _ in tokens))
    put("tokenizer.ggml.scores", array, struct.pack("<IQ", f32, len(tokens)) +
        struct.pack(f"<{len(tokens)}f", *range(0, -len(tokens), -1)))
    put("tokenizer.ggml.token_type", array, struct.pack("<IQ", 5, len(tokens)) +
        struct.pack(f"<{len(tokens)}i", *(kind for _, kind in tokens)))
    put("tokenizer.ggml.bos_token_id", u32, struct.pack("<I", ids["<s>"]))
    put("tokenizer.ggml.eos_token_id", u32, struct.pack("<I", ids["</s>"]))
    put("tokenizer.ggml.add_bos_token", boolean, b"\x01")
    put("tokenizer.ggml.add_space_prefix", boolean, b"\x00")
    put("tokenizer.chat_template", string, _text(template))

    infos, data = b"", b""
    for name, values in tensors.items():
        data += b"\0" * (-len(data) % 32)
        shape = values.shape[::-1]
        infos += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(data))
        data += values.tobytes()
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)) + b"".join(pairs) + infos
    path.write_bytes(head + b"\0" * (-len(head) % 32) + data)
    return path
