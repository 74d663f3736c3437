// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_rows_sm90.h"

#include <algorithm>

#include "kernels/cuda/cuda_parts.h"
#include "kernels/cuda/hopper.h"
#include "kernels/cuda/linear.h"

namespace ingot::cuda {
namespace {

constexpr int64_t kLeastTokens = 9;
// From more tokens on the library is faster: for one or two weights, and for three, which it
// multiplies one after the other.
struct MostTokens {
  int64_t of_one;
  int64_t of_three;
};
constexpr MostTokens kHalves = {32, 128};
constexpr MostTokens kE4m3 = {64, 256};
constexpr MostTokens kInt8 = {96, 256};

// Zeros: it is not taken at all.
MostTokens most_tokens(const WeightFacts& weight) {
  if (weight.is_panels) return {};
  switch (form_of(weight)) {
    case InputForm::kBF16:
      return kHalves;
    case InputForm::kF16:  // e4m3 whose inputs stay as they are too
      return weight.type == ElementType::kF16 ? kHalves : MostTokens{};
    case InputForm::kE4m3:
      return kE4m3;
    case InputForm::kInt8:
      return kInt8;
    default:
      return {};
  }
}

}  // namespace

bool takes_rows_sm90(std::span<const LinearOutput> outputs, int64_t tokens) {
  const MostTokens most = most_tokens(weight_of(*outputs.front().linear).facts);
  return tokens >= kLeastTokens && tokens <= (outputs.size() < 3 ? most.of_one : most.of_three) &&
         is_hopper();
}

InputForm rows_sm90_form(std::span<const LinearOutput> outputs) {
  const WeightFacts& first = weight_of(*outputs.front().linear).facts;
  if (first.type != ElementType::kE4M3) return form_of(first);
  const bool has_spans =
      first.input.block > 0 || std::ranges::any_of(outputs, [](const LinearOutput& output) {
        return weight_of(*output.linear).facts.scale_spans > 1;
      });
  return has_spans ? InputForm::kE4m3Blocks : InputForm::kE4m3Rows;
}

Result<bool> run_rows_sm90(Inputs& inputs, std::span<const LinearOutput> outputs,
                           const Gating& gating, Stream stream) {
  const Weight& first = weight_of(*outputs.front().linear);
  INGOT_TRY(const PreparedInput x, inputs.get(rows_sm90_form(outputs), first, stream));
  LinearParts parts = parts_of(outputs, x);
  parts.gating = gating;
  return linear_rows_sm90(first.facts.type, parts, x.floats, stream);
}

}  // namespace ingot::cuda
