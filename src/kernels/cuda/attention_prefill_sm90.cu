// SPDX-License-Identifier: Apache-2.0
// attention_prefill.cuh's work on Hopper, for 16-bit caches and heads up to 128. A thread block
// takes one head and 128 queries: four warps fetch keys and values, 128 positions at a time, two
// tiles of each on their way or in use; two warpgroups compute, 64 queries each. A warpgroup's next
// scores are multiplied while its last weights still are, and softened while the other warpgroup
// multiplies. Pages lie anywhere, so rows come by cp.async; who fetched them makes them visible to
// the tensor cores before he says that they are there.
#include <algorithm>
#include <type_traits>

#include "kernels/cuda/attention_device.cuh"
#include "kernels/cuda/attention_paths.h"
#include "kernels/cuda/attention_prefill.h"
#include "kernels/cuda/cp_async.cuh"
#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/wgmma.cuh"

namespace ingot::cuda {
namespace {

constexpr int kGroup = 128;  // threads of a warpgroup
constexpr int kThreads = 3 * kGroup;
constexpr int kRows = 128;    // queries
constexpr int kOwnRows = 64;  // of a warpgroup
constexpr int kPositions = 128;
constexpr int kStages = 2;
constexpr int kLine = 128;  // bytes of a row in shared memory: 64 elements

template <int kDim>
struct Shape {
  static constexpr int kPanels = kDim / 64;  // of 64 elements, one after the other
  static constexpr int kTileBytes = kPanels * kPositions * kLine;
  static constexpr int kQueryBytes = kPanels * kOwnRows * kLine;  // of a warpgroup
  static constexpr int kQuery = 0;
  static constexpr int kKeys = kQuery + 2 * kQueryBytes;
  static constexpr int kValues = kKeys + kStages * kTileBytes;
  static constexpr int kBarriers = kValues + kStages * kTileBytes;
  // Keys there, keys used, values there, values used; of each stage.
  static constexpr int kBytes = kBarriers + 4 * kStages * 8 + 1024;  // to begin at a multiple
};

template <class Element, int kDim>
class Prefill {
  using Layout = Shape<kDim>;
  static constexpr int kScoreTiles = kPositions / 8;
  static constexpr int kValueTiles = kDim / 8;
  static constexpr int kFetchRegisters = 40;
  static constexpr int kComputeRegisters = 232;

 public:
  __device__ Prefill(const AttentionStep& from, uint8_t* shared)
      : step(from),
        args(from.args),
        memory(shared),
        base(shared_address(shared)),
        thread(static_cast<int>(threadIdx.x) % kGroup),
        lane(thread % 32),
        head(static_cast<int>(blockIdx.x)),
        kv_head(head / (args.heads / args.kv.kv_heads)) {}

  __device__ void run() {
    const DeviceSequences& sequences = args.sequences;
    const int sequence = static_cast<int>(blockIdx.z);
    const int tokens = sequences.tokens[sequence];
    if (tokens < step.tokens.least || tokens > step.tokens.most) return;
    // The last rows first: they see the most.
    const int tile = (tokens + kRows - 1) / kRows - 1 - static_cast<int>(blockIdx.y);
    if (tile < 0) return;
    const int first_token = tile * kRows;
    rows = min(kRows, tokens - first_token);
    first_row = sequences.first_row[sequence] + first_token;
    first_position = sequences.first_position[sequence] + first_token;
    pages = sequences.pages + sequence * sequences.table_stride;
    begin = first_seen(first_position, args.window);
    end = first_position + rows;
    first_tile = begin / kPositions;
    tiles = (end + kPositions - 1) / kPositions - first_tile;
    if (threadIdx.x == 0) {
      for (int stage = 0; stage < kStages; ++stage) {
        make_barrier(keys_there(stage), kGroup);
        make_barrier(values_there(stage), kGroup);
        make_barrier(keys_used(stage), 2 * kGroup / 32);
        make_barrier(values_used(stage), 2 * kGroup / 32);
      }
    }
    __syncthreads();
    if (threadIdx.x < kGroup) {
      give_registers<kFetchRegisters>();
      fetch();
    } else {
      take_registers<kComputeRegisters>();
      compute(static_cast<int>(threadIdx.x) / kGroup - 1);
    }
  }

