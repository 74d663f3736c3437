// SPDX-License-Identifier: Apache-2.0
// Weights that are rounded to bytes as they are packed, so that their prompts run as fast as those
// of GGUF's types of as many bits. Only models that take time are packed so, and only those whose
// user did not choose a --dtype.
//   e4m3  kGroups8: the largest of 32 columns becomes 64 to 120 in units of a power of two, which
//         is exact, as are all from an eighth of it on; others are off by half a unit at most
//   NF4   kGroupsNf4Bytes: the codes as they are, levels of one byte
//   FP4 of bitsandbytes  kGroupsFp4Bytes: the same
// Scales become halves of a unit that the outputs are multiplied by.
#pragma once

#include <cmath>
#include <cstring>

#include "base/float_types.h"
#include "kernels/code_levels.h"
#include "kernels/panel.h"
#include "kernels/panel_quant.h"
#include "tensor/quant_tensor.h"

namespace ingot {
namespace {

// 32 codes of e4m3 as bytes above 128. Returns what their scale is multiplied by.
inline float e4m3_to_bytes(uint8_t (&codes)[32]) {
  uint32_t largest = 0;
  for (const uint8_t code : codes)
    largest = (code & 0x7Fu) > largest ? code & 0x7Fu : largest;
  const bool is_number = largest != 0x7F;
  // A code is f * 2^(e - 10), 0 <= f < 16 and e at least 1; its byte is f * 8 / 2^(top - e).
  const uint32_t top = largest >> 3 == 0 ? 1 : largest >> 3;
  for (uint8_t& code : codes) {
    const uint32_t e = (code >> 3) & 15u;
    const uint32_t f = (code & 7u) | (e == 0 ? 0u : 8u);
    const uint32_t below = (top - (e == 0 ? 1u : e)) & 15u;
    const uint32_t size = (f * 8 + ((1u << below) >> 1)) >> below;
    const uint32_t byte = code >= 0x80 ? 128 - size : 128 + size;
    code = static_cast<uint8_t>(is_number ? byte : 128);
  }
  return is_number ? std::ldexp(1.0F, static_cast<int>(top) - 13) : std::nanf("");
}

// What the packing's levels of one byte are divided by.
inline float unit_of_levels(Packing packing) {
  return packing == Packing::kGroupsNf4Bytes ? kNf4BytesUnit : kBnbFp4BytesUnit;
}

template <int Bits>
void pack_rounded_run(const QuantCodes& tensor, int64_t row, int64_t run, float unit,
                      const PackingInfo& facts, const PanelShape& shape, std::byte* panel,
                      int64_t lane) {
  uint8_t codes[32];
  read_run_codes<Bits>(tensor, row, run, codes);
  float scale = tensor.scales[row * tensor.groups + run * 32 / tensor.group_columns] / unit;
  scale *= Bits == 8 ? e4m3_to_bytes(codes) : 1 / unit_of_levels(facts.packing);
  put(panel + run / 8 * shape.block + run % 8 * facts.scale_bytes, lane, to_half(scale).bits);
  write_run<Bits>(codes, panel + shape.run_at(run), lane);
}

template <int Bits>
void pack_rounded(const QuantCodes& tensor, float unit, const PackingInfo& facts,
                  const PanelShape& shape, int64_t first_row, int64_t rows, std::byte* panel) {
  for (int64_t i = 0; i < tensor.cols / kRunColumns; ++i) {
    for (int64_t row = 0; row < rows; ++row)
      pack_rounded_run<Bits>(tensor, file_row(tensor, first_row + row), i, unit, facts, shape,
                             panel, row);
  }
}

}  // namespace
}  // namespace ingot
