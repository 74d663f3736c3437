// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/linear_ref.h"

namespace ingot::ref {
namespace {

constexpr int64_t kGroup = 128;  // columns

// One row of a block of 256 columns.
struct WordsRow {
  const std::byte* block;
  int64_t row;

  float scale(int64_t group) const {
    return std::bit_cast<float>(std::to_integer<uint32_t>(block[group * kPanelRows + row]) << 23);
  }
  int code(int64_t col) const {
    int16_t code;
    std::memcpy(&code, block + kLineBytes + ((col / 2 * kPanelRows + row) * 2 + col % 2) * 2,
                sizeof(code));
    return code;
  }
};

}  // namespace

void linear_words(const LinearArgs& args, int64_t begin, int64_t end) {
  const PanelShape shape = panel_shape(Packing::kF16Words, args.cols);
  const int64_t blocks = args.cols / kPackedColumns;
  for (int64_t row = begin; row < end; ++row) {
    const std::byte* panel = args.weights + row / kPanelRows * args.weight_stride;
    for (int64_t token = 0; token < args.tokens; ++token) {
      const auto* x = reinterpret_cast<const I16G128*>(args.x) + token * blocks;
      float total = 0;
      for (int64_t b = 0; b < blocks; ++b, ++x) {
        const WordsRow weights{panel + b * shape.block, row % kPanelRows};
        for (int64_t group = 0; group < kPackedColumns / kGroup; ++group) {
          int sum = 0;
          for (int64_t col = group * kGroup; col < (group + 1) * kGroup; ++col)
            sum += weights.code(col) * x->codes[col];
          total = std::fma(weights.scale(group) * static_cast<float>(sum), x->scales[group], total);
        }
      }
      total *= args.scale;
      args.y[token * args.y_stride + row] = args.bias == nullptr ? total : total + args.bias[row];
    }
  }
}

}  // namespace ingot::ref
