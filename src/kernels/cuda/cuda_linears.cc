// SPDX-License-Identifier: Apache-2.0
// Linear layers of CudaOps: which of them share a launch, and which kernel, or the library, takes
// them (docs/gpu.md has the table).
#include <array>

#include "kernels/cuda/cuda_ops.h"
#include "kernels/cuda/cuda_parts.h"
#include "kernels/cuda/cuda_rows_sm90.h"
#include "kernels/cuda/hopper.h"

namespace ingot::cuda {
namespace {

// From so many tokens on it pays to decode codes to f16.
int64_t decoded_from() {
  return (is_hopper() ? 1 : 2) * kTileTokens + 1;
}

bool is_bytes(InputForm form) {
  return form == InputForm::kBytes32 || form == InputForm::kBytes256;
}
bool is_halves(InputForm form) {
  return form == InputForm::kF16 || form == InputForm::kF16Eights || form == InputForm::kF16Fours ||
         form == InputForm::kBF16;
}

// Of our own kernels for few tokens. Inputs that a checkpoint wants in codes stay so.
InputForm narrow_form(const WeightFacts& weight, int64_t tokens, bool is_batch_invariant) {
  const bool is_decoded =
      weight.is_panels && tokens >= decoded_from() && !is_batch_invariant && !weight.input.rounds();
  return is_decoded ? decoded_form_of(weight) : form_of(weight);
}

// Whether a kernel of ours, for inputs in `form`, multiplies by gate and up together and is faster
// for it (docs/performance.md). Panels of sixteen rows, which one token alone is multiplied by, are
// few for a device: in pairs some processors would be done long before others.
bool takes_gated(const WeightFacts& weight, InputForm form, int64_t tokens) {
  if (weight.is_panels) return !is_bytes(form) && is_hopper();
  if (weight.type == ElementType::kInt8) return true;
  if (weight.type == ElementType::kE4M3)
    return form != InputForm::kF32 && weight.scale_spans == 1 && weight.input.block == 0;
  return form != InputForm::kF32 && tokens == 1;
}
// In an order of columns that their kernel can write.
bool fills(const WeightFacts& weight, InputForm next, bool by_rows_sm90) {
  const bool is_plain = next == InputForm::kF16 || next == InputForm::kBF16;
  return is_plain || (is_halves(next) && (by_rows_sm90 || weight.is_panels));
}

}  // namespace

// The branch's linears write what the input inside the branch before was made of.
void CudaOps::forget_inner(InputSlot slot) {
  if (slot == InputSlot::kBranch) inputs_[static_cast<size_t>(InputSlot::kInner)].forget_maker();
}

void CudaOps::run_linears(InputSlot slot, std::span<const LinearOutput> outputs) {
  if (!status_.is_ok()) return;
  flush();
  forget_inner(slot);
  Inputs& inputs = inputs_[static_cast<size_t>(slot)];
  for (size_t first = 0; first < outputs.size();) {
    const std::span<const LinearOutput> group =
        outputs.subspan(first, count_together(outputs.subspan(first)));
    const Weight& weight = weight_of(*group.front().linear);
    if (!is_batch_invariant_ && takes_rows_sm90(group, inputs.tokens())) {
      const Result<bool> is_done = run_rows_sm90(inputs, group, {}, stream_);
      keep(is_done.status());
      if (!status_.is_ok()) return;
      if (*is_done) {
        first += group.size();
        continue;
      }
    }
    if (wide_.takes(weight.facts, inputs.tokens())) {
      const LinearOutput& output = group.front();
      const Result<bool> is_done = wide_.run(inputs, weight, {output.y, output.y_stride}, stream_);
      keep(is_done.status());
      if (!status_.is_ok()) return;
      if (*is_done) {
        ++first;
        continue;
      }
    }
    const Result<size_t> together = run_pair(inputs, outputs.subspan(first));
    keep(together.status());
    if (!status_.is_ok()) return;
    if (*together == 0) keep(run_narrow(inputs, group));
    first += *together == 0 ? group.size() : *together;
  }
}

Result<size_t> CudaOps::run_pair(Inputs& inputs, std::span<const LinearOutput> outputs) {
  const size_t count = count_together(outputs);
  if (inputs.tokens() != 1 || count == outputs.size()) return size_t{0};
  const auto first = outputs.first(count);
  const auto second = outputs.subspan(count, count_together(outputs.subspan(count)));
  const Weight& weights = weight_of(*first.front().linear);
  const Weight& others = weight_of(*second.front().linear);
  const InputForm form = form_of(weights.facts);
  if (!weights.facts.is_panels || !others.facts.is_panels || form != InputForm::kBytes256 ||
      form_of(others.facts) != form || weights.order != others.order) {
    return size_t{0};
  }
  INGOT_TRY(const PreparedInput x, inputs.get(form, weights, stream_));
  INGOT_TRY(grow_zeros(linear_counters_, 2 * sizeof(uint32_t)));
  LinearParts parts[2] = {parts_of(first, x), parts_of(second, x)};
  for (size_t i = 0; i < 2; ++i)
    parts[i].counters = reinterpret_cast<uint32_t*>(linear_counters_.data()) + i;
  const bool is_done = linear_pair(weights.facts.packing, parts[0], others.facts.packing, parts[1],
                                   x.bytes, stream_);
  return is_done ? first.size() + second.size() : 0;
}

Status CudaOps::run_narrow(Inputs& inputs, std::span<const LinearOutput> outputs,
                           const Gating& gating) {
  const Weight& first = weight_of(*outputs.front().linear);
  const InputForm form = narrow_form(first.facts, inputs.tokens(), is_batch_invariant_);
  const bool is_decoded = first.facts.is_panels && !is_bytes(form);
  INGOT_TRY(const PreparedInput x, inputs.get(form, first, stream_));
  LinearParts parts = parts_of(outputs, x);
  parts.gating = gating;
  const LinearScratch scratch =
      is_decoded ? linear_scratch(parts, x.floats.tokens) : LinearScratch{0, sizeof(uint32_t)};
  INGOT_TRY(grow(linear_partials_, scratch.partials));
  INGOT_TRY(grow_zeros(linear_counters_, scratch.counters));
  parts.partials = reinterpret_cast<float*>(linear_partials_.data());
  parts.counters = reinterpret_cast<uint32_t*>(linear_counters_.data());
  if (is_decoded && form != InputForm::kF16) {
    if (!linear_warpgroups(first.facts.packing, parts, x.floats, stream_))
      return Status::internal("the GPU's driver cannot map a linear layer's inputs");
  } else if (is_decoded) {
    linear_decoded(first.facts.packing, parts, x.floats, stream_);
  } else if (first.facts.is_panels) {
    linear_panels(first.facts.packing, parts, x.bytes, stream_);
  } else if (form == InputForm::kF32) {
    linear_exact(first.facts.type, parts, x.floats, stream_);
  } else {
    linear_rows(first.facts.type, parts, x.floats, stream_);
  }
  return Status::ok();
}

InputForm CudaOps::form_for(std::span<const LinearOutput> outputs, int64_t tokens) const {
  const WeightFacts& facts = weight_of(*outputs.front().linear).facts;
  if (!is_batch_invariant_ && takes_rows_sm90(outputs, tokens)) return rows_sm90_form(outputs);
  if (wide_.takes(facts, tokens)) return WideProducts::form(facts);
  return narrow_form(facts, tokens, is_batch_invariant_);
}

void CudaOps::run_gated(InputSlot slot, const GatedOp& op) {
  if (!status_.is_ok()) return;
  flush();
  forget_inner(slot);
  const Result<bool> is_done = run_gated_at_once(inputs_[static_cast<size_t>(slot)], op);
  keep(is_done.status());
  if (status_.is_ok() && !*is_done) Ops::run_gated(slot, op);
}

Result<bool> CudaOps::run_gated_at_once(Inputs& inputs, const GatedOp& op) {
  const int64_t hidden = op.gate->rows();
  const std::array outputs{LinearOutput{op.gate, op.between, hidden},
                           LinearOutput{op.up, op.y, hidden}};
  const WeightFacts& facts = weight_of(*op.gate).facts;
  const WeightFacts& other = weight_of(*op.up).facts;
  const int64_t tokens = inputs.tokens();
  const InputForm form = form_for(outputs, tokens);
  if (op.activation != Activation::kSilu || count_together(outputs) != 2 ||
      op.up->rows() != hidden || other.stride != facts.stride ||
      !takes_gated(facts, form, tokens) || !takes_gated(other, form, tokens))
    return false;
  const bool by_rows = !is_batch_invariant_ && takes_rows_sm90(outputs, tokens);
  if (!by_rows && wide_.takes(facts, tokens)) return false;

  Gating gating{.is_on = true};
  const LinearOutput next{op.next, nullptr, 0};
  const InputForm next_form = form_for({&next, 1}, tokens);
  if (fills(facts, next_form, by_rows)) {
    Inputs& inner = inputs_[static_cast<size_t>(InputSlot::kInner)];
    INGOT_TRY(gating, inner.let_fill(op.y, tokens, hidden, next_form, weight_of(*op.next)));
  }
  if (by_rows) return run_rows_sm90(inputs, outputs, gating, stream_);
  INGOT_TRY(run_narrow(inputs, outputs, gating));
  return true;
}

}  // namespace ingot::cuda
