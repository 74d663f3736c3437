// SPDX-License-Identifier: Apache-2.0
// Attention of many rows a sequence, on tensor cores. A thread block of 4 warps takes one head and
// a tile of 128 queries (64 where heads are larger than 128), 32 (16) a warp, and walks the keys
// and values they see, 64 (32) positions at a time, with a running softmax. Scores and weights
// never leave registers; queries, keys and values lie in shared memory as f16 or bf16. Of 16-bit
// caches the next positions are on their way while these are used; rows of 8 bits arrive as they
// are stored and are widened there. Positions that no row sees are not read, and only tiles at an
// edge are masked. 4 * value_dim flops a query and position.
#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/cuda/attention_device.cuh"
#include "kernels/cuda/attention_paths.h"
#include "kernels/cuda/cp_async.cuh"
#include "kernels/cuda/mma.cuh"

namespace ingot::cuda {

inline constexpr int kPrefillWarps = 4;
inline constexpr int kPrefillThreads = 32 * kPrefillWarps;

template <KvType kType, int kDim>
struct PrefillShape {
  static constexpr bool kIsWide = kType == KvType::kF16 || kType == KvType::kBF16;
  static constexpr bool kIsInt8 = kType == KvType::kInt8;
  using Element = std::conditional_t<kType == KvType::kBF16, __nv_bfloat16, __half>;
  static constexpr int kTiles = kDim <= 128 ? 2 : 1;  // of 16 rows, a warp's
  static constexpr int kRows = 16 * kTiles * kPrefillWarps;
  static constexpr int kPositions = kDim <= 128 ? 64 : 32;
  static constexpr int kScoreTiles = kPositions / 8;
  static constexpr int kValueTiles = kDim / 8;
  static constexpr int kRowBytes = 2 * kDim;
  static constexpr int kTileBytes = kPositions * kRowBytes;
  static constexpr int kRawBytes = kPositions * (kDim + 2) + 16;  // and what load_even reads more
  static constexpr int kStages = kIsWide ? 2 : 1;

  static constexpr int kQuery = 0;
  static constexpr int kKeys = kQuery + kRows * kRowBytes;  // stage by stage
  static constexpr int kValues = kKeys + kStages * kTileBytes;
  static constexpr int kRawKeys = kValues + kStages * kTileBytes;
  static constexpr int kRawValues = kRawKeys + (kIsWide ? 0 : kRawBytes);
  static constexpr int kBytes = kRawValues + (kIsWide ? 0 : kRawBytes);
  static_assert(kRawBytes % 16 == 0);
};

template <KvType kType, int kDim>
class Prefill : PrefillShape<kType, kDim> {
  using Shape = PrefillShape<kType, kDim>;
  using Shape::kIsInt8;
  using Shape::kIsWide;
  using Shape::kPositions;
  using Shape::kRowBytes;
  using Shape::kRows;
  using Shape::kScoreTiles;
  using Shape::kTileBytes;
  using Shape::kTiles;
  using Shape::kValueTiles;
  using typename Shape::Element;
  static constexpr int kOwn = 2 * kTiles;  // rows of a thread: 8 i + g of its warp's

 public:
  __device__ Prefill(const AttentionStep& from, uint8_t* shared)
      : step(from),
        args(from.args),
        memory(shared),
        thread(static_cast<int>(threadIdx.x)),
        lane(thread % 32),
        warp(thread / 32),
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
    const int last_position = first_position + rows - 1;
    begin = first_seen(first_position, args.window);
    end = last_position + 1;
    const int all_see_from = first_seen(last_position, args.window);
    const int end_step = (end + kPositions - 1) / kPositions;
    int at = begin / kPositions;
    issue(at, 0);
    load_queries();

    float out[kTiles][kValueTiles][4] = {};
    float largest[kOwn];
    float sums[kOwn] = {};
#pragma unroll
    for (int i = 0; i < kOwn; ++i)
      largest[i] = minus_infinity();
    const bool is_plain = args.softcap == 0 && args.alibi_slopes == nullptr;
    const float unit = is_plain ? __fmul_rn(args.scale, kLog2E) : 1.0F;  // of a score, in logits

    for (int stage = 0; at < end_step; ++at, stage ^= kIsWide ? 1 : 0) {
      wait_for_copies<0>();
      __syncthreads();
      if constexpr (!kIsWide) {
        widen(at);
        __syncthreads();
      }
      if (at + 1 < end_step) issue(at + 1, stage ^ 1);
      float scores[kTiles][kScoreTiles][4] = {};
      score(stage, scores);
      if (!is_plain) make_logits(at * kPositions, scores);
      if ((at + 1) * kPositions - 1 > first_position || at * kPositions < all_see_from)
        mask(at * kPositions, scores);
#pragma unroll
      for (int i = 0; i < kOwn; ++i)
        soften(i, unit, scores, largest[i], sums[i], out);
      mix(stage, scores, out);
    }
    write(largest, sums, unit, out);
  }

