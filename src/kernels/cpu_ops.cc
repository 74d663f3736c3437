// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu_ops.h"

#include <algorithm>

#include "base/check.h"
#include "blocks/layout.h"

namespace ingot {
namespace {

// Floats a thread takes at least: in sums and products, and where exponentials are computed.
constexpr int64_t kElementGrain = 8192;
constexpr int64_t kActivationGrain = 2048;

}  // namespace

CpuOps::CpuOps(Exec exec, TargetSet targets, KvCacheType cache_type)
    : exec_(exec),
      attention_(&choose_attention(cache_type, targets)),
      norm_(&choose_norm(targets)),
      rope_(&choose_rope(targets)),
      elementwise_(&choose_elementwise(targets)),
      inputs_{Activations(targets), Activations(targets)} {}

float* CpuOps::buffer(Buffer which, int64_t floats) {
  Scratch& scratch = buffers_[static_cast<size_t>(which)];
  return reinterpret_cast<float*>(scratch.reserve(static_cast<size_t>(floats) * sizeof(float)));
}

void CpuOps::write(float* to, std::span<const float> from) {
  std::ranges::copy(from, to);
}

Status CpuOps::read(const float* from, std::span<float> to) {
  std::copy_n(from, to.size(), to.begin());
  return Status::ok();
}

Result<std::span<const float>> CpuOps::view(const float* from, size_t count) {
  return std::span(from, count);
}

void CpuOps::embed(const EmbeddingTable& table, float factor, float* out, int64_t dim) {
  const TensorView& view = *table.view;
  const uint64_t row_bytes = view.row_bytes();
  exec_.for_ranges(rows(), 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto token = static_cast<uint64_t>(step_.tokens[static_cast<size_t>(i)]);
      const std::span<float> row(out + i * dim, static_cast<size_t>(dim));
      dequantize(view.layout, view.bytes.subspan(token * row_bytes, row_bytes), row);
      if (factor == 1) continue;
      for (float& value : row)
        value *= factor;
    }
  });
}

void CpuOps::add_positions(std::span<const float> table, float* x, int64_t dim) {
  INGOT_CHECK(step_.position_rows.size() == step_.tokens.size());
  for (const int32_t row : step_.position_rows) {
    elementwise_->add_scaled(x, table.data() + row * dim, 1, dim);
    x += dim;
  }
}

void CpuOps::normalize(const NormOp& norm, const float* x, float* y, int64_t rows, int64_t dim) {
  const NormArgs args{.kind = norm.kind,
                      .x = x,
                      .x_stride = dim,
                      .y = y,
                      .y_stride = dim,
                      .dim = dim,
                      .eps = norm.eps,
                      .weight = norm.weight.empty() ? nullptr : norm.weight.data(),
                      .weight_rows = norm.weight.empty() ? 1 : std::ssize(norm.weight) / dim,
                      .bias = norm.bias.empty() ? nullptr : norm.bias.data()};
  const int64_t grain = std::max<int64_t>(1, kElementGrain / dim);
  exec_.for_ranges(rows, grain, [&](int64_t begin, int64_t end) { norm_->run(args, begin, end); });
}

void CpuOps::add_and_normalize(float* x, const float* branch, float factor, const NormOp& norm,
                               float* y, int64_t rows, int64_t dim) {
  add_scaled(x, branch, factor, rows * dim);
  normalize(norm, x, y, rows, dim);
}

void CpuOps::set_input(InputSlot slot, const float* x, int64_t rows, int64_t cols) {
  inputs_[static_cast<size_t>(slot)].set(x, rows, cols);
}

void CpuOps::run_linears(InputSlot slot, std::span<const LinearOutput> outputs) {
  ingot::run_linears(exec_, inputs_[static_cast<size_t>(slot)], outputs);
}

void CpuOps::clamp(float* x, float limit, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    x[i] = std::clamp(x[i], -limit, limit);
}

void CpuOps::rotate(const RotateOp& op) {
  const RopeAngles& angles = step_.ropes[op.rope];
  const RopeArgs args{.pairing = angles.pairing,
                      .x = op.x,
                      .token_stride = op.heads * op.head_dim,
                      .heads = op.heads,
                      .head_dim = op.head_dim,
                      .pairs = angles.pairs,
                      .cos = angles.cos,
                      .sin = angles.sin};
  exec_.for_ranges(rows(), 8, [&](int64_t begin, int64_t end) { rope_->run(args, begin, end); });
}

void CpuOps::attend(const AttendOp& op) {
  INGOT_CHECK(op.kv.shape.type == attention_->type);
  const PagedKvShape& shape = op.kv.shape;
  const std::span<const SequenceRows> sequences = step_.groups[op.group];
  attention_->store({.kv = op.kv,
                     .k = op.k,
                     .k_stride = shape.kv_heads * shape.key_dim,
                     .v = op.v,
                     .v_stride = shape.kv_heads * shape.value_dim,
                     .sequences = sequences},
                    exec_);
  attention_->run({.kv = op.kv,
                   .q = op.q,
                   .q_stride = op.heads * shape.key_dim,
                   .out = op.out,
                   .out_stride = op.heads * shape.value_dim,
                   .heads = op.heads,
                   .scale = op.scale,
                   .softcap = op.softcap,
                   .window = op.window,
                   .alibi_slopes = op.alibi_slopes.empty() ? nullptr : op.alibi_slopes.data(),
                   .sinks = op.sinks.empty() ? nullptr : op.sinks.data(),
                   .sequences = sequences},
                  exec_);
}

void CpuOps::activate(Activation activation, const float* gate, const float* up, float* out,
                      int64_t count) {
  exec_.for_ranges(count, kActivationGrain, [&](int64_t begin, int64_t end) {
    elementwise_->activate(activation, gate + begin, up == nullptr ? nullptr : up + begin,
                           out + begin, end - begin);
  });
}

void CpuOps::add_scaled(float* y, const float* x, float factor, int64_t count) {
  exec_.for_ranges(count, kElementGrain, [&](int64_t begin, int64_t end) {
    elementwise_->add_scaled(y + begin, x + begin, factor, end - begin);
  });
}

void CpuOps::copy_rows(RowList rows, const float* x, int64_t dim, float* out) {
  for (const int64_t row : rows == RowList::kOutput ? step_.output_rows : step_.hidden_rows)
    out = std::copy_n(x + row * dim, dim, out);
}

void CpuOps::finish_logits(float* y, float scale, float cap, int64_t count) {
  if (scale != 1) {
    for (int64_t i = 0; i < count; ++i)
      y[i] *= scale;
  }
  if (cap != 0) elementwise_->softcap(y, cap, count);
}

}  // namespace ingot
