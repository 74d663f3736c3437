// SPDX-License-Identifier: Apache-2.0
// Writes new keys and values to their pages, a warp for a row and kv head, its key and then its
// value; where keys are rotated by position, more warps rotate the queries. Reads 4 bytes and
// writes at most 4 a value; a step's rows are few.
#include "kernels/cuda/attention_store.cuh"
#include "kernels/cuda/launch.cuh"

namespace ingot::cuda {
namespace {

constexpr int kWarps = 4;

struct StoreParams {
  StoreKvArgs args;
  KvLayout layout;
};

template <int kCount>
__global__ void __launch_bounds__(kWarps * 32)
    store_rows(const __grid_constant__ StoreParams params) {
  let_next_begin();
  wait_for_inputs();
  const StoreKvArgs& args = params.args;
  const DeviceSequences& sequences = args.sequences;
  const int lane = threadIdx.x % 32;
  const int item = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / 32;
  const int items_each = args.kv.kv_heads + (args.q == nullptr ? 0 : args.heads);
  const int row = item / items_each;
  const int head = item % items_each;
  if (row >= sequences.rows) return;
  if (head >= args.kv.kv_heads) {
    const int dim = args.kv.key_dim;
    float* q = args.q + row * args.q_stride + static_cast<int64_t>(head - args.kv.kv_heads) * dim;
    float x[kCount];
    load_rotated(q, dim, args.rope, row, true, lane, x);
    __syncwarp();  // all of it has been read
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      if (32 * j + lane < dim) q[32 * j + lane] = x[j];
    }
    return;
  }
  const int sequence = sequences.row_sequence[row];
  if (sequence < 0 || sequence >= sequences.sequences) return;
  const int token = row - sequences.first_row[sequence];
  if (token < 0 || token >= sequences.tokens[sequence]) return;
  const int position = sequences.first_position[sequence] + token;
  std::byte* page = key_place(args.kv, params.layout, sequences, sequence, position);
  if (page == nullptr) return;
  store_new<kCount, true>(args.kv, params.layout, args.fresh, args.rope, row, head, position, lane,
                          page);
  store_new<kCount, false>(args.kv, params.layout, args.fresh, args.rope, row, head, position, lane,
                           page);
}

}  // namespace

void store_kv(const StoreKvArgs& args, Stream stream) {
  if (args.sequences.rows == 0 || args.sequences.sequences == 0) return;
  const StoreParams params{args, kv_layout(args.kv)};
  const int64_t items_each = args.kv.kv_heads + (args.q == nullptr ? 0 : args.heads);
  const int64_t items = args.sequences.rows * items_each;
  const auto blocks = static_cast<unsigned>((items + kWarps - 1) / kWarps);
  const int dim = args.kv.key_dim > args.kv.value_dim ? args.kv.key_dim : args.kv.value_dim;
  if (dim <= 128)
    launch_early(store_rows<4>, {dim3(blocks), kWarps * 32}, stream, params);
  else if (dim <= 256)
    launch_early(store_rows<8>, {dim3(blocks), kWarps * 32}, stream, params);
  else
    launch_early(store_rows<32>, {dim3(blocks), kWarps * 32}, stream, params);
}

}  // namespace ingot::cuda
