// SPDX-License-Identifier: Apache-2.0
// attention_prefill.cuh's work on Hopper, for 16-bit caches and heads up to 128. A thread block
// takes one head and 128 queries: one warpgroup fetches keys and values, two compute, 64 queries
// each. These two take turns: one hands the tensor cores its next scores and its last weights, and
// while they multiply for the other it softens what it got.
#include <algorithm>

#include "kernels/cuda/attention_block_sm90.cuh"
#include "kernels/cuda/attention_device.cuh"
#include "kernels/cuda/attention_fetch_sm90.cuh"
#include "kernels/cuda/attention_paths.h"
#include "kernels/cuda/attention_prefill.h"
#include "kernels/cuda/hopper.h"
#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/tensor_copy.cuh"
#include "kernels/cuda/tensor_map.h"
#include "kernels/cuda/wgmma.cuh"

namespace ingot::cuda {
namespace {

using namespace sm90;  // NOLINT(google-build-using-namespace): this file is one half of it

template <class Element, int kDim>
class Compute {
  using Layout = Shape<kDim>;
  static constexpr int kScoreTiles = kPositions / 8;
  static constexpr int kValueTiles = kDim / 8;

 public:
  __device__ Compute(const AttentionStep& from, const BlockWork& what, uint8_t* shared)
      : args(from.args),
        work(what),
        memory(shared),
        places{shared_address(shared)},
        group(static_cast<int>(threadIdx.x) / kGroup - 1),
        warp(static_cast<int>(threadIdx.x) % kGroup / 32),
        lane(static_cast<int>(threadIdx.x) % 32) {}

  __device__ void run() const {
    // Every turn that is taken is given once; the first is group 0's.
    if (group == 1 && work.tiles > 1) arrive_for_threads_of(kTurnBarrier, kComputing * kGroup);
    load_queries();
    const uint64_t queries = matrix_descriptor(
        places.base + static_cast<uint32_t>(Layout::kQuery + group * Layout::kQueryBytes), 16,
        8 * kLine);
    const int first_own = group * kOwnRows;
    const int first_of_all = work.first_position + first_own;
    // Of a thread's two rows, eight apart.
    const int own_position = first_of_all + warp * 16 + lane / 4;
    const int all_see_from = first_seen(
        work.first_position + max(0, min(work.rows, first_own + kOwnRows) - 1), args.window);
    const bool is_plain = args.softcap == 0 && args.alibi_slopes == nullptr;
    const float unit = is_plain ? __fmul_rn(args.scale, kLog2E) : 1.0F;  // of a score, in logits

    float scores[4 * kScoreTiles];
    float out[4 * kValueTiles];
    uint32_t weights[2 * kScoreTiles];
    Rows rows{{minus_infinity(), minus_infinity()}, {}, {}};
#pragma unroll
    for (float& value : out)
      value = 0;

    const auto soften_tile = [&](int n) {
      const int first = (work.first_tile + n) * kPositions;
      if (!is_plain) make_logits(first, own_position, scores);
      if (first + kPositions - 1 > first_of_all || first < all_see_from)
        mask(first, own_position, scores);
      soften(unit, rows, scores);
    };
    const auto pack_weights = [&] {
#pragma unroll
      for (int i = 0; i < 2 * kScoreTiles; ++i)
        weights[i] = pack<Element>(scores[2 * i], scores[2 * i + 1]);
    };

    wait_for_phase(places.keys_there(0), 0);
    pin(scores);
    warpgroup_fence();
    score(queries, 0, scores);
    close_products();
    wait_for_products<0>();
    pin(scores);
    if (lane == 0) arrive(places.keys_used(0));
    soften_tile(0);
    pack_weights();
#pragma unroll 1
    for (int n = 1; n < work.tiles; ++n) {
      const int stage = n % kStages;
      const int last = (n - 1) % kStages;
      wait_for_phase(places.keys_there(stage), static_cast<uint32_t>(n / kStages) & 1u);
      wait_for_phase(places.values_there(last), static_cast<uint32_t>((n - 1) / kStages) & 1u);
      sync_threads_of(kTurnBarrier + group, kComputing * kGroup);
      pin(scores);
      pin(out);
      pin(weights);
      warpgroup_fence();
      score(queries, stage, scores);
      close_products();
      mix(weights, last, out);
      close_products();
      if (group == 0 || n + 1 < work.tiles)
        arrive_for_threads_of(kTurnBarrier + 1 - group, kComputing * kGroup);
      wait_for_products<1>();
      pin(scores);
      if (lane == 0) arrive(places.keys_used(stage));
      soften_tile(n);
      hold_waits_until_known(rows.sums[0] + rows.sums[1], places.base);
      wait_for_products<0>();
      pin(out);
      pin(weights);
      if (lane == 0) arrive(places.values_used(last));
      shrink(rows, out);
      pack_weights();
    }
    const int last = (work.tiles - 1) % kStages;
    wait_for_phase(places.values_there(last),
                   static_cast<uint32_t>((work.tiles - 1) / kStages) & 1u);
    pin(out);
    pin(weights);
    warpgroup_fence();
    mix(weights, last, out);
    close_products();
    wait_for_products<0>();
    pin(out);
    write(first_own + warp * 16 + lane / 4, rows, unit, out);
  }