 private:
  __device__ uint32_t barrier(int kind, int stage) const {
    return base + static_cast<uint32_t>(Layout::kBarriers + (kind * kStages + stage) * 8);
  }
  __device__ uint32_t keys_there(int stage) const { return barrier(0, stage); }
  __device__ uint32_t keys_used(int stage) const { return barrier(1, stage); }
  __device__ uint32_t values_there(int stage) const { return barrier(2, stage); }
  __device__ uint32_t values_used(int stage) const { return barrier(3, stage); }

  // Sends for tile after tile, keys and values in turn; announces each when the next is on its way.
  __device__ void fetch() const {
    for (int n = 0; n < tiles; ++n) {
      const int stage = n % kStages;
      const uint32_t parity = (static_cast<uint32_t>(n / kStages) & 1u) ^ 1u;
      wait_for_phase(keys_used(stage), parity);
      send<true>(n, stage);
      if (n > 0) {
        wait_for_copies<1>();
        fence_for_tensor_cores();
        arrive(values_there((n - 1) % kStages));
      }
      wait_for_phase(values_used(stage), parity);
      send<false>(n, stage);
      wait_for_copies<1>();
      fence_for_tensor_cores();
      arrive(keys_there(stage));
    }
    wait_for_copies<0>();
    fence_for_tensor_cores();
    arrive(values_there((tiles - 1) % kStages));
  }

  // Zeros stand for positions that no row sees, and for elements that a row does not have.
  template <bool kIsKey>
  __device__ void send(int n, int stage) const {
    const int row_bytes = kIsKey ? step.layout.key_row_bytes : step.layout.value_row_bytes;
    const int page_tokens = args.kv.page_tokens;
    const std::byte* rows_of_head = args.kv.data + (kIsKey ? 0 : step.layout.value_offset) +
                                    static_cast<int64_t>(kv_head) * page_tokens * row_bytes;
    constexpr int kChunks = kDim * 2 / 16;
    constexpr int kRowsAtOnce = kGroup / kChunks;
    const int chunk = thread % kChunks;
    const int line = thread / kChunks;
    const bool has_chunk = 16 * chunk < row_bytes;
    const uint32_t tile =
        base + static_cast<uint32_t>((kIsKey ? Layout::kKeys : Layout::kValues) +
                                     stage * Layout::kTileBytes + chunk / 8 * kPositions * kLine);
#pragma unroll 4
    for (int i = 0; i < kPositions / kRowsAtOnce; ++i) {
      const int row = i * kRowsAtOnce + line;
      const int position = (first_tile + n) * kPositions + row;
      const bool is_there = has_chunk && position >= begin && position < end;
      const std::byte* from = args.kv.data;
      if (is_there)
        from = rows_of_head + pages[position >> step.layout.page_shift] * args.kv.page_stride +
               (position & (page_tokens - 1)) * row_bytes + 16 * chunk;
      copy_async_or_zero(tile + static_cast<uint32_t>(row * kLine + 16 * swizzled(row, chunk % 8)),
                         from, is_there);
    }
    close_copies();
  }

