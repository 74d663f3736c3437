#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/blocks/iq{1,2,3}_grid_data.h, the lookup tables of the IQ blocks.

The values are facts of the GGUF format, taken from the PyPI package `gguf`. They are stored as one
number per row: element i is the i-th digit from the low end (2 bits for rows of eight, 3 bits for
rows of four), and a digit picks one of the levels. Run once; the output is committed.

    pip install gguf && python tools/make_iq_grids.py
"""

from pathlib import Path

import numpy
from gguf import quants

FOLDER = Path(__file__).resolve().parent.parent / "src" / "blocks"

FILES = {
    "iq1": [("Iq1", quants.IQ1_S, 8)],
    "iq2": [("Iq2Xxs", quants.IQ2_XXS, 8), ("Iq2Xs", quants.IQ2_XS, 8), ("Iq2S", quants.IQ2_S, 8)],
    "iq3": [("Iq3Xxs", quants.IQ3_XXS, 4), ("Iq3S", quants.IQ3_S, 4)],
}


def packed_rows(codec, width):
    codec.init_grid()
    levels = sorted(int(v) for v in codec.grid_map)
    rows = codec.grid.reshape(codec.grid_shape).astype(numpy.int64)
    bits = 2 if width == 8 else 3
    digits = numpy.searchsorted(levels, rows)
    assert (numpy.array(levels)[digits] == rows).all() and rows.shape[1] == width
    return levels, (digits << (bits * numpy.arange(width))).sum(axis=1)


def table(name, codec, width):
    levels, rows = packed_rows(codec, width)
    digits = 4 if width == 8 else 3
    lines = [f"inline constexpr uint16_t k{name}Rows[{len(rows)}] = {{"]
    per_line = 12
    for start in range(0, len(rows), per_line):
        lines.append("    " + " ".join(f"0x{row:0{digits}X}," for row in rows[start:start + per_line]))
    lines.append("};")
    lines.append(f"inline constexpr int8_t k{name}Levels[] = {{{', '.join(map(str, levels))}}};")
    return "\n".join(lines)


def main():
    for stem, tables in FILES.items():
        body = "\n\n".join(table(*entry) for entry in tables)
        (FOLDER / f"{stem}_grid_data.h").write_text(
            "// SPDX-License-Identifier: Apache-2.0\n"
            "// Made by tools/make_iq_grids.py: digits of levels, lowest element first.\n"
            "#pragma once\n\n#include <cstdint>\n\n"
            "namespace ingot {\n\n// clang-format off\n"
            f"{body}\n// clang-format on\n\n}}  // namespace ingot\n")


if __name__ == "__main__":
    main()