 private:
  // A thread's two rows so far.
  struct Rows {
    float largest[2];
    float sums[2];    // of this thread's columns
    float shrink[2];  // what the last tile's larger logits make of all before
  };

  // Scores become weights. Halves of a row go through registers of their own, so that one's
  // latency is the other's time.
  __device__ static void soften(float unit, Rows& rows, float (&scores)[4 * kScoreTiles]) {
    float most[2][2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int e = 0; e < 2; ++e)
        most[h][e] = scores[2 * h + e];
    }
#pragma unroll
    for (int i = 1; i < kScoreTiles; ++i) {
#pragma unroll
      for (int e = 0; e < 4; ++e)
        most[e / 2][e % 2] = fmaxf(most[e / 2][e % 2], scores[4 * i + e]);
    }
    float shift[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float all = fmaxf(most[h][0], most[h][1]);
      all = fmaxf(all, __shfl_xor_sync(kAllLanes, all, 1));
      all = fmaxf(all, __shfl_xor_sync(kAllLanes, all, 2));
      all = fmaxf(all, rows.largest[h]);
      shift[h] = all == minus_infinity() ? 0.0F : __fmul_rn(all, unit);
      rows.shrink[h] = exp2_fast(__fmaf_rn(rows.largest[h], unit, -shift[h]));
      rows.largest[h] = all;
    }
    float added[2][2] = {};
#pragma unroll
    for (int i = 0; i < kScoreTiles; ++i) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        float& score = scores[4 * i + e];
        score = exp2_fast(__fmaf_rn(score, unit, -shift[e / 2]));
        added[e / 2][e % 2] += score;
      }
    }
#pragma unroll
    for (int h = 0; h < 2; ++h)
      rows.sums[h] = __fmaf_rn(rows.sums[h], rows.shrink[h], added[h][0] + added[h][1]);
  }

  // Most tiles have no row's largest logit.
  __device__ static void shrink(const Rows& rows, float (&out)[4 * kValueTiles]) {
    if (!__any_sync(kAllLanes, rows.shrink[0] != 1.0F || rows.shrink[1] != 1.0F)) return;
#pragma unroll
    for (int i = 0; i < kValueTiles; ++i) {
#pragma unroll
      for (int e = 0; e < 4; ++e)
        out[4 * i + e] *= rows.shrink[e / 2];
    }
  }

  // A warpgroup's queries, rounded; each warp loads a quarter.
  __device__ void load_queries() const {
    const bool is_in_fours = args.rope.cos == nullptr && args.q_stride % 4 == 0 &&
                             reinterpret_cast<uintptr_t>(args.q) % 16 == 0;
    if (is_in_fours)
      load_plain_queries();
    else
      load_turned_queries();
    fence_for_tensor_cores();
    sync_threads_of(kOwnBarrier + group, kGroup);
  }
  __device__ uint8_t* query(int own, int column) const {
    return memory + Layout::kQuery + group * Layout::kQueryBytes + column / 64 * kOwnRows * kLine +
           own * kLine + 16 * swizzled(own, column / 8 % 8) + column % 8 * 2;
  }
  // All loads at once: nothing else is under way yet that could hide their latency.
  __device__ void load_plain_queries() const {
    constexpr int kLanes = kDim / 4;  // of a row
    constexpr int kAtOnce = 32 / kLanes;
    constexpr int kLoads = kOwnRows / 4 / kAtOnce;
    const int column = lane % kLanes * 4;
    const int first = warp * (kOwnRows / 4) + lane / kLanes;
    const float* q = args.q + static_cast<int64_t>(work.head) * args.kv.key_dim + column;
    float4 x[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int row = group * kOwnRows + first + i * kAtOnce;
      x[i] = make_float4(0, 0, 0, 0);
      if (row < work.rows && column < args.kv.key_dim)
        x[i] = *reinterpret_cast<const float4*>(q + (work.first_row + row) * args.q_stride);
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      *reinterpret_cast<uint2*>(query(first + i * kAtOnce, column)) =
          make_uint2(pack<Element>(x[i].x, x[i].y), pack<Element>(x[i].z, x[i].w));
  }
  __device__ void load_turned_queries() const {
#pragma unroll 4
    for (int i = 0; i < kOwnRows / 4; ++i) {
      const int own = warp * (kOwnRows / 4) + i;
      const int row = group * kOwnRows + own;
      float x[kDim / 32];
      load_query(args, work.first_row + row, work.head, row < work.rows, lane, x);
#pragma unroll
      for (int j = 0; j < kDim / 32; ++j)
        *reinterpret_cast<Element*>(query(own, 32 * j + lane)) = static_cast<Element>(x[j]);
    }
  }

  __device__ void score(uint64_t queries, int stage, float (&scores)[4 * kScoreTiles]) const {
    const uint64_t keys = matrix_descriptor(places.keys(stage), 16, 8 * kLine);
#pragma unroll
    for (int k = 0; k < kDim / 16; ++k)
      multiply_64x128x16<Element>(
          scores, advanced(queries, static_cast<uint32_t>(k / 4 * kOwnRows * kLine + k % 4 * 32)),
          advanced(keys, static_cast<uint32_t>(k / 4 * Layout::kPanelBytes + k % 4 * 32)), k > 0);
  }

  __device__ void mix(const uint32_t (&weights)[2 * kScoreTiles], int stage,
                      float (&out)[4 * kValueTiles]) const {
    const uint64_t values = matrix_descriptor(places.values(stage), Layout::kPanelBytes, 8 * kLine);
#pragma unroll
    for (int k = 0; k < kPositions / 16; ++k) {
      const uint32_t a[4] = {weights[4 * k], weights[4 * k + 1], weights[4 * k + 2],
                             weights[4 * k + 3]};
      const uint64_t b = advanced(values, static_cast<uint32_t>(k * 16 * kLine));
      if constexpr (kDim == 128)
        multiply_64x128x16<Element>(out, a, b);
      else
        multiply_64x64x16<Element>(out, a, b);
    }
  }

  __device__ void make_logits(int first, int own_position, float (&scores)[4 * kScoreTiles]) const {
    const LogitArgs logits{args.scale, args.softcap,
                           args.alibi_slopes == nullptr ? 0.0F : args.alibi_slopes[work.head]};
#pragma unroll
    for (int i = 0; i < kScoreTiles; ++i) {
#pragma unroll
      for (int e = 0; e < 4; ++e)
        scores[4 * i + e] =
            logit_of(scores[4 * i + e], logits,
                     first + 8 * i + lane % 4 * 2 + e % 2 - (own_position + e / 2 * 8));
    }
  }

  __device__ void mask(int first, int own_position, float (&scores)[4 * kScoreTiles]) const {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int position = own_position + e / 2 * 8;
      const int from = first_seen(position, args.window);
#pragma unroll
      for (int i = 0; i < kScoreTiles; ++i) {
        const int at = first + 8 * i + lane % 4 * 2 + e % 2;
        if (at > position || at < from) scores[4 * i + e] = minus_infinity();
      }
    }
  }

  __device__ void write(int first_own, const Rows& rows, float unit,
                        const float (&out)[4 * kValueTiles]) const {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float sum = rows.sums[h];
      sum += __shfl_xor_sync(kAllLanes, sum, 1);
      sum += __shfl_xor_sync(kAllLanes, sum, 2);
      const int row = first_own + 8 * h;
      if (row >= work.rows) continue;
      const float factor =
          last_factor(__fmul_rn(rows.largest[h], unit), sum, args.sinks, work.head);
      float* to = args.out + (work.first_row + row) * args.out_stride +
                  static_cast<int64_t>(work.head) * args.kv.value_dim + lane % 4 * 2;
#pragma unroll
      for (int i = 0; i < kValueTiles; ++i) {
        if (8 * i >= args.kv.value_dim) continue;
        *reinterpret_cast<float2*>(to + 8 * i) =
            make_float2(out[4 * i + 2 * h] * factor, out[4 * i + 2 * h + 1] * factor);
      }
    }
  }

  const AttentionArgs& args;
  const BlockWork& work;
  uint8_t* memory;
  Places<kDim> places;
  int group;
  int warp;
  int lane;
};