  __device__ void compute(int group) const {
    const int warp = thread / 32;
    const int first_own = group * kOwnRows;
    load_queries(group, warp);
    const uint64_t queries = matrix_descriptor(
        base + static_cast<uint32_t>(Layout::kQuery + group * Layout::kQueryBytes), 16, 8 * kLine);
    const int first_of_all = first_position + first_own;
    // Of a thread's two rows, eight apart.
    const int own_position = first_of_all + warp * 16 + lane / 4;
    const int all_see_from =
        first_seen(first_position + max(0, min(rows, first_own + kOwnRows) - 1), args.window);
    const bool is_plain = args.softcap == 0 && args.alibi_slopes == nullptr;
    const float unit = is_plain ? __fmul_rn(args.scale, kLog2E) : 1.0F;  // of a score, in logits

    float scores[4 * kScoreTiles];
    float out[4 * kValueTiles];
    uint32_t weights[2 * kScoreTiles];
    float largest[2] = {minus_infinity(), minus_infinity()};
    float sums[2] = {};
    float shrink[2];
#pragma unroll
    for (float& value : out)
      value = 0;

    const auto soften = [&](int n) {
      const int first = (first_tile + n) * kPositions;
      if (!is_plain) make_logits(first, own_position, scores);
      if (first + kPositions - 1 > first_of_all || first < all_see_from)
        mask(first, own_position, scores);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float most = largest[h];
#pragma unroll
        for (int i = 0; i < kScoreTiles; ++i)
          most = fmaxf(most, fmaxf(scores[4 * i + 2 * h], scores[4 * i + 2 * h + 1]));
        most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 1));
        most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 2));
        const float shift = most == minus_infinity() ? 0.0F : __fmul_rn(most, unit);
        shrink[h] = exp2_fast(__fmaf_rn(largest[h], unit, -shift));
        largest[h] = most;
        float added = 0;
#pragma unroll
        for (int i = 0; i < kScoreTiles; ++i) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& score = scores[4 * i + 2 * h + e];
            score = exp2_fast(__fmaf_rn(score, unit, -shift));
            added += score;
          }
        }
        sums[h] = __fmaf_rn(sums[h], shrink[h], added);
      }
    };
    const auto pack_weights = [&] {
#pragma unroll
      for (int i = 0; i < 2 * kScoreTiles; ++i)
        weights[i] = pack<Element>(scores[2 * i], scores[2 * i + 1]);
    };

    wait_for_phase(keys_there(0), 0);
    pin(scores);
    warpgroup_fence();
    score(queries, 0, scores);
    close_products();
    wait_for_products<0>();
    pin(scores);
    if (lane == 0) arrive(keys_used(0));
    soften(0);
    pack_weights();
    for (int n = 1; n < tiles; ++n) {
      const int stage = n % kStages;
      const int last = (n - 1) % kStages;
      wait_for_phase(keys_there(stage), static_cast<uint32_t>(n / kStages) & 1u);
      pin(scores);
      pin(out);
      pin(weights);
      warpgroup_fence();
      score(queries, stage, scores);
      close_products();
      wait_for_phase(values_there(last), static_cast<uint32_t>((n - 1) / kStages) & 1u);
      warpgroup_fence();
      mix(weights, last, out);
      close_products();
      wait_for_products<1>();
      pin(scores);
      if (lane == 0) arrive(keys_used(stage));
      soften(n);
      wait_for_products<0>();
      pin(out);
      pin(weights);
      if (lane == 0) arrive(values_used(last));
#pragma unroll
      for (int i = 0; i < kValueTiles; ++i) {
#pragma unroll
        for (int e = 0; e < 4; ++e)
          out[4 * i + e] *= shrink[e / 2];
      }
      pack_weights();
    }
    const int last = (tiles - 1) % kStages;
    wait_for_phase(values_there(last), static_cast<uint32_t>((tiles - 1) / kStages) & 1u);
    pin(out);
    pin(weights);
    warpgroup_fence();
    mix(weights, last, out);
    close_products();
    wait_for_products<0>();
    pin(out);
    write(first_own + warp * 16 + lane / 4, largest, sums, unit, out);
  }

  // A warpgroup's queries, rounded; each warp loads a quarter.
  __device__ void load_queries(int group, int warp) const {
#pragma unroll 4
    for (int i = 0; i < kOwnRows / 4; ++i) {
      const int own = warp * (kOwnRows / 4) + i;
      const int row = group * kOwnRows + own;
      float x[kDim / 32];
      load_query(args, first_row + row, head, row < rows, lane, x);
#pragma unroll
      for (int j = 0; j < kDim / 32; ++j) {
        const int column = 32 * j + lane;
        auto* to = reinterpret_cast<Element*>(
            memory + Layout::kQuery + group * Layout::kQueryBytes + column / 64 * kOwnRows * kLine +
            own * kLine + 16 * swizzled(own, column / 8 % 8));
        to[column % 8] = static_cast<Element>(x[j]);
      }
    }
    fence_for_tensor_cores();
    asm volatile("bar.sync %0, %1;" ::"r"(1 + group), "n"(kGroup) : "memory");
  }

  __device__ void score(uint64_t queries, int stage, float (&scores)[4 * kScoreTiles]) const {
    const uint64_t keys = matrix_descriptor(
        base + static_cast<uint32_t>(Layout::kKeys + stage * Layout::kTileBytes), 16, 8 * kLine);
#pragma unroll
    for (int k = 0; k < kDim / 16; ++k)
      multiply_64x128x16<Element>(
          scores, advanced(queries, static_cast<uint32_t>(k / 4 * kOwnRows * kLine + k % 4 * 32)),
          advanced(keys, static_cast<uint32_t>(k / 4 * kPositions * kLine + k % 4 * 32)), k > 0);
  }

  __device__ void mix(const uint32_t (&weights)[2 * kScoreTiles], int stage,
                      float (&out)[4 * kValueTiles]) const {
    const uint64_t values = matrix_descriptor(
        base + static_cast<uint32_t>(Layout::kValues + stage * Layout::kTileBytes),
        kPositions * kLine, 8 * kLine);
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
                           args.alibi_slopes == nullptr ? 0.0F : args.alibi_slopes[head]};
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

  __device__ void write(int first_own, const float (&largest)[2], const float (&sums)[2],
                        float unit, const float (&out)[4 * kValueTiles]) const {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float sum = sums[h];
      sum += __shfl_xor_sync(kAllLanes, sum, 1);
      sum += __shfl_xor_sync(kAllLanes, sum, 2);
      const int row = first_own + 8 * h;
      if (row >= rows) continue;
      const float factor = last_factor(__fmul_rn(largest[h], unit), sum, args.sinks, head);
      float* to = args.out + (first_row + row) * args.out_stride +
                  static_cast<int64_t>(head) * args.kv.value_dim + lane % 4 * 2;
#pragma unroll
      for (int i = 0; i < kValueTiles; ++i) {
        if (8 * i >= args.kv.value_dim) continue;
        *reinterpret_cast<float2*>(to + 8 * i) =
            make_float2(out[4 * i + 2 * h] * factor, out[4 * i + 2 * h + 1] * factor);
      }
    }
  }

  const AttentionStep& step;
  const AttentionArgs& args;
  uint8_t* memory;
  uint32_t base;  // its address in shared memory
  int thread;     // of its warpgroup
  int lane;
  int head;
  int kv_head;
  const int32_t* pages = nullptr;
  int rows = 0;
  int first_row = 0;
  int first_position = 0;
  int begin = 0;  // positions that some row sees
  int end = 0;
  int first_tile = 0;
  int tiles = 0;
};

