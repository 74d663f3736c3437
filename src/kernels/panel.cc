// SPDX-License-Identifier: Apache-2.0
#include "kernels/panel.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/float_types.h"
#include "blocks/layout.h"
#include "kernels/code_levels.h"
#include "tensor/quant_tensor.h"

namespace ingot {
namespace {

constexpr int64_t kNvfp4Columns = 16;        // that one of its scales covers
constexpr float kLevelSlack = 1.0F / 16256;  // of a level, whose table is of two bytes

// A symmetric grid with scales that a half holds: what GGUF's types are.
bool is_plain(const QuantTensor& tensor) {
  const uint8_t middle = static_cast<uint8_t>(1 << (tensor.scheme.bits - 1));
  return std::ranges::all_of(tensor.zeros, [&](uint8_t zero) { return zero == middle; }) &&
         std::ranges::all_of(tensor.scales,
                             [](float scale) { return to_float(to_half(scale)) == scale; });
}

// Whether a table of two bytes a level stands for these levels.
bool are_levels(const std::vector<float>& levels, const int8_t* high, const int8_t* low,
                float unit) {
  for (size_t i = 0; i < 16; ++i) {
    const float level = static_cast<float>(128 * high[i] + low[i]) / unit;
    if (!(std::fabs(levels[i] - level) < kLevelSlack)) return false;
  }
  return true;
}

// Powers of two that an exponent of 8 bits says.
bool has_powers(const QuantTensor& tensor) {
  constexpr uint32_t kLeast = 0x400000;  // 2^-127, a denormal
  return std::ranges::all_of(tensor.scales, [](float scale) {
    const auto bits = std::bit_cast<uint32_t>(scale);
    return bits == kLeast || (bits != 0 && (bits & 0x807FFFFFu) == 0);
  });
}

// Scales that are e4m3 times one number, but for its rounding.
bool has_e4m3_scales(const QuantTensor& tensor) {
  return std::ranges::all_of(tensor.scales, [&](float scale) {
    const float wanted = scale / tensor.tensor_scale;
    const float found = to_float(to_float8_e4m3(wanted));
    return wanted >= 0 && std::fabs(found - wanted) <= 1e-6F * wanted;
  });
}

// Whether weights are multiplied by dot products of bf16, which round the inputs.
bool has_pairs(TargetSet targets, Rounding rounding) {
  return rounding != Rounding::kNothing && targets.has(Target::kAvx512Bf16);
}

int bits_at(const std::byte* line, int64_t row, int64_t column, int shift, int mask) {
  return (std::to_integer<int>(line[row * 4 + column % 4]) >> shift) & mask;
}

int four_bits(const std::byte* lines, int64_t row, int64_t column) {
  return bits_at(lines + column / 8 * kLineBytes, row, column, column % 8 < 4 ? 0 : 4, 15);
}
int two_bits(const std::byte* lines, int64_t row, int64_t column) {
  const int shift = static_cast<int>(column % 16 / 4) * 2;
  return bits_at(lines + column / 16 * kLineBytes, row, column, shift, 3);
}
int one_bit(const std::byte* line, int64_t row, int64_t column) {
  return bits_at(line, row, column, static_cast<int>(column / 4), 1);
}

}  // namespace

const PackingInfo& info(Packing packing) {
  return packing_info(packing);
}

Packing packing_of(Layout layout, int64_t cols, TargetSet targets, Rounding rounding) {
  const bool fills_runs = cols % kRunColumns == 0;
  const bool fills_blocks = cols % kBlockColumns == 0;
  const bool has_words =
      rounding != Rounding::kNothing && fills_blocks && targets.has(Target::kAvx2);
  switch (layout) {
    case Layout::kF32:
      return Packing::kF32;
    case Layout::kF16:
      return has_words ? Packing::kF16Words : Packing::kF16;
    case Layout::kBF16:
      if (has_pairs(targets, rounding)) return Packing::kBF16Pairs;
      return has_words ? Packing::kF16Words : Packing::kBF16;
    case Layout::kQ4_0:
      return fills_runs ? Packing::kGroups4 : Packing::kRows;
    case Layout::kQ4_1:
      return fills_runs ? Packing::kGroups4Min : Packing::kRows;
    case Layout::kQ5_0:
      return fills_runs ? Packing::kGroups5 : Packing::kRows;
    case Layout::kQ5_1:
      return fills_runs ? Packing::kGroups5Min : Packing::kRows;
    case Layout::kQ8_0:
      return fills_runs ? Packing::kGroups8 : Packing::kRows;
    case Layout::kIQ4_NL:
      return fills_runs ? Packing::kGroupsIq4 : Packing::kRows;
    case Layout::kMXFP4:
      return fills_runs ? Packing::kGroupsFp4 : Packing::kRows;
    case Layout::kNVFP4:
      return fills_runs ? Packing::kGroupsNvfp4 : Packing::kRows;
    case Layout::kQ1_0:
      return fills_runs ? Packing::kGroups1 : Packing::kRows;
    case Layout::kQ2_0:
      return fills_runs ? Packing::kGroups2 : Packing::kRows;
    case Layout::kTQ1_0:
    case Layout::kTQ2_0:
      return fills_blocks ? Packing::kBlocks2 : Packing::kRows;
    case Layout::kIQ1_S:
      return fills_blocks ? Packing::kBlocksIq1 : Packing::kRows;
    case Layout::kIQ1_M:
      return fills_blocks ? Packing::kBlocksIq1M : Packing::kRows;
    case Layout::kIQ2_XXS:
    case Layout::kIQ2_XS:
    case Layout::kIQ2_S:
      return fills_blocks ? Packing::kBlocksIq2 : Packing::kRows;
    case Layout::kIQ3_XXS:
      return fills_blocks ? Packing::kBlocksIq3Xxs : Packing::kRows;
    case Layout::kIQ3_S:
      return fills_blocks ? Packing::kBlocksIq3S : Packing::kRows;
    case Layout::kQ2_K:
      return fills_blocks ? Packing::kBlocks2Min : Packing::kRows;
    case Layout::kQ3_K:
      return fills_blocks ? Packing::kBlocks3 : Packing::kRows;
    case Layout::kQ4_K:
      return fills_blocks ? Packing::kBlocks4Min : Packing::kRows;
    case Layout::kQ5_K:
      return fills_blocks ? Packing::kBlocks5Min : Packing::kRows;
    case Layout::kQ6_K:
      return fills_blocks ? Packing::kBlocks6 : Packing::kRows;
    case Layout::kIQ4_XS:
      return fills_blocks ? Packing::kBlocksIq4 : Packing::kRows;
    default:
      return Packing::kRows;
  }
}

bool outgrows_file(Layout layout) {
  constexpr int64_t kWide = 4096;
  const Packing packing = packing_of(layout, kWide);
  if (packing == Packing::kRows) return false;
  const int64_t file =
      kPanelRows * static_cast<int64_t>(storage_bytes(layout, CheckedSize(kWide)).value_or(0));
  return panel_shape(packing, kWide).panel > file + file / 10;
}

namespace {

// A scheme's own packing; kRows where there is none.
Packing packing_of_codes(const QuantTensor& tensor, TargetSet targets, Rounding rounding) {
  const bool rounds = rounding == Rounding::kCodes;
  const QuantScheme& scheme = tensor.scheme;
  const bool is_one = tensor.groups() == 1;
  if (scheme.meaning == CodeMeaning::kE4m3) {
    const bool fills =
        (is_one || scheme.group_columns % kSpanColumns == 0) && tensor.column_order == nullptr;
    if (!fills || scheme.bits != 8) return Packing::kRows;
    if (rounds && tensor.cols % kRunColumns == 0) return Packing::kGroups8;
    return has_pairs(targets, rounding) ? Packing::kF8Pairs : Packing::kF8;
  }
  if (tensor.cols % kRunColumns != 0) return Packing::kRows;
  if (scheme.meaning == CodeMeaning::kE2m1 && scheme.group_columns == kNvfp4Columns && !is_one)
    return has_e4m3_scales(tensor) ? Packing::kGroupsNvfp4 : Packing::kRows;
  if (!is_one && scheme.group_columns % kRunColumns != 0) return Packing::kRows;
  if (scheme.meaning == CodeMeaning::kE2m1)
    return has_powers(tensor) ? Packing::kGroupsFp4 : Packing::kRows;
  if (scheme.meaning == CodeMeaning::kLevels) {
    if (are_levels(tensor.levels, kNf4High, kNf4Low, kNf4Unit))
      return rounds ? Packing::kGroupsNf4Bytes : Packing::kGroupsNf4;
    if (are_levels(tensor.levels, kBnbFp4High, kBnbFp4Low, kBnbFp4Unit))
      return rounds ? Packing::kGroupsFp4Bytes : Packing::kGroupsBnbFp4;
    return Packing::kRows;
  }
  if (scheme.meaning != CodeMeaning::kAffine) return Packing::kRows;
  // Kernels may take zero points off codes within a byte.
  if (scheme.bits <= 4 && std::ranges::any_of(tensor.zeros, [](uint8_t zero) { return zero > 16; }))
    return Packing::kRows;
  switch (scheme.bits) {
    case 2:
      return Packing::kGroups2Zero;
    case 3:
      return Packing::kGroups3Zero;
    case 4:
      return is_plain(tensor) ? Packing::kGroups4 : Packing::kGroups4Zero;
    case 8:
      return is_plain(tensor) ? Packing::kGroups8 : Packing::kGroups8Zero;
    default:
      return Packing::kRows;
  }
}

}  // namespace

Packing packing_of(const QuantTensor& tensor, TargetSet targets, Rounding rounding) {
  const Packing packing = packing_of_codes(tensor, targets, rounding);
  if (packing != Packing::kRows) return packing;
  // Few significant bits, and a scale that adds none.
  const bool is_narrow = tensor.scheme.meaning == CodeMeaning::kE2m1 ||
                         tensor.scheme.meaning == CodeMeaning::kE4m3 ||
                         tensor.scheme.meaning == CodeMeaning::kE5m2;
  if (!is_narrow || !has_powers(tensor)) return Packing::kF32;
  return has_pairs(targets, rounding) ? Packing::kBF16Pairs : Packing::kBF16;
}

bool is_e4m3(Packing packing) {
  return packing == Packing::kF8 || packing == Packing::kF8Pairs;
}

bool is_rounded_levels(Packing packing) {
  return packing == Packing::kGroupsNf4Bytes || packing == Packing::kGroupsFp4Bytes;
}

bool is_rounded(const QuantTensor& tensor, Packing packing) {
  const bool is_float8 = tensor.scheme.meaning == CodeMeaning::kE4m3;
  return is_rounded_levels(packing) || (packing == Packing::kGroups8 && is_float8);
}

// A power of two near the largest scale: halves then hold scales of a 2^14th of it in full.
float unit_of_rounded(const QuantTensor& tensor) {
  float largest = 0;
  for (const float scale : tensor.scales)
    largest = std::max(largest, std::fabs(scale));
  if (!(largest > 0x1p-100F && largest < 0x1p100F)) return 1;
  return std::ldexp(1.0F, std::ilogb(largest));
}

bool is_quant_packing(Packing packing) {
  const ScaleForm form = info(packing).form;
  return is_e4m3(packing) || form == ScaleForm::kZeros || form == ScaleForm::kFloats ||
         is_rounded_levels(packing);
}

PanelShape panel_shape(Packing packing, int64_t cols) {
  return shape_of_panel(packing, cols);
}

int panel_code(const std::byte* run, int bits, int64_t row, int64_t column) {
  const std::byte* after_4_bits = run + 4 * kLineBytes;
  const std::byte* after_2_bits = run + 2 * kLineBytes;
  switch (bits) {
    case 1:
      return one_bit(run, row, column);
    case 2:
      return two_bits(run, row, column);
    case 3:
      return two_bits(run, row, column) | (one_bit(after_2_bits, row, column) << 2);
    case 4:
      return four_bits(run, row, column);
    case 5:
      return four_bits(run, row, column) | (one_bit(after_4_bits, row, column) << 4);
    case 6:
      return four_bits(run, row, column) | (two_bits(after_4_bits, row, column) << 4);
    default:
      return bits_at(run + column / 4 * kLineBytes, row, column, 0, 255);
  }
}

}  // namespace ingot
