// SPDX-License-Identifier: Apache-2.0
// The packings of weights as plain facts, for kernels of every device: kernels/panel.h says how
// panels lie in memory and packs them. Only values: files built with a target's flags, or for
// another processor, read it.
#pragma once

#include <cstdint>
#include <iterator>

#include "kernels/activation_layout.h"
#include "kernels/code_levels.h"

namespace ingot {

inline constexpr int64_t kPanelRows = 16;
inline constexpr int64_t kRunColumns = 32;
inline constexpr int64_t kBlockColumns = 256;
inline constexpr int64_t kLineBytes = 64;
inline constexpr int64_t kSpanColumns = 128;  // that one scale of e4m3 covers

enum class Packing : uint8_t {
  kRows,  // not packed: the file's rows, of any layout, decoded as they pass
  // Floats, [cols][16 rows], by float inputs.
  kF32,
  kF16,
  kBF16,
  kBF16Pairs,  // [cols / 2][16 rows][2], columns padded to 32 by zeros; by inputs in bf16
  kF8,         // e4m3; before every 128 columns a float scale for each row, times 256
  kF8Pairs,    // e4m3, four columns a line, padded to 32; scales as they are; by inputs in bf16
  // F16 (and BF16) as whole numbers of 14 bits, a power of two for every 128 columns, by inputs of
  // 13: for every 256 columns the powers' exponents, [2][16 rows], padded, and [128][16 rows][2].
  kF16Words,
  // A scale (and a minimum) as float for every 32 columns, by inputs in groups of 32.
  kGroups4,      // code - 8
  kGroups4Min,   // code, and a minimum
  kGroups5,      // code - 16
  kGroups5Min,   // code, and a minimum
  kGroups8,      // code - 128
  kGroups1,      // -1 or 1
  kGroups2,      // code - 1
  kGroupsIq4,    // 16 levels
  kGroupsFp4,    // 16 levels, the scale a power of two
  kGroupsNvfp4,  // 16 levels, a scale of 8 bits for every 16 columns
  kGroups2Zero,  // code - zero point, one for every group and row
  kGroups3Zero,
  kGroups4Zero,
  kGroups8Zero,
  kGroupsNf4,       // 16 levels of two bytes, the scale in full
  kGroupsBnbFp4,    // the same with other levels
  kGroupsNf4Bytes,  // 16 levels of one byte
  kGroupsFp4Bytes,  // the same with other levels
  // Whole scales for every 16 or 32 columns times one float for 256, by inputs in groups of 256.
  kBlocks2Min,
  kBlocks3,
  kBlocks4Min,
  kBlocks5Min,
  kBlocks6,
  kBlocksIq4,
  kBlocks2,       // code - 1, no scale but the float
  kBlocksIq1,     // code - 7/8 or - 9/8, which of them as part of the scale
  kBlocksIq1M,    // 6 levels
  kBlocksIq2,     // 6 levels
  kBlocksIq3Xxs,  // 16 levels
  kBlocksIq3S,    // 16 levels
};
inline constexpr size_t kPackingCount = static_cast<size_t>(Packing::kBlocksIq3S) + 1;

// What a panel keeps for each of its 16 rows and 32 columns.
enum class ScaleForm : uint8_t {
  kNone,
  kBlocks,  // a struct for 256 columns, see below
  kHalves,
  kHalvesAndMins,  // 16 scales, 16 minimums
  kPowers,         // exponents, a byte each
  kPairs,          // 16 floats of 8 bits (e4m3, no sign) for 16 columns, 16 for the next 16
  kZeros,          // words: a float of 24 bits above a zero point of 8
  kFloats,
};

struct PackingInfo {
  Packing packing;
  const char* name;  // "groups4", as in kernel names
  ActivationLayout activation;
  int bits;               // of a code, or of an element
  int offset;             // taken from every code (from every level's byte for codebooks: none)
  const int8_t* levels;   // what a code of up to 4 bits means, or null
  int64_t group_columns;  // that one scale covers
  int64_t scale_bytes;    // a panel's scales: of 32 columns, or of 256 for whole scales
  ScaleForm form;
  const int8_t* low_levels = nullptr;  // level = 128 * levels[code] + low_levels[code]
  int divisor = 1;  // of the float scale, a power of two: what makes the levels whole
};

// Where a panel's parts begin, in bytes.
struct PanelShape {
  int64_t scales = 0;  // of a block, padded
  int64_t run = 0;     // of one run of codes
  int64_t block = 0;   // of 256 columns
  int64_t panel = 0;   // in all