template <class Element, int kDim>
__global__ void __launch_bounds__(kThreads, 1)
    attend_prefill_sm90(const __grid_constant__ PrefillStep prefill) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  if (threadIdx.x == 0 && prefill.has_maps) {
    prefetch_map(prefill.keys);
    prefetch_map(prefill.values);
  }
  const BlockWork work = block_work(prefill.step);
  if (work.rows == 0) return;
  extern __shared__ uint8_t shared[];
  uint8_t* memory = shared + (1024 - shared_address(shared) % 1024) % 1024;
  const Places<kDim> places{shared_address(memory)};
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      make_barrier(places.keys_there(stage), 1);
      make_barrier(places.values_there(stage), 1);
      make_barrier(places.keys_used(stage), kComputing * kGroup / 32);
      make_barrier(places.values_used(stage), kComputing * kGroup / 32);
    }
    show_barriers_to_copies();
  }
  __syncthreads();
  if (threadIdx.x < kGroup) {
    give_registers<kFetchRegisters>();
    Fetch<kDim>(prefill, work, places).run();
  } else {
    take_registers<kComputeRegisters>();
    Compute<Element, kDim>(prefill.step, work, memory).run();
  }
#endif
}

template <class Element, int kDim>
void launch(const AttentionArgs& args, TokenRange tokens, Stream stream) {
  PrefillStep prefill{};
  AttentionStep& step = prefill.step;
  step.args = args;
  step.layout = kv_layout(args.kv);
  step.tokens = tokens;
  const DeviceKv& kv = args.kv;
  const int32_t rows = kv.kv_heads * kv.page_tokens;
  prefill.has_maps =
      map_pages({kv.data, kv.key_dim, rows, kv.page_stride}, kv.page_tokens, prefill.keys) &&
      map_pages({kv.data + step.layout.value_offset, kv.value_dim, rows, kv.page_stride},
                kv.page_tokens, prefill.values);
  const auto kernel = attend_prefill_sm90<Element, kDim>;
  constexpr int kBytes = Shape<kDim>::kBytes;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  const dim3 grid(static_cast<unsigned>(args.heads),
                  static_cast<unsigned>((args.sequences.most_tokens + kRows - 1) / kRows),
                  static_cast<unsigned>(args.sequences.sequences));
  kernel<<<grid, kThreads, kBytes, stream>>>(prefill);
}

}  // namespace

bool is_for_prefill_sm90(const AttentionArgs& args) {
  if (args.kv.type != KvType::kF16 && args.kv.type != KvType::kBF16) return false;
  if (std::max(args.kv.key_dim, args.kv.value_dim) > 128) return false;
  return is_hopper();
}

void launch_prefill_sm90(const AttentionArgs& args, TokenRange tokens, Stream stream) {
  const bool is_small = std::max(args.kv.key_dim, args.kv.value_dim) <= 64;
  if (args.kv.type == KvType::kF16)
    is_small ? launch<__half, 64>(args, tokens, stream) : launch<__half, 128>(args, tokens, stream);
  else
    is_small ? launch<__nv_bfloat16, 64>(args, tokens, stream)
             : launch<__nv_bfloat16, 128>(args, tokens, stream);
}

}  // namespace ingot::cuda
