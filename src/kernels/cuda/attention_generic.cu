// SPDX-License-Identifier: Apache-2.0
// Attention in f32 on plain cores, for everything the tensor cores do not take: f32 caches, int4,
// odd head sizes. A thread block takes one row, one head and a share of the splits: a warp scores
// every fourth position, its lanes sharing the elements; then every thread mixes one element of the
// values (or one in 128) over all positions. Every element is read once per query head: correct,
// not fast.
#include <algorithm>

#include "kernels/cuda/attention_device.cuh"
#include "kernels/cuda/attention_paths.h"

namespace ingot::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr int kSplit = 128;  // positions; a thread finds one's rows
constexpr int kMostElements = 8;
constexpr int kBusyBlocks = 1024;

__device__ __forceinline__ float half_at(const std::byte* from) {  // maybe at an odd address
  const auto* bytes = reinterpret_cast<const uint8_t*>(from);
  return __half2float(__ushort_as_half(static_cast<uint16_t>(bytes[0] | (bytes[1] << 8))));
}
template <__nv_fp8_interpretation_t kKind>
__device__ __forceinline__ float fp8_at(const std::byte* from) {
  const auto bits = static_cast<__nv_fp8_storage_t>(*from);
  return __half2float(static_cast<__half>(__nv_cvt_fp8_to_halfraw(bits, kKind)));
}

// A stored row: what its numbers are multiplied by and begin at, then element by element.
template <KvType kType, bool kIsKey>
struct Row {
  __device__ Row(const std::byte* at, int dim) : codes(at) {
    if constexpr (kType == KvType::kInt8) scale = half_at(at + dim);
    if constexpr (kType == KvType::kInt4) {
      scale = half_at(at + (dim + 1) / 2);
      base = half_at(at + (dim + 1) / 2 + 2);
    }
  }
  __device__ float operator[](int i) const {
    if constexpr (kType == KvType::kF32) return reinterpret_cast<const float*>(codes)[i];
    if constexpr (kType == KvType::kF16)
      return __half2float(reinterpret_cast<const __half*>(codes)[i]);
    if constexpr (kType == KvType::kBF16)
      return __bfloat162float(reinterpret_cast<const __nv_bfloat16*>(codes)[i]);
    if constexpr (kType == KvType::kFp8E4M3 || (kType == KvType::kFp8E5M2 && kIsKey))
      return fp8_at<__NV_E4M3>(codes + i);
    if constexpr (kType == KvType::kFp8E5M2 && !kIsKey) return fp8_at<__NV_E5M2>(codes + i);
    if constexpr (kType == KvType::kInt8)
      return __fmul_rn(static_cast<float>(reinterpret_cast<const int8_t*>(codes)[i]), scale);
    if constexpr (kType == KvType::kInt4) {
      const auto pair = static_cast<unsigned>(codes[i / 2]);
      return __fmaf_rn(static_cast<float>((pair >> (4 * (i % 2))) & 0xFu), scale, base);
    }
    return 0;
  }
  const std::byte* codes;
  float scale = 1;
  float base = 0;
};

__device__ float precise_logit(float score, const LogitArgs& args, int distance) {
  float logit = __fmul_rn(score, args.scale);
  if (args.softcap != 0) logit = __fmul_rn(args.softcap, tanhf(__fdiv_rn(logit, args.softcap)));
  if (args.slope != 0) logit = __fmaf_rn(args.slope, static_cast<float>(distance), logit);
  return __fmul_rn(logit, kLog2E);
}

// All threads get the same.
template <class Op>
__device__ float block_reduce(float value, float* memory, Op op) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2)
    value = op(value, __shfl_xor_sync(kAllLanes, value, mask));
  __syncthreads();
  if (threadIdx.x % 32 == 0) memory[threadIdx.x / 32] = value;
  __syncthreads();
  value = memory[0];
#pragma unroll
  for (int warp = 1; warp < kWarps; ++warp)
    value = op(value, memory[warp]);
  return value;
}