  constexpr int64_t run_at(int64_t run_index) const {
    return run_index / 8 * block + scales + run_index % 8 * run;
  }
};

// The scales of one block of 256 columns, as kBlocks packings keep them. Scales and mins come in
// pairs of neighbouring groups: [groups / 2][16 rows][2].
struct BlockScales32 {  // groups of 32
  uint16_t scales[16];  // halves
  uint16_t min_scales[16];
  uint8_t group_scales[4][32];
  uint8_t group_mins[4][32];
};
struct BlockScales16 {  // groups of 16
  uint16_t scales[16];
  int8_t group_scales[8][32];
};
struct BlockScales4 {  // groups of 16, scale in the low nibble and min in the high one
  uint16_t scales[16];
  uint16_t min_scales[16];
  uint8_t group_scales[8][32];
};
struct BlockScalesIq4 {  // groups of 32, signed
  uint16_t scales[16];
  int8_t group_scales[4][32];
};
struct BlockScalesOne {  // one for all 256 columns
  uint16_t scales[16];
};
// Scales 2n + 1 of nibbles, [groups / 2][16 rows]: the first of a pair of groups in the low ones.
struct BlockNibbles16 {  // groups of 16
  uint16_t scales[16];
  uint8_t nibbles[8][16];
};
struct BlockNibbles32 {  // groups of 32
  uint16_t scales[16];
  uint8_t nibbles[4][16];
};
struct BlockShifts32 {  // groups of 32; the fourth bit: 9/8 are taken from the codes, not 7/8
  uint16_t scales[16];
  uint8_t nibbles[4][16];
  static constexpr int kShiftUnit = 8;
};

// In the order of Packing. For blocks, the scales are one struct per 256 columns.
inline constexpr PackingInfo kPackings[] = {
    {Packing::kRows, "rows", ActivationLayout::kF32, 0, 0, nullptr, 0, 0, ScaleForm::kNone},
    {Packing::kF32, "f32", ActivationLayout::kF32, 32, 0, nullptr, 0, 0, ScaleForm::kNone},
    {Packing::kF16, "f16", ActivationLayout::kF32, 16, 0, nullptr, 0, 0, ScaleForm::kNone},
    {Packing::kBF16, "bf16", ActivationLayout::kF32, 16, 0, nullptr, 0, 0, ScaleForm::kNone},
    {Packing::kBF16Pairs, "bf16pairs", ActivationLayout::kBF16, 16, 0, nullptr, 0, 0,
     ScaleForm::kNone},
    {Packing::kF8, "f8", ActivationLayout::kF32, 8, 0, nullptr, 128, 4 * kPanelRows,
     ScaleForm::kNone},
    {Packing::kF8Pairs, "f8pairs", ActivationLayout::kBF16, 8, 0, nullptr, 128, 4 * kPanelRows,
     ScaleForm::kNone},
    {Packing::kF16Words, "f16words", ActivationLayout::kI16G128, 16, 0, nullptr, 128, kLineBytes,
     ScaleForm::kNone},
    {Packing::kGroups4, "groups4", ActivationLayout::kQ8G32, 4, 8, nullptr, 32, 2 * kPanelRows,
     ScaleForm::kHalves},
    {Packing::kGroups4Min, "groups4min", ActivationLayout::kQ8G32, 4, 0, nullptr, 32,
     4 * kPanelRows, ScaleForm::kHalvesAndMins},
    {Packing::kGroups5, "groups5", ActivationLayout::kQ8G32, 5, 16, nullptr, 32, 2 * kPanelRows,
     ScaleForm::kHalves},
    {Packing::kGroups5Min, "groups5min", ActivationLayout::kQ8G32, 5, 0, nullptr, 32,
     4 * kPanelRows, ScaleForm::kHalvesAndMins},
    {Packing::kGroups8, "groups8", ActivationLayout::kQ8G32, 8, 128, nullptr, 32, 2 * kPanelRows,
     ScaleForm::kHalves},
    {Packing::kGroups1, "groups1", ActivationLayout::kQ8G32, 1, 0, kSignCodes, 32, 2 * kPanelRows,
     ScaleForm::kHalves},
    {Packing::kGroups2, "groups2", ActivationLayout::kQ8G32, 2, 1, nullptr, 32, 2 * kPanelRows,
     ScaleForm::kHalves},
    {Packing::kGroupsIq4, "groups_iq4", ActivationLayout::kQ8G32, 4, 0, kIq4Codes, 32,
     2 * kPanelRows, ScaleForm::kHalves},
    {Packing::kGroupsFp4, "groups_fp4", ActivationLayout::kQ8G32, 4, 0, kE2m1Codes, 32, kPanelRows,
     ScaleForm::kPowers},
    {Packing::kGroupsNvfp4, "groups_nvfp4", ActivationLayout::kQ8G32, 4, 0, kE2m1Codes, 16,
     2 * kPanelRows, ScaleForm::kPairs},
    {Packing::kGroups2Zero, "groups2zero", ActivationLayout::kQ8G32, 2, 0, nullptr, 32,
     4 * kPanelRows, ScaleForm::kZeros},
    {Packing::kGroups3Zero, "groups3zero", ActivationLayout::kQ8G32, 3, 0, nullptr, 32,
     4 * kPanelRows, ScaleForm::kZeros},
    {Packing::kGroups4Zero, "groups4zero", ActivationLayout::kQ8G32, 4, 0, nullptr, 32,
     4 * kPanelRows, ScaleForm::kZeros},
    {Packing::kGroups8Zero, "groups8zero", ActivationLayout::kQ8G32, 8, 0, nullptr, 32,
     4 * kPanelRows, ScaleForm::kZeros},
    {Packing::kGroupsNf4, "groups_nf4", ActivationLayout::kQ8G32, 4, 0, kNf4High, 32,
     4 * kPanelRows, ScaleForm::kFloats, kNf4Low},
    {Packing::kGroupsBnbFp4, "groups_bnb_fp4", ActivationLayout::kQ8G32, 4, 0, kBnbFp4High, 32,
     4 * kPanelRows, ScaleForm::kFloats, kBnbFp4Low},
    {Packing::kGroupsNf4Bytes, "groups_nf4bytes", ActivationLayout::kQ8G32, 4, 0, kNf4Bytes, 32,
     2 * kPanelRows, ScaleForm::kHalves},
    {Packing::kGroupsFp4Bytes, "groups_fp4bytes", ActivationLayout::kQ8G32, 4, 0, kBnbFp4Bytes, 32,
     2 * kPanelRows, ScaleForm::kHalves},
    {Packing::kBlocks2Min, "blocks2min", ActivationLayout::kQ8G256, 2, 0, nullptr, 16,
     sizeof(BlockScales4), ScaleForm::kBlocks},
    {Packing::kBlocks3, "blocks3", ActivationLayout::kQ8G256, 3, 4, nullptr, 16,
     sizeof(BlockScales16), ScaleForm::kBlocks},
    {Packing::kBlocks4Min, "blocks4min", ActivationLayout::kQ8G256, 4, 0, nullptr, 32,
     sizeof(BlockScales32), ScaleForm::kBlocks},
    {Packing::kBlocks5Min, "blocks5min", ActivationLayout::kQ8G256, 5, 0, nullptr, 32,
     sizeof(BlockScales32), ScaleForm::kBlocks},
    {Packing::kBlocks6, "blocks6", ActivationLayout::kQ8G256, 6, 32, nullptr, 16,
     sizeof(BlockScales16), ScaleForm::kBlocks},
    {Packing::kBlocksIq4, "blocks_iq4", ActivationLayout::kQ8G256, 4, 0, kIq4Codes, 32,
     sizeof(BlockScalesIq4), ScaleForm::kBlocks},
    {Packing::kBlocks2, "blocks2", ActivationLayout::kQ8G256, 2, 1, nullptr, 32,
     sizeof(BlockScalesOne), ScaleForm::kBlocks},
    {Packing::kBlocksIq1, "blocks_iq1", ActivationLayout::kQ8G256, 2, 0, nullptr, 32,
     sizeof(BlockShifts32), ScaleForm::kBlocks},
    {Packing::kBlocksIq1M, "blocks_iq1m", ActivationLayout::kQ8G256, 3, 0, kIq1Codes, 16,
     sizeof(BlockNibbles16), ScaleForm::kBlocks, nullptr, kIq1Divisor},
    {Packing::kBlocksIq2, "blocks_iq2", ActivationLayout::kQ8G256, 3, 0, kIq2Codes, 16,
     sizeof(BlockNibbles16), ScaleForm::kBlocks, nullptr, kIq2Divisor},
    {Packing::kBlocksIq3Xxs, "blocks_iq3xxs", ActivationLayout::kQ8G256, 4, 0, kIq3XxsCodes, 32,
     sizeof(BlockNibbles32), ScaleForm::kBlocks, nullptr, kIq3XxsDivisor},
    {Packing::kBlocksIq3S, "blocks_iq3s", ActivationLayout::kQ8G256, 4, 0, kIq3SCodes, 32,
     sizeof(BlockNibbles32), ScaleForm::kBlocks},
};
// What follows is built once for each target, on purpose.
namespace {

constexpr const PackingInfo& packing_info(Packing packing) {
  return kPackings[static_cast<int>(packing)];
}

constexpr PanelShape shape_of_panel(Packing packing, int64_t cols) {
  const PackingInfo& facts = packing_info(packing);
  PanelShape shape;
  if (packing == Packing::kF8 || packing == Packing::kF8Pairs) {
    const int64_t padded = packing == Packing::kF8Pairs ? (cols + 31) / 32 * 32 : cols;
    shape.panel =
        (cols + kSpanColumns - 1) / kSpanColumns * facts.scale_bytes + padded * kPanelRows;
  } else if (packing == Packing::kBF16Pairs) {
    shape.panel = (cols + 31) / 32 * 32 * kPanelRows * 2;
  } else if (facts.activation == ActivationLayout::kF32) {
    shape.panel = cols * kPanelRows * facts.bits / 8;
  } else {
    const bool is_whole = facts.activation != ActivationLayout::kQ8G32;  // scales of a block
    const int64_t scales = facts.scale_bytes * (is_whole ? 1 : kBlockColumns / kRunColumns);
    shape.scales = (scales + kLineBytes - 1) / kLineBytes * kLineBytes;
    shape.run = kLineBytes * facts.bits;
    shape.block = shape.scales + 8 * shape.run;
    const int64_t runs = cols / kRunColumns;
    shape.panel = runs / 8 * shape.block;
    if (runs % 8 != 0) shape.panel += shape.scales + runs % 8 * shape.run;
  }
  shape.panel = (shape.panel + kLineBytes - 1) / kLineBytes * kLineBytes;
  return shape;
}

}  // namespace
}  // namespace ingot
