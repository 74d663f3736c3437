#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/blocks: random blocks of every packed layout and what they decode to.

    pip install gguf numpy && python tools/make_block_fixtures.py

NAME.blocks     the stored bytes: random codes under finite scales. The first scales are the edges of
                fp16; IQ blocks run through every row of their table, MXFP4 through every scale
                but NaN, NVFP4 through every code.
NAME.f32        the first decoded floats, so that a failing test can show which element is wrong.
expected.json   per layout: the number of elements, and the FNV-1a hash (64 bits) of all of them as
                little-endian float32.

Expected values come from the PyPI package `gguf`, with the formulas of docs/formats/blocks.md for
the layouts it does not decode (Q8_1, Q8_K, Q1_0, Q2_0).
"""

import json
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, quants

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "data" / "blocks"
SHOWN = 1024
EDGE_SCALES = [0x0001, 0x8001, 0x03FF, 0x0400, 0x7BFF, 0xFBFF, 0x0000, 0x8000, 0x3C00, 0xBC00]

# name: (elements, bytes, offsets of the fp16 scales, number of blocks)
LAYOUTS = {
    "Q4_0": (32, 18, [0], 96), "Q4_1": (32, 20, [0, 2], 96), "Q5_0": (32, 22, [0], 96),
    "Q5_1": (32, 24, [0, 2], 96), "Q8_0": (32, 34, [0], 96), "Q8_1": (32, 36, [0, 2], 96),
    "Q2_K": (256, 84, [80, 82], 24), "Q3_K": (256, 110, [108], 24), "Q4_K": (256, 144, [0, 2], 24),
    "Q5_K": (256, 176, [0, 2], 24), "Q6_K": (256, 210, [208], 24), "Q8_K": (256, 292, [], 12),
    "IQ1_S": (256, 50, [0], 64), "IQ1_M": (256, 56, [], 64), "IQ2_XXS": (256, 66, [0], 24),
    "IQ2_XS": (256, 74, [0], 24), "IQ2_S": (256, 82, [0], 40), "IQ3_XXS": (256, 98, [0], 24),
    "IQ3_S": (256, 110, [0], 24), "IQ4_NL": (32, 18, [0], 96), "IQ4_XS": (256, 136, [0], 24),
    "TQ1_0": (256, 54, [52], 24), "TQ2_0": (256, 66, [64], 24), "MXFP4": (32, 17, [], 255),
    "NVFP4": (64, 36, [], 64), "Q1_0": (128, 18, [0], 48), "Q2_0": (64, 18, [0], 64),
}


def random_halves(rng, count):
    """fp16 bits of finite numbers of either sign, the edges first."""
    bits = rng.integers(0, 0x7C00, count, dtype=np.uint16)
    bits |= rng.integers(0, 2, count, dtype=np.uint16) << np.uint16(15)
    bits[:len(EDGE_SCALES)] = EDGE_SCALES[:count]
    return bits


def put_row_indices(name, blocks):
    """Every row of an IQ table at least once: consecutive indices in place of random ones."""
    count = len(blocks)
    if name == "IQ1_S":
        index = np.arange(count * 32).reshape(count, 32) % 2048
        blocks[:, 2:34] = index & 0xFF
        high = (index >> 8).reshape(count, 8, 4)
        words = blocks[:, 34:50].copy().view(np.uint16) & np.uint16(0xF000)
        words |= (high << (3 * np.arange(4))).sum(axis=2).astype(np.uint16)
        blocks[:, 34:50] = words.view(np.uint8)
    elif name == "IQ1_M":
        index = np.arange(count * 32).reshape(count, 32) % 2048
        blocks[:, 0:32] = index & 0xFF
        high = (index >> 8).reshape(count, 16, 2)
        blocks[:, 32:48] = (blocks[:, 32:48] & 0x88) | (high[..., 0] | high[..., 1] << 4)
    elif name == "IQ2_XXS":
        index = np.arange(count * 32).reshape(count, 8, 4) % 256
        blocks[:, 2:].reshape(count, 8, 8)[:, :, :4] = index
    elif name == "IQ2_XS":
        index = (np.arange(count * 32).reshape(count, 32) % 512).astype(np.uint16)
        words = (blocks[:, 2:66].copy().view(np.uint16) & np.uint16(0xFE00)) | index
        blocks[:, 2:66] = words.view(np.uint8)
    elif name == "IQ2_S":
        index = np.arange(count * 32).reshape(count, 32) % 1024
        blocks[:, 2:34] = index & 0xFF
        blocks[:, 66:74] = ((index >> 8).reshape(count, 8, 4) << (2 * np.arange(4))).sum(axis=2)
    elif name == "IQ3_XXS":
        blocks[:, 2:66] = np.arange(count * 64).reshape(count, 64) % 256
    elif name == "IQ3_S":
        index = np.arange(count * 64).reshape(count, 64) % 512
        blocks[:, 2:66] = index & 0xFF
        blocks[:, 66:74] = ((index >> 8).reshape(count, 8, 8) << np.arange(8)).sum(axis=2)


def random_blocks(name, rng):
    elements, size, half_offsets, count = LAYOUTS[name]
    blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    for offset in half_offsets:
        blocks[:, offset:offset + 2] = random_halves(rng, count).view(np.uint8).reshape(count, 2)
    if name == "Q8_K":
        scales = (rng.standard_normal(count) * 10.0 ** rng.integers(-30, 30, count)).astype("<f4")
        blocks[:, :4] = scales.view(np.uint8).reshape(count, 4)
    elif name == "IQ1_M":
        scale = random_halves(rng, count)[:, None]
        words = blocks[:, 48:56].copy().view(np.uint16) & np.uint16(0x0FFF)
        words |= ((scale >> (4 * np.arange(4)).astype(np.uint16)) & np.uint16(0xF)) << np.uint16(12)
        blocks[:, 48:56] = words.view(np.uint8)
    elif name == "MXFP4":
        blocks[:, 0] = np.arange(count)
    elif name == "NVFP4":
        blocks[:, :4] = np.arange(count * 4).reshape(count, 4)
    put_row_indices(name, blocks)
    return blocks


def decode(name, blocks):
    count = len(blocks)
    half = lambda offset: blocks[:, offset:offset + 2].copy().view("<f2").astype(np.float32)
    if name == "Q8_1":
        return half(0) * blocks[:, 4:].view(np.int8).astype(np.float32)
    if name == "Q8_K":
        scale = blocks[:, :4].copy().view("<f4")
        return scale * blocks[:, 4:260].copy().view(np.int8).astype(np.float32)
    if name == "Q1_0":
        bits = np.unpackbits(blocks[:, 2:], axis=1, bitorder="little")
        return np.where(bits != 0, half(0), -half(0))
    if name == "Q2_0":
        codes = (blocks[:, 2:, None] >> np.array([0, 2, 4, 6], np.uint8)) & np.uint8(3)
        return half(0) * (codes.reshape(count, 64).astype(np.float32) - np.float32(1))
    return quants.dequantize(blocks, GGMLQuantizationType[name])


def fnv1a(data):
    digest = 0xCBF29CE484222325
    for byte in data:
        digest = ((digest ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return digest


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    expected = {}
    for seed, name in enumerate(LAYOUTS):
        blocks = random_blocks(name, np.random.default_rng(seed))
        with np.errstate(over="ignore"):  # the largest MXFP4 scales reach infinity, as they must
            values = np.ascontiguousarray(decode(name, blocks), dtype="<f4").reshape(-1)
        (FOLDER / f"{name}.blocks").write_bytes(blocks.tobytes())
        (FOLDER / f"{name}.f32").write_bytes(values[:SHOWN].tobytes())
        expected[name] = {"elements": values.size, "fnv1a": f"{fnv1a(values.tobytes()):016x}"}
    (FOLDER / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
