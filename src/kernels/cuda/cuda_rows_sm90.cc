// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_rows_sm90.h"

#include <algorithm>

#include "kernels/cuda/cuda_parts.h"
#include "kernels/cuda/hopper.h"
#include "kernels/cuda/linear.h"

namespace ingot::cuda {
namespace {

constexpr int64_t kLeastTokens = 9;
// From more tokens on the library is as fast.
constexpr int64_t kMostTokensHalves = 256;
constexpr int64_t kMostTokensE4m3 = 256;
constexpr int64_t kMostTokensInt8 = 256;

// 0: it is not taken at all.
int64_t most_tokens(const WeightFacts& weight) {
  if (weight.is_panels) return 0;
  switch (form_of(weight)) {
    case InputForm::kBF16:
      return kMostTokensHalves;
    case InputForm::kF16:  // e4m3 whose inputs stay as they are too
      return weight.type == ElementType::kF16 ? kMostTokensHalves : 0;
    case InputForm::kE4m3:
      return kMostTokensE4m3;
    case InputForm::kInt8:
      return kMostTokensInt8;
    default:
      return 0;
  }
}

InputForm form_of_all(std::span<const LinearOutput> outputs) {
  const WeightFacts& first = weight_of(*outputs.front().linear).facts;
  if (first.type != ElementType::kE4M3) return form_of(first);
  const bool has_spans =
      first.input.block > 0 || std::ranges::any_of(outputs, [](const LinearOutput& output) {
        return weight_of(*output.linear).facts.scale_spans > 1;
      });
  return has_spans ? InputForm::kE4m3Blocks : InputForm::kE4m3Rows;
}

}  // namespace

bool takes_rows_sm90(const WeightFacts& weight, int64_t tokens) {
  return tokens >= kLeastTokens && tokens <= most_tokens(weight) && is_hopper();
}

Result<bool> run_rows_sm90(Inputs& inputs, std::span<const LinearOutput> outputs, Stream stream) {
  const Weight& first = weight_of(*outputs.front().linear);
  INGOT_TRY(const PreparedInput x, inputs.get(form_of_all(outputs), first, stream));
  return linear_rows_sm90(first.facts.type, parts_of(outputs, x), x.floats, stream);
}

}  // namespace ingot::cuda
