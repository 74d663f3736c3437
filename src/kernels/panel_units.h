// SPDX-License-Identifier: Apache-2.0
// What one row of a file's blocks is in its panel, unit by unit: 32 columns, or 256 where scales
// are for so many. The processor packs a panel's units one after another (panel_packer.h), a GPU
// with a thread for each (cuda/pack_rows.cu). One list says which layout is packed how. In an
// anonymous namespace on purpose: it is built once for each target, GPUs among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/target_code.h"
#include "blocks/layout_id.h"
#include "kernels/packing.h"
#include "kernels/panel_codes.h"
#include "kernels/panel_grid_codes.h"
#include "kernels/panel_lanes.h"
#include "kernels/panel_run.h"

namespace ingot {
namespace {

#ifdef __CUDACC__
// Where it lies: rows of whole blocks begin at multiples of a block's size there.
template <class Block>
__device__ const Block& block_at(const std::byte* row, int64_t index) {
  return reinterpret_cast<const Block*>(row)[index];
}
#else
// A copy: files may have it at any address.
template <class Block>
Block block_at(const std::byte* row, int64_t index) {
  Block block;
  std::memcpy(&block, row + index * static_cast<int64_t>(sizeof(Block)), sizeof(Block));
  return block;
}
#endif

// 32 columns of a row, whose scale stands alone.
template <Packing kOwnPacking, class Block>
struct GroupUnit {
  static constexpr Packing kPacking = kOwnPacking;
  static constexpr Layout kLayout = Block::kLayout;
  static constexpr int64_t kColumns = kRunColumns;
  static constexpr PackingInfo kFacts = packing_info(kPacking);
  static constexpr int64_t kParts = static_cast<int64_t>(Block::kGroup) / kRunColumns;
  static constexpr bool kHasLanes = false;