template <KvType kType>
__global__ void __launch_bounds__(kThreads)
    attend_generic(const __grid_constant__ AttentionStep step) {
  extern __shared__ float query[];  // [key_dim]
  __shared__ const std::byte* key_rows[kSplit];
  __shared__ const std::byte* value_rows[kSplit];
  __shared__ float weights[kSplit];
  __shared__ float reduced[kWarps];
  const AttentionArgs& args = step.args;
  const DeviceSequences& sequences = args.sequences;
  const Splits& splits = step.splits;
  const int row = static_cast<int>(blockIdx.x) / splits.shares;
  const int share_index = static_cast<int>(blockIdx.x) % splits.shares;
  const int head = static_cast<int>(blockIdx.y);
  const int sequence = sequences.row_sequence[row];
  if (sequence < 0 || sequence >= sequences.sequences) return;
  const int token = row - sequences.first_row[sequence];
  if (token < 0 || token >= sequences.tokens[sequence]) return;
  const int position = sequences.first_position[sequence] + token;
  const int seen = first_seen(position, args.window);
  const int* pages = sequences.pages + sequence * sequences.table_stride;
  const int kv_head = head / (args.heads / args.kv.kv_heads);
  const int key_dim = args.kv.key_dim;
  const int value_dim = args.kv.value_dim;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const int warp = thread / 32;

  const float* q = args.q + row * args.q_stride + static_cast<int64_t>(head) * key_dim;
  for (int i = thread; i < key_dim; i += kThreads)
    query[i] = q[i];
  __syncthreads();
  if constexpr (rotates_keys(kType)) {  // in shared memory, as rows may have any length
    const int size = key_dim & -key_dim;
    const float scale = __frcp_rn(__fsqrt_rn(static_cast<float>(size)));
    for (int half = 1; half < size; half *= 2) {
      for (int i = thread; i < key_dim; i += kThreads) {
        if ((i & half) != 0) continue;
        const float a = query[i];
        const float b = query[i + half];
        query[i] = a + b;
        query[i + half] = a - b;
      }
      __syncthreads();
    }
    for (int i = thread; i < key_dim; i += kThreads)
      query[i] *= scale;
    __syncthreads();
  }

  const LogitArgs logit_args{args.scale, args.softcap,
                             args.alibi_slopes == nullptr ? 0.0F : args.alibi_slopes[head]};
  const int64_t first_partial = (static_cast<int64_t>(row) * args.heads + head) * splits.most;
  float largest = minus_infinity();
  float sum = 0;
  float total[kMostElements] = {};
  const int last_split = position / kSplit;
  for (int split = seen / kSplit + share_index; split <= last_split; split += splits.shares) {
    const int begin = max(split * kSplit, seen);
    const int count = min((split + 1) * kSplit, position + 1) - begin;
    if (thread < count) {
      const int at = begin + thread;
      const int64_t place =
          static_cast<int64_t>(kv_head) * args.kv.page_tokens + (at & (args.kv.page_tokens - 1));
      const std::byte* page =
          args.kv.data + pages[at >> step.layout.page_shift] * args.kv.page_stride;
      key_rows[thread] = page + place * step.layout.key_row_bytes;
      value_rows[thread] = page + step.layout.value_offset + place * step.layout.value_row_bytes;
    }
    __syncthreads();
    for (int i = warp; i < count; i += kWarps) {
      const Row<kType, true> key(key_rows[i], key_dim);
      float score = 0;
      for (int d = lane; d < key_dim; d += 32)
        score = __fmaf_rn(query[d], key[d], score);
#pragma unroll
      for (int mask = 16; mask > 0; mask /= 2)
        score += __shfl_xor_sync(kAllLanes, score, mask);
      if (lane == 0) weights[i] = precise_logit(score, logit_args, begin + i - position);
    }
    __syncthreads();
    const float logit = thread < count ? weights[thread] : minus_infinity();
    const float part_largest =
        block_reduce(logit, reduced, [](float a, float b) { return fmaxf(a, b); });
    const float base = part_largest == minus_infinity() ? 0.0F : part_largest;
    const float weight = exp2f(logit - base);
    weights[thread] = weight;
    const float part_sum = block_reduce(weight, reduced, [](float a, float b) { return a + b; });
    float part[kMostElements] = {};
    for (int i = 0; i < count; ++i) {
      const Row<kType, false> value(value_rows[i], value_dim);
#pragma unroll
      for (int e = 0; e < kMostElements; ++e) {
        const int d = thread + e * kThreads;
        if (d < value_dim) part[e] = __fmaf_rn(weights[i], value[d], part[e]);
      }
    }
    __syncthreads();  // before rows and weights are written anew
    if (splits.values != nullptr) {
      const int64_t at = first_partial + split;
      if (thread == 0) {
        splits.stats[at * 2] = part_largest;
        splits.stats[at * 2 + 1] = part_sum;
      }
#pragma unroll
      for (int e = 0; e < kMostElements; ++e) {
        const int d = thread + e * kThreads;
        if (d < value_dim) splits.values[at * value_dim + d] = part[e];
      }
      continue;
    }
    const Share share = join_largest(largest, part_largest);
    sum = join(sum, part_sum, share);
#pragma unroll
    for (int e = 0; e < kMostElements; ++e)
      total[e] = join(total[e], part[e], share);
  }
  if (splits.values != nullptr) return;
  const float factor = last_factor(largest, sum, args.sinks, head);
#pragma unroll
  for (int e = 0; e < kMostElements; ++e) {
    const int d = thread + e * kThreads;
    if (d < value_dim)
      args.out[row * args.out_stride + static_cast<int64_t>(head) * value_dim + d] =
          __fmul_rn(total[e], factor);
  }
}

template <KvType kType>
void launch(const AttentionStep& step, Stream stream) {
  const dim3 grid(
      static_cast<unsigned>(step.args.sequences.rows) * static_cast<unsigned>(step.splits.shares),
      static_cast<unsigned>(step.args.heads));
  attend_generic<kType>
      <<<grid, kThreads, static_cast<size_t>(step.args.kv.key_dim) * sizeof(float), stream>>>(step);
}

}  // namespace

void launch_generic(const AttentionArgs& args, Stream stream) {
  AttentionStep step{};
  step.args = args;
  step.layout = kv_layout(args.kv);
  step.tokens = {1, args.sequences.most_tokens};
  step.splits = plan_splits(args, step.tokens, kSplit,
                            static_cast<int64_t>(args.sequences.rows) * args.heads, kBusyBlocks);
  switch (args.kv.type) {
    case KvType::kF32:
      launch<KvType::kF32>(step, stream);
      break;
    case KvType::kF16:
      launch<KvType::kF16>(step, stream);
      break;
    case KvType::kBF16:
      launch<KvType::kBF16>(step, stream);
      break;
    case KvType::kFp8E4M3:
      launch<KvType::kFp8E4M3>(step, stream);
      break;
    case KvType::kFp8E5M2:
      launch<KvType::kFp8E5M2>(step, stream);
      break;
    case KvType::kInt8:
      launch<KvType::kInt8>(step, stream);
      break;
    case KvType::kInt4:
      launch<KvType::kInt4>(step, stream);
      break;
  }
  if (step.splits.values != nullptr) launch_join(step, stream);
}

}  // namespace ingot::cuda