 private:
  // Sends for keys and values of a tile of positions. Zeros stand for what no row sees.
  __device__ void issue(int at, int stage) const {
    const int page_tokens = args.kv.page_tokens;
    const int shift = step.layout.page_shift;
    const int key_bytes = step.layout.key_row_bytes;
    const int value_bytes = step.layout.value_row_bytes;
    const std::byte* keys = args.kv.data + static_cast<int64_t>(kv_head) * page_tokens * key_bytes;
    const std::byte* values = args.kv.data + step.layout.value_offset +
                              static_cast<int64_t>(kv_head) * page_tokens * value_bytes;
    if constexpr (kIsInt8) {  // whole runs of a page, as rows begin anywhere
      const int run = min(page_tokens, kPositions);
      for (int i = warp; i < kPositions / run; i += kPrefillWarps) {
        const int position = at * kPositions + i * run;
        if (position >= end || position + run <= begin) continue;
        const int64_t page = pages[position >> shift] * args.kv.page_stride;
        const int slot = position & (page_tokens - 1);
        copy_run(Shape::kRawKeys + i * run * key_bytes, keys + page + slot * key_bytes,
                 run * key_bytes);
        copy_run(Shape::kRawValues + i * run * value_bytes, values + page + slot * value_bytes,
                 run * value_bytes);
      }
    } else {
      constexpr int kChunks = kDim * (kIsWide ? 2 : 1) / 16;
      constexpr int kBytesApart = kIsWide ? kRowBytes : kDim;
      const uint32_t to_keys =
          shared_address(memory + (kIsWide ? Shape::kKeys + stage * kTileBytes : Shape::kRawKeys));
      const uint32_t to_values = shared_address(
          memory + (kIsWide ? Shape::kValues + stage * kTileBytes : Shape::kRawValues));
#pragma unroll 1
      for (int i = 0; i < kPositions * kChunks / kPrefillThreads; ++i) {
        const int index = i * kPrefillThreads + thread;
        const int row = index / kChunks;
        const int chunk = index % kChunks;
        const int position = at * kPositions + row;
        const bool is_seen = position >= begin && position < end;
        const int64_t page = is_seen ? pages[position >> shift] * args.kv.page_stride : 0;
        const int slot = position & (page_tokens - 1);
        const auto place = static_cast<uint32_t>(row * kBytesApart +
                                                 16 * (kIsWide ? swizzled(row, chunk) : chunk));
        const bool has_key = is_seen && 16 * chunk < key_bytes;
        const bool has_value = is_seen && 16 * chunk < value_bytes;
        copy_async_or_zero(to_keys + place,
                           has_key ? keys + page + slot * key_bytes + 16 * chunk : args.kv.data,
                           has_key);
        copy_async_or_zero(
            to_values + place,
            has_value ? values + page + slot * value_bytes + 16 * chunk : args.kv.data, has_value);
      }
    }
    close_copies();
  }
  __device__ void copy_run(int to, const std::byte* from, int bytes) const {
    const uint32_t address = shared_address(memory + to);
    for (int byte = 16 * lane; byte < bytes; byte += 16 * 32)
      copy_async(address + static_cast<uint32_t>(byte), from + byte);
  }

  // Rows of 8 bits, as they arrived, to f16.
  __device__ void widen(int at) const {
    constexpr int kEights = kDim / 8;
#pragma unroll 1
    for (int index = thread; index < kPositions * kEights; index += kPrefillThreads) {
      const int row = index / kEights;
      const int eight = index % kEights;
      const int place = row * kRowBytes + 16 * swizzled(row, eight);
      const int position = at * kPositions + row;
      const bool is_seen = position >= begin && position < end;
      *reinterpret_cast<uint4*>(memory + Shape::kKeys + place) =
          widened<true>(memory + Shape::kRawKeys, row, eight, args.kv.key_dim, is_seen);
      *reinterpret_cast<uint4*>(memory + Shape::kValues + place) =
          widened<false>(memory + Shape::kRawValues, row, eight, args.kv.value_dim, is_seen);
    }
  }
  template <bool kIsKey>
  __device__ static uint4 widened(const uint8_t* raw, int row, int eight, int dim, bool is_seen) {
    if constexpr (kIsInt8) {
      if (!is_seen || 8 * eight >= dim) return make_uint4(0, 0, 0, 0);
      const uint8_t* codes = raw + row * (dim + 2);
      uint32_t words[2];
      load_even(codes + 8 * eight, words);
      const uint32_t one = *reinterpret_cast<const uint16_t*>(codes + dim);
      const uint32_t scale = one | (one << 16);
      const HalfPairs low = int8_to_half(words[0]);
      const HalfPairs high = int8_to_half(words[1]);
      return make_uint4(multiply_halves(low.low, scale), multiply_halves(low.high, scale),
                        multiply_halves(high.low, scale), multiply_halves(high.high, scale));
    } else {
      constexpr auto kKind = kType == KvType::kFp8E5M2 && !kIsKey ? __NV_E5M2 : __NV_E4M3;
      const uint2 words = *reinterpret_cast<const uint2*>(raw + row * kDim + 8 * eight);
      return make_uint4(fp8_pair_to_half<kKind>(words.x), fp8_pair_to_half<kKind>(words.x >> 16),
                        fp8_pair_to_half<kKind>(words.y), fp8_pair_to_half<kKind>(words.y >> 16));
    }
  }

