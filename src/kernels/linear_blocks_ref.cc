// SPDX-License-Identifier: Apache-2.0
// The reference for packings with whole scales in blocks of 256, by inputs in groups of 256. A
// block's products are summed as integers, so only the sum over blocks is rounded: one fused
// multiply-add per block (and one for its minimums), in sequence. The fast twins do the same
// operations and give the same bits.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "base/float_types.h"
#include "kernels/linear_ref.h"

namespace ingot::ref {
namespace {

// weight = scale * scales[group] * code - min_scale * mins[group]
struct Scales {
  float scale = 0;
  float min_scale = 0;
  int scales[16] = {};
  int mins[16] = {};
};

template <class Packed>
Scales read_nibbles(const std::byte* from, int64_t row, float divisor) {
  Packed packed;
  std::memcpy(&packed, from, sizeof(packed));
  constexpr bool kHasShifts = requires {
    packed.kShiftUnit;
  };
  Scales out{.scale = to_float(Half{packed.scales[row]}) / divisor};
  for (int64_t i = 0; i < 2 * static_cast<int64_t>(std::size(packed.nibbles)); ++i) {
    const int nibble = (packed.nibbles[i / 2][row] >> (i % 2 * 4)) & 0xF;
    out.scales[i] = 2 * nibble + 1;
    if constexpr (kHasShifts) {
      out.scales[i] = 2 * (nibble & 7) + 1;
      out.mins[i] = out.scales[i] * (nibble < 8 ? 7 : 9);
      out.min_scale = out.scale / Packed::kShiftUnit;
    }
  }
  return out;
}

Scales read_one(const std::byte* from, int64_t row) {
  BlockScalesOne packed;
  std::memcpy(&packed, from, sizeof(packed));
  Scales out{.scale = to_float(Half{packed.scales[row]})};
  std::ranges::fill(out.scales, 1);
  return out;
}

template <class Packed>
Scales read_scales(const std::byte* from, int64_t row) {
  Packed packed;
  std::memcpy(&packed, from, sizeof(packed));
  constexpr bool kHasMin = requires {
    packed.min_scales;
  };
  constexpr bool kHasMins = requires {
    packed.group_mins;
  };
  Scales out{.scale = to_float(Half{packed.scales[row]})};
  if constexpr (kHasMin) out.min_scale = to_float(Half{packed.min_scales[row]});
  for (int64_t i = 0; i < static_cast<int64_t>(sizeof(packed.group_scales)) / kPanelRows; ++i) {
    const int scale = packed.group_scales[i / 2][row * 2 + i % 2];
    const bool is_shared = kHasMin && !kHasMins;
    out.scales[i] = is_shared ? scale & 0xF : scale;
    if constexpr (kHasMins) out.mins[i] = packed.group_mins[i / 2][row * 2 + i % 2];
    if (is_shared) out.mins[i] = scale >> 4;
  }
  return out;
}

Scales scales_at(const std::byte* from, const PackingInfo& facts, int64_t row) {
  const auto divisor = static_cast<float>(facts.divisor);
  switch (facts.packing) {
    case Packing::kBlocks2:
      return read_one(from, row);
    case Packing::kBlocksIq1:
      return read_nibbles<BlockShifts32>(from, row, divisor);
    case Packing::kBlocksIq1M:
    case Packing::kBlocksIq2:
      return read_nibbles<BlockNibbles16>(from, row, divisor);
    case Packing::kBlocksIq3Xxs:
    case Packing::kBlocksIq3S:
      return read_nibbles<BlockNibbles32>(from, row, divisor);
    case Packing::kBlocks2Min:
      return read_scales<BlockScales4>(from, row);
    case Packing::kBlocks3:
    case Packing::kBlocks6:
      return read_scales<BlockScales16>(from, row);
    case Packing::kBlocksIq4:
      return read_scales<BlockScalesIq4>(from, row);
    default:
      return read_scales<BlockScales32>(from, row);
  }
}

}  // namespace

void linear_blocks(const LinearArgs& args, Packing packing, int64_t begin, int64_t end) {
  const PackingInfo& facts = info(packing);
  const PanelShape shape = panel_shape(packing, args.cols);
  const int64_t blocks = args.cols / kPackedColumns;
  const int64_t group = facts.group_columns;
  for (int64_t row = begin; row < end; ++row) {
    const std::byte* panel = args.weights + row / kPanelRows * args.weight_stride;
    for (int64_t token = 0; token < args.tokens; ++token) {
      const auto* x = reinterpret_cast<const Q8G256*>(args.x) + token * blocks;
      float total = 0;
      for (int64_t b = 0; b < blocks; ++b, ++x) {
        const Scales scales = scales_at(panel + b * shape.block, facts, row % kPanelRows);
        int sum = 0;
        int min_sum = 0;
        for (int64_t run = 0; run < 8; ++run) {
          int codes[32];
          read_run(panel + shape.run_at(b * 8 + run), facts, row % kPanelRows, codes);
          for (int64_t i = 0; i < 32; ++i)
            sum += scales.scales[(run * 32 + i) / group] * codes[i] * x->codes[run * 32 + i];
        }
        for (int64_t i = 0; i < kBlockColumns / group; ++i)
          min_sum += scales.mins[i] * (group == 16 ? x->sums_of_16[i] : x->sums_of_32[i]);
        const float part = std::fma(-scales.min_scale, static_cast<float>(min_sum),
                                    scales.scale * static_cast<float>(sum));
        total = std::fma(part, x->scale, total);
      }
      total *= args.scale;
      args.y[token * args.y_stride + row] = args.bias == nullptr ? total : total + args.bias[row];
    }
  }
}

}  // namespace ingot::ref
