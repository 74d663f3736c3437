#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seed inputs of the file-format fuzzers to tests/corpus/: tiny valid files and near misses.

Deterministic: a second run changes nothing. Bugs found later are added by hand, under their own names.
"""

import json
import pathlib
import struct

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "corpus"
U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
FORMATS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B", U64: "Q", I64: "q", F64: "d"}


def text(value):
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def value(kind, item):
    return text(item) if kind == STRING else struct.pack("<" + FORMATS[kind], item)


def scalar(key, kind, item):
    return text(key) + struct.pack("<I", kind) + value(kind, item)


def array(key, kind, items):
    head = text(key) + struct.pack("<IIQ", ARRAY, kind, len(items))
    return head + b"".join(value(kind, item) for item in items)


def tensor(name, dims, kind, offset):
    head = text(name) + struct.pack("<I", len(dims)) + b"".join(struct.pack("<Q", dim) for dim in dims)
    return head + struct.pack("<IQ", kind, offset)


def gguf(key_values, tensors, data, version=3, alignment=32):
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(key_values))
    body = head + b"".join(key_values) + b"".join(tensors)
    return body + bytes(-len(body) % alignment) + data


def safetensors(header, data=b""):
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(encoded)) + encoded + data


def gguf_seeds():
    architecture = scalar("general.architecture", STRING, "llama")
    every_scalar = [scalar(f"k{kind}", kind, 1) for kind in FORMATS] + [scalar("s", STRING, "x")]
    every_array = [array(f"a{kind}", kind, [0, 1]) for kind in FORMATS] + [array("as", STRING, ["a", "", "bc"])]
    layouts = [tensor("f32", [4, 2], 0, 0), tensor("q4_k", [256, 1], 12, 32), tensor("q8_0", [32, 2], 8, 192)]
    aligned = [scalar("general.alignment", U32, 8)]
    splits = [scalar("split.no", U16, 0), scalar("split.count", U16, 2), scalar("split.tensors.count", I32, 3)]
    return {
        "empty_v3": gguf([], [], b""),
        "empty_v2": gguf([], [], b"", version=2),
        "v1": gguf([], [], b"", version=1),
        "big_endian": b"GGUF" + struct.pack(">IQQ", 3, 0, 0),
        "scalars": gguf(every_scalar, [], b""),
        "arrays": gguf(every_array, [], b""),
        "tensors": gguf([architecture], layouts, bytes(260)),
        "aligned": gguf(aligned, [tensor("a", [1], 24, 0), tensor("b", [1, 1, 1, 1], 26, 8)], bytes(12), alignment=8),
        "splits": gguf(splits, [tensor("t", [2], 1, 0)], bytes(4)),
        "overlap": gguf([], [tensor("a", [16], 0, 0), tensor("b", [8], 0, 32)], bytes(64)),
        "wraps": gguf([], [tensor("a", [1 << 63], 24, 0), tensor("b", [(1 << 63) + 64], 24, 1 << 63)], bytes(64)),
        "nested": gguf([text("n") + struct.pack("<IIQ", ARRAY, ARRAY, 1)], [], bytes(16)),
    }


def safetensors_seeds():
    def entry(dtype, shape, begin, end):
        return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}

    dtypes = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8,
              "F8_E8M0": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "C64": 64,
              "F64": 64, "I64": 64, "U64": 64}
    every, end = {}, 0
    for dtype, bits in dtypes.items():
        size = 4 * bits // 8
        every[dtype] = entry(dtype, [4], end, end + size)
        end += size
    return {
        "empty": safetensors({}),
        "metadata": safetensors({"__metadata__": {"format": "pt"}, "a": entry("F32", [1, 2], 0, 8)}, bytes(8)),
        "every_dtype": safetensors(every, bytes(end)),
        "scalar_and_empty": safetensors({"s": entry("F16", [], 0, 2), "e": entry("I64", [0, 3], 2, 2)}, bytes(2)),
        "padded": safetensors(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}   ', b"x"),
        "escaped": safetensors(b'{"\\u00e9\\ud83d\\ude00":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'),
        "overlap": safetensors({"a": entry("U8", [2], 0, 2), "b": entry("U8", [2], 1, 3)}, bytes(3)),
        "hole": safetensors({"a": entry("U8", [2], 0, 2), "b": entry("U8", [2], 3, 5)}, bytes(5)),
        "wraps": safetensors({"a": entry("F64", [1 << 61, 8], 0, 0)}),
        "polyglot": safetensors({"a": entry("U8", [1], 0, 1)}, b"xPK\x05\x06"),
    }


def index_seeds():
    shards = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    return {
        "plain": json.dumps({"metadata": {"total_size": 8}, "weight_map": shards}).encode(),
        "extra": json.dumps({"x": [1, {"y": None}], "weight_map": shards}).encode(),
        "escape": json.dumps({"weight_map": {"a": "../../x.safetensors"}}).encode(),
        "empty": b'{"weight_map":{}}',
    }


def json_seeds():
    return {
        "values": b'{"a":[1,-2.5,1e3,true,false,null,"x",{}],"b":[]}',
        "strings": rb'["\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"]',
        "numbers": b"[0,-0,9223372036854775807,1e400,1e-400,NaN,Infinity,-Infinity]",
        "nested": b"[" * 64 + b"]" * 64,
        "twice": b'{"a":1,"a":2}',
        "config": b'{"architectures":["LlamaForCausalLM"],"rope_scaling":{"type":"yarn","factor":4.0}}',
    }


def main():
    targets = {"gguf": gguf_seeds(), "safetensors": safetensors_seeds(), "safetensors_index": index_seeds(),
               "json": json_seeds()}
    for target, seeds in targets.items():
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in seeds.items():
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
