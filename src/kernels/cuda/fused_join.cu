// SPDX-License-Identifier: Apache-2.0
// Joins the splits of attention in ascending order, by the numbers of attention_join.cu, and packs
// the result. A thread joins two columns: rows are few, and with more columns a thread its code,
// which runs once, would be waited for. They go through shared memory to the warps that pack them,
// columns as in packed_rows.cuh.
#include "kernels/cuda/attention_device.cuh"
#include "kernels/cuda/fused_inputs.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/packed_rows.cuh"

namespace ingot::cuda {
namespace {

constexpr int kGroupWarps = 4;  // one of them packs
constexpr int kRowWarps = 16;   // of each block of a cluster that shares a row's scale
constexpr int kAtOnce = 12;     // splits whose loads are sent out together

constexpr int columns_of(int warps) {
  return 64 * warps;
}

using Kind = PackedRows::Kind;

// A row of the step, as far as its splits matter.
struct JoinedRow {
  int begin = 0;  // of its splits
  int end = 0;    // equal: it is of no sequence
};
// Known when the step begins: it does not wait for attention.
__device__ inline JoinedRow find_row(const AttentionStep& step, int row) {
  const DeviceSequences& sequences = step.args.sequences;
  const int sequence = sequences.row_sequence[row];
  if (sequence < 0 || sequence >= sequences.sequences) return {};
  const int token = row - sequences.first_row[sequence];
  if (token < 0 || token >= sequences.tokens[sequence]) return {};
  const int position = sequences.first_position[sequence] + token;
  return {first_seen(position, step.args.window) / step.splits.length,
          min(position / step.splits.length + 1, step.splits.most)};
}

// Columns `col` and `col` + 1, which are of one head.
__device__ inline float2 join_two(const AttentionStep& step, const JoinedRow& row, int index,
                                  int col) {
  const AttentionArgs& args = step.args;
  const int dim = args.kv.value_dim;
  float2 value = make_float2(0, 0);
  if (row.begin == row.end || col >= args.heads * dim) return value;
  const int head = col / dim;
  const int64_t first = (static_cast<int64_t>(index) * args.heads + head) * step.splits.most;
  const auto* values =
      reinterpret_cast<const float2*>(step.splits.values + first * dim + (col - head * dim));
  const auto* stats = reinterpret_cast<const float2*>(step.splits.stats) + first;
  float largest = minus_infinity();
  float sum = 0;
#pragma unroll 1
  for (int chunk = row.begin; chunk < row.end; chunk += kAtOnce) {
    float2 of[kAtOnce];  // the largest logit and the sum of a split
    float2 parts[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int split = min(chunk + i, row.end - 1);
      of[i] = stats[split];
      parts[i] = values[split * (dim / 2)];
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (chunk + i >= row.end) break;
      const Share share = join_largest(largest, of[i].x);
      sum = join(sum, of[i].y, share);
      value.x = join(value.x, parts[i].x, share);
      value.y = join(value.y, parts[i].y, share);
    }
  }
  const float factor = last_factor(largest, sum, args.sinks, head);
  value.x = __fmul_rn(value.x, factor);
  value.y = __fmul_rn(value.y, factor);
  *reinterpret_cast<float2*>(args.out + index * args.out_stride + col) = value;
  return value;
}

// kHasRowScale: a cluster has the row.
template <Kind kKind, int kWarps, bool kHasRowScale>
__global__ void __launch_bounds__(32 * kWarps)
    join_kernel(const __grid_constant__ AttentionStep step,
                const __grid_constant__ PackedRows out) {
  __shared__ __align__(16) float joined[columns_of(kWarps)];
  __shared__ typename RowRounding<kKind>::Letters letters;
  const bool is_shared = kHasRowScale && cluster_size() > 1;
  if (is_shared) {
    letters.open();
    begin_opening();
  }
  let_next_begin();
  const auto index = static_cast<int>(blockIdx.y);
  const JoinedRow row = find_row(step, index);
  wait_for_inputs();
  const auto thread = static_cast<int>(threadIdx.x);
  const int first_col = static_cast<int>(blockIdx.x) * columns_of(kWarps);
  reinterpret_cast<float2*>(joined)[thread] = join_two(step, row, index, first_col + 2 * thread);
  __syncthreads();
  const int cols = step.args.heads * step.args.kv.value_dim;
  const bool packs = thread < 8 * kWarps;
  const int block = first_col / kWarpColumns + thread / 32;
  RowRounding<kKind> rounding(out.scales.quant);
  float values[8] = {};
  if (packs) load_8(joined + 8 * thread, values);
  if constexpr (kHasRowScale) {
    rounding.take(values);
    if (is_shared) end_opening();
    rounding.close_cluster(letters);
  }
  if (packs && block * kWarpColumns < cols)
    pack_8<kKind>(values, rounding, cols, index, block, out);
}

unsigned blocks_of(const AttentionStep& step, int warps) {
  const int each = columns_of(warps);
  return static_cast<unsigned>((step.args.heads * step.args.kv.value_dim + each - 1) / each);
}

bool has_row_scale(const InputQuant& quant) {
  return quant.rounds() && (quant.kind != InputKind::kE4m3 || quant.block != kSpan);
}

}  // namespace

bool can_fuse_join(const AttentionStep& step, const InputQuant& quant) {
  const AttentionArgs& args = step.args;
  if (args.kv.value_dim % 8 != 0 || args.out_stride != args.heads * args.kv.value_dim) return false;
  const unsigned most = device_generation() < 9 ? 1 : kMostOfCluster;
  return !has_row_scale(quant) || blocks_of(step, kRowWarps) <= most;
}

void join_and_pack(const AttentionStep& step, const PackedRows& out, Stream stream) {
  const auto rows = static_cast<unsigned>(step.args.sequences.rows);
  visit_kind(out.kind, [&]<Kind kKind>() {
    if constexpr (is_rounded(kKind)) {
      if (has_row_scale(out.scales.quant)) {
        unsigned size = 1;
        while (size < blocks_of(step, kRowWarps))
          size *= 2;
        return launch_early(join_kernel<kKind, kRowWarps, true>,
                            {dim3(size, rows), 32 * kRowWarps, 0, size}, stream, step, out);
      }
    }
    launch_early(join_kernel<kKind, kGroupWarps, false>,
                 {dim3(blocks_of(step, kGroupWarps), rows), 32 * kGroupWarps}, stream, step, out);
  });
}

}  // namespace ingot::cuda
