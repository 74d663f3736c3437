// SPDX-License-Identifier: Apache-2.0
// Packing, once per weight at load. Each row is read in the file's order, its codes are spread over
// the planes four columns (one 32-bit word) at a time. The same plain code is built for each target
// that makes it faster: well under a nanosecond per 8 weights and core with AVX2.
#pragma once

#include <cstring>

#include "base/check.h"
#include "kernels/panel.h"
#include "kernels/panel_codes.h"
#include "kernels/panel_grid_codes.h"
#include "kernels/panel_quant.h"

namespace ingot {
namespace {

using Words = uint32_t[8];  // 32 codes, four columns each

// `bits` bits of every code from bit `from` on, each word at its place in a byte.
template <int Bits, int Count>
uint32_t gather(const uint32_t* words, int from) {
  constexpr uint32_t kMask = ((1u << Bits) - 1) * 0x01010101u;
  uint32_t result = 0;
  for (int i = 0; i < Count; ++i)
    result |= ((words[i] >> from) & kMask) << (i * Bits);
  return result;
}

void put(std::byte* line, int64_t row, uint32_t word) {
  std::memcpy(line + row * 4, &word, sizeof(word));
}

template <int Bits>
void write_run(const uint8_t* codes, std::byte* run, int64_t row) {
  Words words;
  std::memcpy(words, codes, sizeof(words));
  if constexpr (Bits == 8) {
    for (int64_t i = 0; i < 8; ++i)
      put(run + i * kLineBytes, row, words[i]);
    return;
  }
  if constexpr (Bits == 1) return put(run, row, gather<1, 8>(words, 0));
  constexpr int kLow = Bits >= 4 ? 4 : 2;
  if constexpr (kLow == 4) {
    for (int64_t i = 0; i < 4; ++i)
      put(run + i * kLineBytes, row, gather<4, 2>(words + 2 * i, 0));
  } else {
    for (int64_t i = 0; i < 2; ++i)
      put(run + i * kLineBytes, row, gather<2, 4>(words + 4 * i, 0));
  }
  std::byte* rest = run + kLow * kLineBytes;
  if constexpr (Bits - kLow == 1) put(rest, row, gather<1, 8>(words, kLow));
  if constexpr (Bits - kLow == 2) {
    for (int64_t i = 0; i < 2; ++i)
      put(rest + i * kLineBytes, row, gather<2, 4>(words + 4 * i, kLow));
  }
}

template <class Block>
Block block_at(const PanelSource& source, int64_t row, int64_t index) {
  Block block;
  std::memcpy(&block,
              source.weights + row * source.row_bytes + index * static_cast<int64_t>(sizeof(Block)),
              sizeof(Block));
  return block;
}

template <class Block, int Bits>
void pack_groups(const PanelSource& source, const PackingInfo& facts, const PanelShape& shape,
                 int64_t first_row, int64_t rows, std::byte* panel) {
  constexpr int64_t kParts = static_cast<int64_t>(Block::kGroup) / kRunColumns;
  const bool has_min = facts.form == ScaleForm::kHalvesAndMins;
  const bool is_pair = facts.form == ScaleForm::kPairs;
  const bool is_byte = facts.form == ScaleForm::kPowers || is_pair;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < source.cols / kRunColumns; ++i) {
      GroupCodes group;
      const auto block = block_at<Block>(source, first_row + row, i / kParts);
      if constexpr (kParts == 1) {
        read_codes(block, group);
      } else {
        read_codes(block, i % kParts, group);
      }
      std::byte* scales = panel + i / 8 * shape.block + i % 8 * facts.scale_bytes;
      if (is_byte) {
        scales[row] = static_cast<std::byte>(group.scale);
        if (is_pair) scales[kPanelRows + row] = static_cast<std::byte>(group.scale >> 8);
      } else {
        std::memcpy(scales + row * 2, &group.scale, 2);
        if (has_min) std::memcpy(scales + (kPanelRows + row) * 2, &group.min, 2);
      }
      write_run<Bits>(group.codes, panel + shape.run_at(i), row);
    }
  }
}