  // A warp loads its own rows: no other reads them.
  __device__ void load_queries() const {
#pragma unroll 4
    for (int i = 0; i < 16 * kTiles; ++i) {
      const int row = warp * 16 * kTiles + i;
      float x[kDim / 32];
      load_query(args, first_row + row, head, row < rows, lane, x);
#pragma unroll
      for (int j = 0; j < kDim / 32; ++j) {
        const int column = 32 * j + lane;
        auto* to = reinterpret_cast<Element*>(memory + Shape::kQuery + row * kRowBytes +
                                              16 * swizzled(row, column / 8));
        to[column % 8] = static_cast<Element>(x[j]);
      }
    }
    __syncwarp();
  }

  __device__ void score(int stage, float (&scores)[kTiles][kScoreTiles][4]) const {
    // Rows of all fragments are a multiple of 8 apart: a lane's swizzle is the same for all.
    const int query_row = warp * 16 * kTiles + lane % 16;
    const int key_row = lane / 16 * 8 + lane % 8;
    const uint32_t queries = shared_address(memory + Shape::kQuery + query_row * kRowBytes);
    const uint32_t keys =
        shared_address(memory + Shape::kKeys + stage * kTileBytes + key_row * kRowBytes);
#pragma unroll
    for (int k = 0; k < kDim / 16; ++k) {
      const auto query_chunk = static_cast<uint32_t>(16 * swizzled(lane, 2 * k + lane / 16));
      const auto key_chunk = static_cast<uint32_t>(16 * swizzled(lane, 2 * k + lane / 8 % 2));
      uint32_t a[kTiles][4];
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile)
        load_matrices(a[tile], queries + tile * 16 * kRowBytes + query_chunk);
#pragma unroll
      for (int pair = 0; pair < kScoreTiles / 2; ++pair) {
        uint32_t b[4];
        load_matrices(b, keys + pair * 16 * kRowBytes + key_chunk);
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          mma_16x8x16<Element>(scores[tile][2 * pair], a[tile], b[0], b[1]);
          mma_16x8x16<Element>(scores[tile][2 * pair + 1], a[tile], b[2], b[3]);
        }
      }
    }
  }

  __device__ int row_of(int i) const {
    return warp * 16 * kTiles + 8 * i + lane / 4;
  }

  __device__ void make_logits(int first, float (&scores)[kTiles][kScoreTiles][4]) const {
    const LogitArgs logits{args.scale, args.softcap,
                           args.alibi_slopes == nullptr ? 0.0F : args.alibi_slopes[head]};
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int first_distance = first + lane % 4 * 2 - (first_position + row_of(i));
#pragma unroll
      for (int n = 0; n < kScoreTiles; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& score = scores[i / 2][n][2 * (i % 2) + e];
          score = logit_of(score, logits, first_distance + 8 * n + e);
        }
      }
    }
  }

  __device__ void mask(int first, float (&scores)[kTiles][kScoreTiles][4]) const {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int position = first_position + row_of(i);
      const int from = first_seen(position, args.window);
#pragma unroll
      for (int n = 0; n < kScoreTiles; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int at = first + 8 * n + lane % 4 * 2 + e;
          if (at > position || at < from) scores[i / 2][n][2 * (i % 2) + e] = minus_infinity();
        }
      }
    }
  }

  // One row's scores become weights; what was gathered so far is scaled to the new largest.
  __device__ static void soften(int i, float unit, float (&scores)[kTiles][kScoreTiles][4],
                                float& largest, float& sum, float (&out)[kTiles][kValueTiles][4]) {
    const int low = 2 * (i % 2);
    auto& row = scores[i / 2];
    float most = largest;
#pragma unroll
    for (int n = 0; n < kScoreTiles; ++n)
      most = fmaxf(most, fmaxf(row[n][low], row[n][low + 1]));
    most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 1));
    most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 2));
    const float base = most == minus_infinity() ? 0.0F : __fmul_rn(most, unit);
    const float shrink = exp2_fast(__fmaf_rn(largest, unit, -base));
    largest = most;
    float added = 0;
