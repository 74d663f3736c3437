// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_parts.h"

#include "base/check.h"

namespace ingot::cuda {
namespace {

const float* floats_of(const Memory& memory) {
  return reinterpret_cast<const float*>(memory.data());
}

bool go_together(const Weight& a, const Weight& b) {
  return a.facts.is_panels == b.facts.is_panels && a.facts.packing == b.facts.packing &&
         a.facts.type == b.facts.type && a.facts.scale == b.facts.scale &&
         a.facts.input == b.facts.input && form_of(a.facts) == form_of(b.facts) &&
         a.order == b.order;
}

}  // namespace

const Weight& weight_of(const Linear& linear) {
  INGOT_CHECK(linear.device_weight() != nullptr);
  return static_cast<const Weight&>(*linear.device_weight());
}

size_t count_together(std::span<const LinearOutput> outputs) {
  const Weight& first = weight_of(*outputs.front().linear);
  size_t count = 1;
  while (count < outputs.size() && count < static_cast<size_t>(kMostParts) &&
         go_together(first, weight_of(*outputs[count].linear))) {
    ++count;
  }
  return count;
}

LinearParts parts_of(std::span<const LinearOutput> outputs, const PreparedInput& x) {
  const WeightFacts& first = weight_of(*outputs.front().linear).facts;
  LinearParts parts{};
  parts.count = static_cast<int32_t>(outputs.size());
  parts.cols = first.cols;
  parts.scale = first.scale;
  parts.shifts = x.shifts;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Weight& weight = weight_of(*outputs[i].linear);
    parts.row_sums[i] = floats_of(weight.row_sums);
    parts.part[i] = {.weights = weight.data.data(),
                     .stride = weight.facts.stride,
                     .row_scales = floats_of(weight.row_scales),
                     .scale_spans = weight.facts.scale_spans,
                     .block_scales = floats_of(weight.block_scales),
                     .block_spans = block_scale_spans(weight.facts.cols),
                     .bias = floats_of(weight.bias),
                     .y = outputs[i].y,
                     .y_stride = outputs[i].y_stride,
                     .rows = static_cast<int32_t>(weight.facts.rows)};
  }
  return parts;
}

}  // namespace ingot::cuda