template <class Element, int kDim>
__global__ void __launch_bounds__(kThreads, 1)
    attend_prefill_sm90(const __grid_constant__ AttentionStep step) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ uint8_t shared[];
  uint8_t* memory = shared + (1024 - shared_address(shared) % 1024) % 1024;
  Prefill<Element, kDim>(step, memory).run();
#endif
}

template <class Element, int kDim>
void launch(const AttentionArgs& args, TokenRange tokens, Stream stream) {
  AttentionStep step{};
  step.args = args;
  step.layout = kv_layout(args.kv);
  step.tokens = tokens;
  const auto kernel = attend_prefill_sm90<Element, kDim>;
  constexpr int kBytes = Shape<kDim>::kBytes;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  const dim3 grid(static_cast<unsigned>(args.heads),
                  static_cast<unsigned>((args.sequences.most_tokens + kRows - 1) / kRows),
                  static_cast<unsigned>(args.sequences.sequences));
  kernel<<<grid, kThreads, kBytes, stream>>>(step);
}

}  // namespace

bool is_for_prefill_sm90(const AttentionArgs& args) {
  if (args.kv.type != KvType::kF16 && args.kv.type != KvType::kBF16) return false;
  if (std::max(args.kv.key_dim, args.kv.value_dim) > 128) return false;
  int device = 0;
  int major = 0;
  int minor = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
         cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess &&
         major == 9 && minor == 0;
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
