// SPDX-License-Identifier: Apache-2.0
// Packing on the processor, once per weight at load: panels of any packing, their units one after
// another, each row in the file's order. The same plain code is built for each target that makes it
// faster: well under a nanosecond per 8 weights and core with AVX2.
#pragma once

#include <cstring>

#include "base/check.h"
#include "kernels/panel.h"
#include "kernels/panel_quant.h"
#include "kernels/panel_rounded.h"
#include "kernels/panel_units.h"
#include "tensor/quant_tensor.h"

namespace ingot {
namespace {

// Units [first, end) of a panel's rows, several rows at a time where that pays.
template <class Unit>
void pack_units_of(const PanelSource& source, const PanelShape& shape, int64_t first_row,
                   int64_t rows, int64_t first, int64_t end, std::byte* panel) {
  const std::byte* from = source.weights + first_row * source.row_bytes;
  int64_t row = 0;
#ifdef __AVX2__
  if constexpr (Unit::kHasLanes) {
    for (; row + kLaneRows <= rows; row += kLaneRows)
      for (int64_t unit = first; unit < end; ++unit)
        Unit::pack_lanes(from + row * source.row_bytes, source.row_bytes, unit, shape, panel, row);
  }
#endif
  for (; row < rows; ++row)
    for (int64_t unit = first; unit < end; ++unit)
      Unit::pack(from + row * source.row_bytes, unit, shape, panel, row);
}

// A few units of every row at a time: the lines that are written stay in the first cache for all
// rows, and each row is read in order. Flat: a unit that is called costs a third of the speed.
template <class Unit>
[[gnu::flatten]] void pack_units(const PanelSource& source, const PanelShape& shape,
                                 int64_t first_row, int64_t rows, std::byte* panel) {
  constexpr int64_t kTogether = 1024 / Unit::kColumns;
  const int64_t units = source.cols / Unit::kColumns;
  for (int64_t first = 0; first < units; first += kTogether) {
    const int64_t end = first + kTogether < units ? first + kTogether : units;
    pack_units_of<Unit>(source, shape, first_row, rows, first, end, panel);
  }
}

template <class Element>
void pack_elements(const PanelSource& source, int64_t first_row, int64_t rows, std::byte* panel) {
  // Sixteen columns at a time: the lines that are written stay in the cache for all rows.
  for (int64_t first = 0; first < source.cols; first += 16) {
    const int64_t end = first + 16 < source.cols ? first + 16 : source.cols;
    for (int64_t row = 0; row < rows; ++row) {
      const std::byte* from = source.weights + (first_row + row) * source.row_bytes;
      for (int64_t col = first; col < end; ++col)
        std::memcpy(panel + (col * kPanelRows + row) * static_cast<int64_t>(sizeof(Element)),
                    from + col * static_cast<int64_t>(sizeof(Element)), sizeof(Element));
    }
  }
}

// The panel is zeros before.
inline void pack_pairs(const PanelSource& source, int64_t first_row, int64_t rows,
                       std::byte* panel) {
  for (int64_t first = 0; first < source.cols; first += 16) {
    const int64_t end = first + 16 < source.cols ? first + 16 : source.cols;
    for (int64_t row = 0; row < rows; ++row) {
      const std::byte* from = source.weights + (first_row + row) * source.row_bytes;
      for (int64_t col = first; col < end; ++col)
        std::memcpy(panel + ((col / 2 * kPanelRows + row) * 2 + col % 2) * 2, from + col * 2, 2);
    }
  }
}

// Floats of 16 bits: f * 2^(e - kBias) with f of Mantissa + 1 bits, and e at least 1.
template <uint32_t Mantissa, uint32_t Bias>
struct Bits16 {
  static constexpr uint32_t kMantissa = Mantissa;
  static constexpr uint32_t kInfinity = 0x7FFF >> Mantissa << Mantissa;
  static constexpr uint32_t kShift = 12 - Mantissa;  // so that the largest f has 13 bits
  // The power of two that a code of the exponent `top` is times, as a float has it.
  static constexpr int32_t power_of(uint32_t top) {
    return static_cast<int32_t>(top + 127) - static_cast<int32_t>(Bias + kShift);
  }
};
using HalfBits = Bits16<10, 25>;
using BFloatBits = Bits16<7, 134>;

// kF16Words: the largest of 128 becomes 4096 to 8188, which is exact, and so are all that are not
// less than a quarter of it (of bf16 a thirty-second). Where one is no number the exponent is
// infinity's and codes are zeros: outputs are no numbers then. What no float's exponent scales,
// bf16 below 2^-114, is zero.
template <class Bits>
inline void pack_words(const PanelSource& source, int64_t first_row, int64_t rows,
                       std::byte* panel) {
  constexpr int64_t kColumns = 128;
  constexpr uint32_t kOne = 1u << Bits::kMantissa;
  for (int64_t first = 0; first < source.cols; first += kColumns) {
    std::byte* block =
        panel + first / kBlockColumns * (kLineBytes + kBlockColumns * kPanelRows * 2);
    const int64_t part = first % kBlockColumns / kColumns;
    std::byte* codes = block + kLineBytes + part * kColumns * kPanelRows * 2;
    for (int64_t row = 0; row < rows; ++row) {
      uint16_t floats[kColumns];
      std::memcpy(floats, source.weights + (first_row + row) * source.row_bytes + first * 2,
                  sizeof(floats));
      uint32_t largest = 0;
      for (const uint16_t bits : floats)
        largest = (bits & 0x7FFFu) > largest ? bits & 0x7FFFu : largest;
      const uint32_t top = largest < kOne ? 1 : largest >> Bits::kMantissa;
      const int32_t power = Bits::power_of(top);
      const bool is_finite = largest < Bits::kInfinity;
      const bool is_usable = is_finite && largest > 0 && power > 0;
      block[part * kPanelRows + row] = static_cast<std::byte>(!is_finite  ? 255
                                                              : is_usable ? power
                                                                          : 0);
      int16_t words[kColumns];
      for (int64_t i = 0; i < kColumns; ++i) {
        const uint32_t bits = floats[i];
        const uint32_t e = (bits & 0x7FFFu) >> Bits::kMantissa;
        const uint32_t f = (bits & (kOne - 1)) | (e == 0 ? 0u : kOne);
        const uint32_t apart = top - (e == 0 ? 1 : e);
        const uint32_t below = apart < 31 ? apart : 31;
        const uint32_t half = (1u << below) >> 1;
        const auto size = static_cast<int32_t>(((f << Bits::kShift) + half) >> below);
        words[i] = static_cast<int16_t>(!is_usable ? 0 : bits >= 0x8000 ? -size : size);
      }
      for (int64_t i = 0; i < kColumns; i += 2)
        std::memcpy(codes + (i / 2 * kPanelRows + row) * 4, words + i, 4);
    }
  }
}

// kF8Pairs: a line is four columns in the order that interleaving bytes makes pairs of.
inline int64_t f8_pair_at(int64_t row, int64_t col) {
  return col / 4 * kLineBytes + row / 4 * 16 + col % 4 / 2 * 8 + row % 4 * 2 + col % 2;
}

inline void pack_f8(const QuantCodes& tensor, bool is_pairs, int64_t first_row, int64_t rows,
                    std::byte* panel) {
  // The kernels of kF8 read a code as a half, which is 256 times too small.
  const float unit = is_pairs ? 1 : 256;
  const int64_t groups = tensor.groups;
  for (int64_t first = 0; first < tensor.cols; first += kSpanColumns) {
    const int64_t left = tensor.cols - first;
    const int64_t cols = left < kSpanColumns ? left : kSpanColumns;
    std::byte* codes = panel + 4 * kPanelRows;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t from = file_row(tensor, first_row + row);
      const float scale = tensor.scales[from * groups + first / tensor.group_columns] * unit;
      std::memcpy(panel + row * 4, &scale, sizeof(scale));
      const std::byte* in = tensor.codes + from * tensor.cols + first;
      for (int64_t col = 0; col < cols; ++col)
        codes[is_pairs ? f8_pair_at(row, col) : col * kPanelRows + row] = in[col];
    }
    panel = codes + cols * kPanelRows;  // only the last span may be padded after it
  }
}

template <int Bits>
void pack_quant_groups(const QuantCodes& tensor, const PackingInfo& facts, const PanelShape& shape,
                       int64_t first_row, int64_t rows, std::byte* panel) {
  for (int64_t i = 0; i < tensor.cols / kRunColumns; ++i) {
    for (int64_t row = 0; row < rows; ++row)
      pack_quant_run<Bits>(tensor, file_row(tensor, first_row + row), i, facts, shape, panel, row);
  }
}

void pack_quant(const QuantCodes& tensor, const PackingInfo& facts, const PanelShape& shape,
                int64_t first_row, int64_t rows, std::byte* panel) {
  if (is_e4m3(facts.packing))
    return pack_f8(tensor, facts.packing == Packing::kF8Pairs, first_row, rows, panel);
  switch (facts.bits) {
    case 2:
      return pack_quant_groups<2>(tensor, facts, shape, first_row, rows, panel);
    case 3:
      return pack_quant_groups<3>(tensor, facts, shape, first_row, rows, panel);
    case 4:
      return pack_quant_groups<4>(tensor, facts, shape, first_row, rows, panel);
    default:
      return pack_quant_groups<8>(tensor, facts, shape, first_row, rows, panel);
  }
}

void pack_panel(const PanelSource& source, const PackingInfo& facts, const PanelShape& shape,
                int64_t first_row, int64_t rows, std::byte* out) {
  switch (facts.packing) {
    case Packing::kF32:
      return pack_elements<uint32_t>(source, first_row, rows, out);
    case Packing::kF16:
    case Packing::kBF16:
      return pack_elements<uint16_t>(source, first_row, rows, out);
    case Packing::kBF16Pairs:
      return pack_pairs(source, first_row, rows, out);
    case Packing::kF16Words:
      return source.layout == Layout::kBF16 ? pack_words<BFloatBits>(source, first_row, rows, out)
                                            : pack_words<HalfBits>(source, first_row, rows, out);
    default:
      INGOT_CHECK(visit_unit(source.layout, [&]<class Unit>() {
        INGOT_CHECK(Unit::kPacking == facts.packing);
        pack_units<Unit>(source, shape, first_row, rows, out);
      }));
  }
}

// All panels of [begin, end).
void pack_all(const PanelSource& source, Packing packing, int64_t begin, int64_t end,
              std::byte* out) {
  INGOT_CHECK(packing != Packing::kRows);
  const PanelShape shape = panel_shape(packing, source.cols);
  const PackingInfo& facts = info(packing);
  const QuantCodes quant = source.quant == nullptr ? QuantCodes{} : source.quant->view();
  for (int64_t panel = begin; panel < end; ++panel) {
    const int64_t first_row = panel * kPanelRows;
    const int64_t left = source.rows - first_row;
    const int64_t rows = left < kPanelRows ? left : kPanelRows;
    std::byte* to = out + panel * shape.panel;
    const bool has_gaps = rows < kPanelRows || facts.activation == ActivationLayout::kBF16;
    if (has_gaps) std::memset(to, 0, static_cast<size_t>(shape.panel));
    if (source.quant != nullptr && is_rounded(*source.quant, packing)) {
      if (facts.bits == 8) pack_rounded<8>(quant, source.unit, facts, shape, first_row, rows, to);
      if (facts.bits == 4) pack_rounded<4>(quant, source.unit, facts, shape, first_row, rows, to);
    } else if (source.quant != nullptr) {
      pack_quant(quant, facts, shape, first_row, rows, to);
    } else {
      pack_panel(source, facts, shape, first_row, rows, to);
    }
  }
}

}  // namespace
}  // namespace ingot
