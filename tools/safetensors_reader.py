# SPDX-License-Identifier: Apache-2.0
"""Reads the float tensors of a safetensors folder (one file or shards) into numpy float32."""
import json
import struct
from pathlib import Path

import numpy as np


def _widen_bf16(raw):
    return (raw.astype(np.uint32) << 16).view(np.float32)


def _read_file(path, into):
    data = Path(path).read_bytes()
    (header_bytes,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + header_bytes])
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        raw = data[8 + header_bytes + begin : 8 + header_bytes + end]
        if entry["dtype"] == "BF16":
            values = _widen_bf16(np.frombuffer(raw, dtype="<u2"))
        elif entry["dtype"] in ("F32", "F16", "F64"):
            kind = {"F32": "<f4", "F16": "<f2", "F64": "<f8"}[entry["dtype"]]
            values = np.frombuffer(raw, dtype=kind).astype(np.float32)
        else:
            continue  # integer buffers (masks, position ids) are no weights
        into[name] = values.reshape(entry["shape"])


def read_folder(folder):
    """{name: float32 array} of every shard, in name order of the shards."""
    tensors = {}
    for path in sorted(Path(folder).glob("model*.safetensors")):
        _read_file(path, tensors)
    if not tensors:
        raise FileNotFoundError(f"{folder}: no model*.safetensors file")
    return tensors