template <class Scales>
void write_group_scales(const BlockCodes& block, int64_t row, Scales& out) {
  constexpr bool kHasMin = requires {
    out.min_scales;
  };
  constexpr bool kHasMins = requires {
    out.group_mins;
  };
  constexpr int64_t kPairs = sizeof(out.group_scales) / 32;
  if constexpr (kHasMin) out.min_scales[row] = block.min_scale;
  for (int64_t i = 0; i < 2 * kPairs; ++i) {
    auto& scale = out.group_scales[i / 2][row * 2 + i % 2];
    using Byte = std::remove_reference_t<decltype(scale)>;
    if constexpr (kHasMin && !kHasMins) {
      scale = static_cast<Byte>(block.scales[i] | (block.mins[i] << 4));
    } else {
      scale = static_cast<Byte>(block.scales[i]);
    }
    if constexpr (kHasMins) out.group_mins[i / 2][row * 2 + i % 2] = block.mins[i];
  }
}

template <class Scales>
void write_scales(const BlockCodes& block, int64_t row, Scales& out) {
  constexpr bool kHasNibbles = requires {
    out.nibbles;
  };
  out.scales[row] = block.scale;
  if constexpr (kHasNibbles) {
    for (int64_t i = 0; i < static_cast<int64_t>(sizeof(out.nibbles)) / kPanelRows; ++i)
      out.nibbles[i][row] = byte(block.scales[2 * i] | (block.scales[2 * i + 1] << 4));
  } else if constexpr (requires { out.group_scales; }) {
    write_group_scales(block, row, out);
  }
}

template <class Block, class Scales, int Bits>
void pack_blocks(const PanelSource& source, const PanelShape& shape, int64_t first_row,
                 int64_t rows, std::byte* panel) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < source.cols / kBlockColumns; ++i) {
      BlockCodes block;
      read_codes(block_at<Block>(source, first_row + row, i), block);
      auto* scales = reinterpret_cast<Scales*>(panel + i * shape.block);
      write_scales(block, row, *scales);
      for (int64_t run = 0; run < 8; ++run)
        write_run<Bits>(block.codes + run * 32, panel + shape.run_at(i * 8 + run), row);
    }
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

template <int Bits>
void pack_quant_groups(const QuantTensor& tensor, const PackingInfo& facts, const PanelShape& shape,
                       int64_t first_row, int64_t rows, std::byte* panel) {
  for (int64_t i = 0; i < tensor.cols / kRunColumns; ++i) {
    std::byte* scales = panel + i / 8 * shape.block + i % 8 * facts.scale_bytes;
    std::byte* run = panel + shape.run_at(i);
    for (int64_t row = 0; row < rows; ++row) {
      uint8_t codes[32];
      const int64_t from = file_row(tensor, first_row + row);
      read_run_codes<Bits>(tensor, from, i, codes);
      write_scale(tensor, from, i, facts, row, scales);
      write_run<Bits>(codes, run, row);
    }
  }
}

