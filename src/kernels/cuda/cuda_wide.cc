// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_wide.h"

#include "kernels/cuda/decode.h"
#include "kernels/cuda/outputs.h"
#include "kernels/cuda/small_ops.h"

namespace ingot::cuda {
namespace {

// From so many tokens on the library's products are faster than our kernels: where weights are
// decoded first, and where they are multiplied as they are.
constexpr int64_t kWideTokens = 257;
constexpr int64_t kWideTokensPlain = 9;
constexpr int64_t kWideTokensFp8 = 33;  // whose tiles of 128 tokens are not worth it before

const float* floats_of(const Memory& memory) {
  return reinterpret_cast<const float*>(memory.data());
}

bool is_decoded(const WeightFacts& weight) {
  return weight.is_panels || weight.type == ElementType::kE4M3;
}

}  // namespace

bool WideProducts::takes(const WeightFacts& weight, int64_t tokens) const {
  if (library_ == nullptr || form_of(weight) == InputForm::kF32) return false;
  if (!weight.is_panels && weight.type == ElementType::kInt8) return tokens >= kWideTokensPlain;
  const bool is_fp8 = weight.scales != ProductScales::kNone;
  const bool is_plain = !is_decoded(weight);
  if (is_batch_invariant_) return is_fp8 || is_plain;
  return tokens >= (is_fp8 ? kWideTokensFp8 : is_plain ? kWideTokensPlain : kWideTokens);
}

InputForm WideProducts::form(const WeightFacts& weight) {
  if (!weight.is_panels && weight.type == ElementType::kInt8) return InputForm::kInt8;
  if (weight.scales == ProductScales::kNone) return wide_form_of(weight);
  return weight.scales == ProductScales::kOuter ? InputForm::kE4m3Rows : InputForm::kE4m3Blocks;
}

Result<bool> WideProducts::run(Inputs& inputs, const Weight& weight, const WideOutput& output,
                               Stream stream) {
  const WeightFacts& facts = weight.facts;
  if (!facts.is_panels && facts.type == ElementType::kInt8)
    return run_int8(inputs, weight, output, stream);
  if (facts.scales != ProductScales::kNone) {
    INGOT_TRY(const bool is_done, run_e4m3(inputs, weight, output, stream));
    if (is_done) return true;
    if (is_batch_invariant_ || inputs.tokens() < kWideTokens) return false;
  }
  return run_floats(inputs, weight, output, stream);
}

Status WideProducts::grow(Memory& memory, size_t bytes) {
  if (bytes <= memory.size()) return Status::ok();
  ++moves_;
  return memory.reserve(bytes);
}

Result<MatMul> WideProducts::product(const Weight& weight, const FloatInput& x,
                                     const WideOutput& output) {
  const WeightFacts& facts = weight.facts;
  if (x.tokens % x.tiles.each != 0) {
    INGOT_TRY(grow(tail_, static_cast<size_t>(x.tiles.last * output.y_stride) * sizeof(float)));
  }
  return MatMul{.type = x.type,
                .weights = weight.data.data(),
                .weight_stride = facts.stride,
                .x = x.values,
                .x_stride = x.stride,
                .y = output.y,
                .y_stride = output.y_stride,
                .rows = facts.rows,
                .cols = facts.cols,
                .tokens = x.tokens,
                .tiles = x.tiles,
                .tail = tail_.data(),
                .is_batch_invariant = is_batch_invariant_};
}

Result<bool> WideProducts::run_floats(Inputs& inputs, const Weight& weight,
                                      const WideOutput& output, Stream stream) {
  const WeightFacts& facts = weight.facts;
  INGOT_TRY(const PreparedInput x, inputs.get(wide_form_of(facts), weight, stream));
  INGOT_TRY(MatMul args, product(weight, x.floats, output));
  args.weight_stride = facts.stride / 2;
  if (is_decoded(facts)) {
    INGOT_TRY(grow(decoded_, static_cast<size_t>(facts.rows * facts.cols) * 2));
    args.weights = decoded_.data();
    args.weight_stride = facts.cols;
    if (facts.is_panels) {
      decode_panels(facts.packing, weight.data.data(), facts.rows, facts.cols, facts.scale,
                    decoded_.data(), stream);
    } else {
      decode_e4m3(weight.data.data(), facts.stride, floats_of(weight.row_scales), facts.scale_spans,
                  facts.rows, facts.cols, decoded_.data(), stream);
    }
  }
  if (weight.bias.size() == 0) return library_->run(args, stream);
  args.bias = floats_of(weight.bias);
  if (library_->run(args, stream)) return true;
  args.bias = nullptr;
  if (!library_->run(args, stream)) return false;
  finish_rows(output.y, output.y_stride, 1, floats_of(weight.bias),
              static_cast<int32_t>(facts.rows), static_cast<int32_t>(inputs.tokens()), stream);
  return true;
}

Result<bool> WideProducts::run_e4m3(Inputs& inputs, const Weight& weight, const WideOutput& output,
                                    Stream stream) {
  const bool is_outer = weight.facts.scales == ProductScales::kOuter;
  INGOT_TRY(const PreparedInput x, inputs.get(form(weight.facts), weight, stream));
  INGOT_TRY(MatMul args, product(weight, x.floats, output));
  args.scales = weight.facts.scales;
  args.weight_scales = floats_of(is_outer ? weight.row_scales : weight.block_scales);
  args.x_scales = x.floats.scales;
  const float* const bias = floats_of(weight.bias);
  const auto rows = static_cast<int32_t>(weight.facts.rows);
  if (library_->run(args, stream)) {
    // The library would take a bias of bf16 only.
    if (bias != nullptr)
      finish_rows(output.y, output.y_stride, 1, bias, rows, x.floats.tokens, stream);
    return true;
  }
  if (!is_outer) return false;
  // Scales of rows and tokens can as well be multiplied by afterwards.
  args.scales = ProductScales::kNone;
  if (!library_->run(args, stream)) return false;
  finish_float_sums({.y = output.y,
                     .stride = output.y_stride,
                     .row_scales = args.weight_scales,
                     .token_scales = args.x_scales,
                     .shifts = nullptr,
                     .row_sums = nullptr,
                     .bias = bias,
                     .rows = rows,
                     .tokens = x.floats.tokens},
                    stream);
  return true;
}

Result<bool> WideProducts::run_int8(Inputs& inputs, const Weight& weight, const WideOutput& output,
                                    Stream stream) {
  INGOT_TRY(const PreparedInput x, inputs.get(form(weight.facts), weight, stream));
  INGOT_TRY(const MatMul args, product(weight, x.floats, output));
  if (!library_->run(args, stream)) return false;
  finish_whole_sums({.y = output.y,
                     .stride = output.y_stride,
                     .row_scales = floats_of(weight.row_scales),
                     .token_scales = x.floats.scales,
                     .shifts = x.shifts,
                     .row_sums = floats_of(weight.row_sums),
                     .bias = floats_of(weight.bias),
                     .rows = static_cast<int32_t>(weight.facts.rows),
                     .tokens = x.floats.tokens},
                    stream);
  return true;
}

}  // namespace ingot::cuda
