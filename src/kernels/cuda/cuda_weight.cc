// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_weight.h"

#include <algorithm>

namespace ingot::cuda {

bool is_plain_int8(const QuantTensor& weights) {
  constexpr int64_t kMostColumns = (int64_t{1} << 17) - 1;  // their sums fit in 32 bits
  const QuantScheme& scheme = weights.scheme;
  const bool is_bytes =
      scheme.meaning == CodeMeaning::kAffine && scheme.bits == 8 &&
      (scheme.order == CodeOrder::kRowsSigned || scheme.order == CodeOrder::kRows);
  return is_bytes && weights.input.kind == InputKind::kInt8 && weights.groups() == 1 &&
         weights.column_order == nullptr && weights.cols % kRowAlignment == 0 &&
         weights.cols <= kMostColumns &&
         std::ranges::all_of(weights.zeros, [](uint8_t zero) { return zero == 128; });
}

ProductScales product_scales(const WeightFacts& facts, std::span<const float> scales,
                             std::vector<float>& blocks) {
  const InputQuant& input = facts.input;
  const bool is_taken = input.kind == InputKind::kE4m3 && input.block % kScaleBlock == 0 &&
                        facts.rows % kRowAlignment == 0 && facts.cols % kRowAlignment == 0;
  if (!is_taken) return ProductScales::kNone;
  if (facts.scale_spans == 1 && input.block == 0) return ProductScales::kOuter;
  const int64_t block_rows = (facts.rows + kScaleBlock - 1) / kScaleBlock;
  const int64_t spans = (facts.cols + kScaleBlock - 1) / kScaleBlock;
  const int64_t stride = block_scale_spans(facts.cols);
  blocks.assign(static_cast<size_t>(block_rows * stride), 0);
  for (int64_t row = 0; row < facts.rows; ++row) {
    for (int64_t span = 0; span < spans; ++span) {
      const int64_t from = row * facts.scale_spans + (facts.scale_spans == 1 ? 0 : span);
      const float scale = scales[static_cast<size_t>(from)];
      float& block = blocks[static_cast<size_t>(row / kScaleBlock * stride + span)];
      if (row % kScaleBlock == 0) block = scale;
      if (block != scale) return ProductScales::kNone;
    }
  }
  return ProductScales::kBlocks;
}

}  // namespace ingot::cuda
