// SPDX-License-Identifier: Apache-2.0
// The reference for packings with a float scale per group, by inputs in groups of 32. Products of
// codes are summed as integers, so only the sum over groups is rounded: one fused multiply-add per
// group (and one for its minimum), in sequence. The fast twins do the same operations and give the
// same bits.
#include <bit>
#include <cmath>
#include <cstring>

#include "base/float_types.h"
#include "kernels/linear_ref.h"

namespace ingot::ref {

void read_run(const std::byte* run, const PackingInfo& facts, int64_t row, int (&values)[32]) {
  for (int64_t i = 0; i < 32; ++i) {
    const int code = panel_code(run, facts.bits, row, i);
    values[i] = facts.levels != nullptr ? facts.levels[code] : code - facts.offset;
    if (facts.low_levels != nullptr) values[i] = 128 * values[i] + facts.low_levels[code];
  }
}

namespace {

struct GroupScale {
  float scale;
  float min = 0;
  int zero = 0;
};

Half half_at(const std::byte* from, int64_t index) {
  Half value;
  std::memcpy(&value, from + index * 2, sizeof(value));
  return value;
}

GroupScale scale_at(const std::byte* scales, const PackingInfo& facts, int64_t row) {
  uint32_t word = 0;
  switch (facts.form) {
    case ScaleForm::kPowers:  // the levels are doubled to be whole
      return {to_float(Float8E8M0{std::to_integer<uint8_t>(scales[row])}) * 0.5F};
    case ScaleForm::kPairs:  // the same; as a half it is 256 times too small
      word = std::to_integer<uint32_t>(scales[row]) << 7;
      return {to_float(Half{static_cast<uint16_t>(word)}) * 128.0F};
    case ScaleForm::kHalvesAndMins:
      return {to_float(half_at(scales, row)), to_float(half_at(scales, kPanelRows + row))};
    case ScaleForm::kZeros:
      std::memcpy(&word, scales + row * 4, sizeof(word));
      return {std::bit_cast<float>(word & ~0xFFu), 0, static_cast<int>(word & 0xFF)};
    case ScaleForm::kFloats:
      std::memcpy(&word, scales + row * 4, sizeof(word));
      return {std::bit_cast<float>(word)};
    default:
      return {to_float(half_at(scales, row))};
  }
}

}  // namespace

void linear_groups(const LinearArgs& args, Packing packing, int64_t begin, int64_t end) {
  const PackingInfo& facts = info(packing);
  const PanelShape shape = panel_shape(packing, args.cols);
  const int64_t blocks = (args.cols + kPackedColumns - 1) / kPackedColumns;
  const bool has_min = facts.form == ScaleForm::kHalvesAndMins;
  for (int64_t row = begin; row < end; ++row) {
    const std::byte* panel = args.weights + row / kPanelRows * args.weight_stride;
    for (int64_t token = 0; token < args.tokens; ++token) {
      const auto* x = reinterpret_cast<const Q8G32*>(args.x) + token * blocks;
      float total = 0;
      for (int64_t i = 0; i < args.cols / 32; ++i) {
        int codes[32];
        read_run(panel + shape.run_at(i), facts, row % kPanelRows, codes);
        const std::byte* scales = panel + i / 8 * shape.block + i % 8 * facts.scale_bytes;
        const Q8G32& in = x[i / 8];
        for (int64_t first = 0; first < 32; first += facts.group_columns) {
          const GroupScale scale =  // of the second 16 columns: 16 rows on
              scale_at(scales, facts, row % kPanelRows + first / 16 * kPanelRows);
          int sum = -scale.zero * in.sums[i % 8];
          for (int64_t j = first; j < first + facts.group_columns; ++j)
            sum += codes[j] * in.codes[i % 8 * 32 + j];
          total = std::fma(scale.scale * in.scales[i % 8], static_cast<float>(sum), total);
          if (has_min) total = std::fma(scale.min, in.weighed[i % 8], total);
        }
      }
      total *= args.scale;
      args.y[token * args.y_stride + row] = args.bias == nullptr ? total : total + args.bias[row];
    }
  }
}

}  // namespace ingot::ref