#pragma unroll
    for (int n = 0; n < kScoreTiles; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        row[n][low + e] = exp2_fast(__fmaf_rn(row[n][low + e], unit, -base));
        added += row[n][low + e];
      }
    }
    sum = __fmaf_rn(sum, shrink, added);
#pragma unroll
    for (int n = 0; n < kValueTiles; ++n) {
      out[i / 2][n][low] *= shrink;
      out[i / 2][n][low + 1] *= shrink;
    }
  }

  __device__ void mix(int stage, const float (&scores)[kTiles][kScoreTiles][4],
                      float (&out)[kTiles][kValueTiles][4]) const {
    const int value_row = lane % 16;
    const uint32_t values =
        shared_address(memory + Shape::kValues + stage * kTileBytes + value_row * kRowBytes);
#pragma unroll
    for (int k = 0; k < kPositions / 16; ++k) {
      uint32_t a[kTiles][4];
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        const auto& left = scores[tile][2 * k];
        const auto& right = scores[tile][2 * k + 1];
        a[tile][0] = pack<Element>(left[0], left[1]);
        a[tile][1] = pack<Element>(left[2], left[3]);
        a[tile][2] = pack<Element>(right[0], right[1]);
        a[tile][3] = pack<Element>(right[2], right[3]);
      }
#pragma unroll
      for (int pair = 0; pair < kValueTiles / 2; ++pair) {
        const auto chunk = static_cast<uint32_t>(16 * swizzled(lane, 2 * pair + lane / 16));
        uint32_t b[4];
        load_matrices_transposed(b, values + k * 16 * kRowBytes + chunk);
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          mma_16x8x16<Element>(out[tile][2 * pair], a[tile], b[0], b[1]);
          mma_16x8x16<Element>(out[tile][2 * pair + 1], a[tile], b[2], b[3]);
        }
      }
    }
  }

  __device__ void write(const float (&largest)[kOwn], const float (&sums)[kOwn], float unit,
                        const float (&out)[kTiles][kValueTiles][4]) const {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      float sum = sums[i];
      sum += __shfl_xor_sync(kAllLanes, sum, 1);
      sum += __shfl_xor_sync(kAllLanes, sum, 2);
      const int row = row_of(i);
      if (row >= rows) continue;
      const float factor = last_factor(__fmul_rn(largest[i], unit), sum, args.sinks, head);
      float* to = args.out + (first_row + row) * args.out_stride +
                  static_cast<int64_t>(head) * args.kv.value_dim + lane % 4 * 2;
#pragma unroll
      for (int n = 0; n < kValueTiles; ++n) {
        if (8 * n >= args.kv.value_dim) continue;
        *reinterpret_cast<float2*>(to + 8 * n) = make_float2(
            out[i / 2][n][2 * (i % 2)] * factor, out[i / 2][n][2 * (i % 2) + 1] * factor);
      }
    }
  }

  const AttentionStep& step;
  const AttentionArgs& args;
  uint8_t* memory;
  int thread;
  int lane;
  int warp;
  int head;
  int kv_head;
  const int32_t* pages = nullptr;
  int rows = 0;  // of this tile
  int first_row = 0;
  int first_position = 0;
  int begin = 0;  // positions that some row sees
  int end = 0;
};

template <KvType kType, int kDim>
__global__ void __launch_bounds__(kPrefillThreads, 2)
    attend_prefill(const __grid_constant__ AttentionStep step) {
  extern __shared__ __align__(128) uint8_t memory[];
  Prefill<kType, kDim>(step, memory).run();
}

template <KvType kType, int kDim>
void launch_prefill_dim(const AttentionArgs& args, TokenRange tokens, Stream stream) {
  using Shape = PrefillShape<kType, kDim>;
  AttentionStep step{};
  step.args = args;
  step.layout = kv_layout(args.kv);
  step.tokens = tokens;
  const auto kernel = attend_prefill<kType, kDim>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::kBytes);
  const dim3 grid(
      static_cast<unsigned>(args.heads),
      static_cast<unsigned>((args.sequences.most_tokens + Shape::kRows - 1) / Shape::kRows),
      static_cast<unsigned>(args.sequences.sequences));
  kernel<<<grid, kPrefillThreads, Shape::kBytes, stream>>>(step);
}

template <KvType kType>
void launch_prefill_type(const AttentionArgs& args, TokenRange tokens, Stream stream) {
  const int32_t dim = std::max(args.kv.key_dim, args.kv.value_dim);
  if (dim <= 64)
    launch_prefill_dim<kType, 64>(args, tokens, stream);
  else if (dim <= 128)
    launch_prefill_dim<kType, 128>(args, tokens, stream);
  else
    launch_prefill_dim<kType, 256>(args, tokens, stream);
}

}  // namespace ingot::cuda
