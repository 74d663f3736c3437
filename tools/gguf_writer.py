# SPDX-License-Identifier: Apache-2.0
"""Writes GGUF v3 files: key-values, then tensors whose bytes are already in their final layout.

Tensors are given with numpy's (row-major) shape; the file stores it reversed. Every tensor's data
starts at a multiple of ALIGNMENT.
"""
import struct

ALIGNMENT = 32

UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9

# name: (type number in the file, weights in a block, bytes of a block)
TENSOR_TYPES = {
    "F32": (0, 1, 4),
    "F16": (1, 1, 2),
    "Q4_0": (2, 32, 18),
    "Q8_0": (8, 32, 34),
    "Q4_K": (12, 256, 144),
    "Q5_K": (13, 256, 176),
    "Q6_K": (14, 256, 210),
    "BF16": (30, 1, 2),
}


def _string(text):
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    return struct.pack("<Q", len(data)) + data


def _scalar(kind, value):
    if kind == STRING:
        return _string(value)
    return struct.pack({UINT32: "<I", INT32: "<i", FLOAT32: "<f", BOOL: "<?"}[kind], value)


def _kind_of(value):
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return UINT32 if value >= 0 else INT32
    if isinstance(value, float):
        return FLOAT32
    if isinstance(value, (str, bytes)):
        return STRING
    raise TypeError(f"no GGUF type for {type(value).__name__}")


class GgufWriter:
    def __init__(self):
        self._values = {}
        self._tensors = []

    def set(self, key, value, kind=None):
        """A scalar by its Python type (or `kind`); a list becomes an array of one kind."""
        if isinstance(value, (list, tuple)):
            kind = _kind_of(value[0]) if kind is None else kind
            body = b"".join(_scalar(kind, item) for item in value)
            self._values[key] = struct.pack("<IIQ", ARRAY, kind, len(value)) + body
        else:
            kind = _kind_of(value) if kind is None else kind
            self._values[key] = struct.pack("<I", kind) + _scalar(kind, value)

    def add(self, name, type_name, shape, data):
        number, block, block_bytes = TENSOR_TYPES[type_name]
        count = 1
        for extent in shape:
            count *= extent
        assert shape[-1] % block == 0, f"{name}: rows of {shape[-1]} are no whole {type_name} blocks"
        assert len(data) == count // block * block_bytes, f"{name}: {len(data)} bytes"
        self._tensors.append((name, number, tuple(shape), data))

    def write(self, path):
        head = [struct.pack("<4sIQQ", b"GGUF", 3, len(self._tensors), len(self._values))]
        head += [_string(key) + value for key, value in self._values.items()]
        offset = 0
        for name, number, shape, data in self._tensors:
            dims = struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
            head.append(_string(name) + dims + struct.pack("<IQ", number, offset))
            offset += len(data) + -len(data) % ALIGNMENT
        header = b"".join(head)
        with open(path, "wb") as file:
            file.write(header + bytes(-len(header) % ALIGNMENT))
            for _, _, _, data in self._tensors:
                file.write(data)
                file.write(bytes(-len(data) % ALIGNMENT))