  INGOT_TARGET_CODE static void pack(const std::byte* row, int64_t unit, const PanelShape& shape,
                                     std::byte* panel, int64_t lane) {
    GroupCodes group;
    const Block& block = block_at<Block>(row, unit / kParts);
    if constexpr (kParts == 1) {
      read_codes(block, group);
    } else {
      read_codes(block, unit % kParts, group);
    }
    std::byte* scales = panel + unit / 8 * shape.block + unit % 8 * kFacts.scale_bytes;
    if constexpr (kFacts.form == ScaleForm::kPowers || kFacts.form == ScaleForm::kPairs) {
      put(scales, lane, static_cast<uint8_t>(group.scale));
      if constexpr (kFacts.form == ScaleForm::kPairs)
        put(scales + kPanelRows, lane, static_cast<uint8_t>(group.scale >> 8));
    } else {
      put(scales, lane, group.scale);
      if constexpr (kFacts.form == ScaleForm::kHalvesAndMins)
        put(scales + 2 * kPanelRows, lane, group.min);
    }
    write_run<kFacts.bits>(group.codes, panel + shape.run_at(unit), lane);
  }
};

template <class Scales>
INGOT_TARGET_CODE void write_group_scales(const BlockCodes& block, int64_t row, Scales& out) {
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
INGOT_TARGET_CODE void write_scales(const BlockCodes& block, int64_t row, Scales& out) {
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

// 256 columns of a row.
template <Packing kOwnPacking, class Block, class Scales>
struct BlockUnit {
  static constexpr Packing kPacking = kOwnPacking;
  static constexpr Layout kLayout = Block::kLayout;
  static constexpr int64_t kColumns = kBlockColumns;
  static constexpr bool kHasLanes = requires { BlockWords<Block>::kWords; };
  static_assert(Block::kGroup == kColumns);

  INGOT_TARGET_CODE static void pack(const std::byte* row, int64_t unit, const PanelShape& shape,
                                     std::byte* panel, int64_t lane) {
    constexpr int kBits = packing_info(kPacking).bits;
    BlockCodes block;
    read_codes(block_at<Block>(row, unit), block);
    write_scales(block, lane, *reinterpret_cast<Scales*>(panel + unit * shape.block));
    for (int64_t run = 0; run < 8; ++run)
      write_run<kBits>(block.codes + run * 32, panel + shape.run_at(unit * 8 + run), lane);
  }

#ifdef __AVX2__
  // Rows [lane, lane + 8) of a panel, which begin row_bytes apart, at once.
  static void pack_lanes(const std::byte* rows, int64_t row_bytes, int64_t unit,
                         const PanelShape& shape, std::byte* panel,
                         int64_t lane) requires kHasLanes {
    using Words = BlockWords<Block>;
    constexpr int kBits = packing_info(kPacking).bits;
    const std::byte* codes = rows + unit * static_cast<int64_t>(sizeof(Block)) + Words::kAt;
    Lanes in[Words::kWords];
    for (int64_t i = 0; i < Words::kWords; i += 8)
      turn_words(codes + i * 4, row_bytes, in + i);
    Lanes words[kBlockWords];
    Words::read(in, words);
    for (int64_t run = 0; run < 8; ++run)
      write_words<kBits>(words + run * 8, panel + shape.run_at(unit * 8 + run), lane / kLaneRows);
    auto& scales = *reinterpret_cast<Scales*>(panel + unit * shape.block);
    for (int64_t i = 0; i < kLaneRows; ++i) {
      BlockCodes block;
      read_factors(block_at<Block>(rows + i * row_bytes, unit), block);
      write_scales(block, lane + i, scales);
    }
  }
#endif
};

template <class... Units>
struct UnitList {
  template <class Visitor>
  static bool visit(Layout layout, const Visitor& visitor) {
    return ((layout == Units::kLayout && (visitor.template operator()<Units>(), true)) || ...);
  }
};

using PanelUnits =
    UnitList<GroupUnit<Packing::kGroups4, Q4_0>, GroupUnit<Packing::kGroups4Min, Q4_1>,
             GroupUnit<Packing::kGroups5, Q5_0>, GroupUnit<Packing::kGroups5Min, Q5_1>,
             GroupUnit<Packing::kGroups8, Q8_0>, GroupUnit<Packing::kGroups1, Q1_0>,
             GroupUnit<Packing::kGroups2, Q2_0>, GroupUnit<Packing::kGroupsNvfp4, NVFP4>,
             GroupUnit<Packing::kGroupsIq4, IQ4_NL>, GroupUnit<Packing::kGroupsFp4, MXFP4>,
             BlockUnit<Packing::kBlocks2Min, Q2_K, BlockScales4>,
             BlockUnit<Packing::kBlocks3, Q3_K, BlockScales16>,
             BlockUnit<Packing::kBlocks4Min, Q4_K, BlockScales32>,
             BlockUnit<Packing::kBlocks5Min, Q5_K, BlockScales32>,
             BlockUnit<Packing::kBlocks6, Q6_K, BlockScales16>,
             BlockUnit<Packing::kBlocksIq4, IQ4_XS, BlockScalesIq4>,
             BlockUnit<Packing::kBlocks2, TQ1_0, BlockScalesOne>,
             BlockUnit<Packing::kBlocks2, TQ2_0, BlockScalesOne>,
             BlockUnit<Packing::kBlocksIq1, IQ1_S, BlockShifts32>,
             BlockUnit<Packing::kBlocksIq1M, IQ1_M, BlockNibbles16>,
             BlockUnit<Packing::kBlocksIq2, IQ2_XXS, BlockNibbles16>,
             BlockUnit<Packing::kBlocksIq2, IQ2_XS, BlockNibbles16>,
             BlockUnit<Packing::kBlocksIq2, IQ2_S, BlockNibbles16>,
             BlockUnit<Packing::kBlocksIq3Xxs, IQ3_XXS, BlockNibbles32>,
             BlockUnit<Packing::kBlocksIq3S, IQ3_S, BlockNibbles32>>;

// Calls visitor.operator()<Unit>() with the layout's unit; false where it has none.
template <class Visitor>
bool visit_unit(Layout layout, const Visitor& visitor) {
  return PanelUnits::visit(layout, visitor);
}

}  // namespace
}  // namespace ingot