void pack_quant(const QuantTensor& tensor, const PackingInfo& facts, const PanelShape& shape,
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
    case Packing::kRows:
    case Packing::kF8:
    case Packing::kF8Pairs:
    case Packing::kGroups2Zero:
    case Packing::kGroups3Zero:
    case Packing::kGroups4Zero:
    case Packing::kGroups8Zero:
    case Packing::kGroupsNf4:
    case Packing::kGroupsBnbFp4:
      break;  // of no layout
    case Packing::kF32:
      return pack_elements<uint32_t>(source, first_row, rows, out);
    case Packing::kF16:
    case Packing::kBF16:
      return pack_elements<uint16_t>(source, first_row, rows, out);
    case Packing::kBF16Pairs:
      return pack_pairs(source, first_row, rows, out);
    case Packing::kGroups4:
      return pack_groups<Q4_0, 4>(source, facts, shape, first_row, rows, out);
    case Packing::kGroups4Min:
      return pack_groups<Q4_1, 4>(source, facts, shape, first_row, rows, out);
    case Packing::kGroups5:
      return pack_groups<Q5_0, 5>(source, facts, shape, first_row, rows, out);
    case Packing::kGroups5Min:
      return pack_groups<Q5_1, 5>(source, facts, shape, first_row, rows, out);
    case Packing::kGroups8:
      return pack_groups<Q8_0, 8>(source, facts, shape, first_row, rows, out);
    case Packing::kGroups1:
      return pack_groups<Q1_0, 1>(source, facts, shape, first_row, rows, out);
    case Packing::kGroups2:
      return pack_groups<Q2_0, 2>(source, facts, shape, first_row, rows, out);
    case Packing::kGroupsNvfp4:
      return pack_groups<NVFP4, 4>(source, facts, shape, first_row, rows, out);
    case Packing::kGroupsIq4:
      return pack_groups<IQ4_NL, 4>(source, facts, shape, first_row, rows, out);
    case Packing::kGroupsFp4:
      return pack_groups<MXFP4, 4>(source, facts, shape, first_row, rows, out);
    case Packing::kBlocks2Min:
      return pack_blocks<Q2_K, BlockScales4, 2>(source, shape, first_row, rows, out);
    case Packing::kBlocks3:
      return pack_blocks<Q3_K, BlockScales16, 3>(source, shape, first_row, rows, out);
    case Packing::kBlocks4Min:
      return pack_blocks<Q4_K, BlockScales32, 4>(source, shape, first_row, rows, out);
    case Packing::kBlocks5Min:
      return pack_blocks<Q5_K, BlockScales32, 5>(source, shape, first_row, rows, out);
    case Packing::kBlocks6:
      return pack_blocks<Q6_K, BlockScales16, 6>(source, shape, first_row, rows, out);
    case Packing::kBlocksIq4:
      return pack_blocks<IQ4_XS, BlockScalesIq4, 4>(source, shape, first_row, rows, out);
    case Packing::kBlocks2:
      if (source.layout == Layout::kTQ1_0)
        return pack_blocks<TQ1_0, BlockScalesOne, 2>(source, shape, first_row, rows, out);
      return pack_blocks<TQ2_0, BlockScalesOne, 2>(source, shape, first_row, rows, out);
    case Packing::kBlocksIq1:
      return pack_blocks<IQ1_S, BlockShifts32, 2>(source, shape, first_row, rows, out);
    case Packing::kBlocksIq1M:
      return pack_blocks<IQ1_M, BlockNibbles16, 3>(source, shape, first_row, rows, out);
    case Packing::kBlocksIq2:
      if (source.layout == Layout::kIQ2_XXS)
        return pack_blocks<IQ2_XXS, BlockNibbles16, 3>(source, shape, first_row, rows, out);
      if (source.layout == Layout::kIQ2_XS)
        return pack_blocks<IQ2_XS, BlockNibbles16, 3>(source, shape, first_row, rows, out);
      return pack_blocks<IQ2_S, BlockNibbles16, 3>(source, shape, first_row, rows, out);
    case Packing::kBlocksIq3Xxs:
      return pack_blocks<IQ3_XXS, BlockNibbles32, 4>(source, shape, first_row, rows, out);
    case Packing::kBlocksIq3S:
      return pack_blocks<IQ3_S, BlockNibbles32, 4>(source, shape, first_row, rows, out);
  }
}

// All panels of [begin, end).
void pack_all(const PanelSource& source, Packing packing, int64_t begin, int64_t end,
              std::byte* out) {
  INGOT_CHECK(packing != Packing::kRows);
  const PanelShape shape = panel_shape(packing, source.cols);
  const PackingInfo& facts = info(packing);
  for (int64_t panel = begin; panel < end; ++panel) {
    const int64_t first_row = panel * kPanelRows;
    const int64_t left = source.rows - first_row;
    const int64_t rows = left < kPanelRows ? left : kPanelRows;
    std::byte* to = out + panel * shape.panel;
    const bool has_gaps = rows < kPanelRows || facts.activation == ActivationLayout::kBF16;
    if (has_gaps) std::memset(to, 0, static_cast<size_t>(shape.panel));
    if (source.quant != nullptr) {
      pack_quant(*source.quant, facts, shape, first_row, rows, to);
    } else {
      pack_panel(source, facts, shape, first_row, rows, to);
    }
  }
}

}  // namespace
}  // namespace ingot
