# SPDX-License-Identifier: Apache-2.0
"""What a GGUF file makes a processor read: the bytes of weights that one generated token needs.

Reads the header alone. Every matrix counts, but the embedding only where it is the output head too
(a token looks up one row of it).
"""

import struct
from pathlib import Path

# ggml type: (weights in a block, bytes of a block), docs/formats/gguf.md.
BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210),
    20: (32, 18), 23: (256, 136), 30: (1, 2), 39: (32, 17),
}  # fmt: skip
FIXED = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9


class Reader:
    def __init__(self, path: Path):
        self.file = path.open("rb")

    def number(self, form: str) -> int:
        return struct.unpack("<" + form, self.file.read(struct.calcsize("<" + form)))[0]

    def text(self) -> str:
        return self.file.read(self.number("Q")).decode(errors="replace")

    def skip(self, kind: int) -> None:
        if kind == STRING:
            self.file.seek(self.number("Q"), 1)
        elif kind == ARRAY:
            of, count = self.number("I"), self.number("Q")
            if of in FIXED:
                self.file.seek(FIXED[of] * count, 1)
            else:
                for _ in range(count):
                    self.skip(of)
        else:
            self.file.seek(FIXED[kind], 1)


def bytes_per_token(path: Path) -> int:
    reader = Reader(path)
    if reader.file.read(4) != b"GGUF":
        raise ValueError(f"{path} is not a GGUF file")
    reader.number("I")
    tensors, pairs = reader.number("Q"), reader.number("Q")
    for _ in range(pairs):
        reader.text()
        reader.skip(reader.number("I"))
    sizes = {}
    for _ in range(tensors):
        name = reader.text()
        weights = 1
        for _ in range(reader.number("I")):
            weights *= reader.number("Q")
        per_block, block_bytes = BLOCKS[reader.number("I")]
        reader.number("Q")
        sizes[name] = weights // per_block * block_bytes
    if "output.weight" in sizes:
        sizes.pop("token_embd.weight", None)
    return sum(sizes.values())
