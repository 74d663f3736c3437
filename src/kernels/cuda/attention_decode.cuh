// SPDX-License-Identifier: Apache-2.0
// Attention of few rows a sequence, at the speed of memory. A thread block of 4 warps takes the
// queries (rows by heads) of one kv head, 16 or 32 at a time, and every shares-th split of the
// positions, so that keys and values are read once for all heads. Of a split's keys a warp scores a
// quarter of the positions; of its values it mixes a quarter of the elements, with everyone's
// weights. One tile of keys and one of values are on their way or in use: the next split's keys are
// fetched while values are mixed, its values while keys are scored. Rows of 16 bits are read by
// ldmatrix, rows of 8 bits as words whose bytes become f16 pairs; keys' elements and, for int8,
// values' positions are then taken in the order of permuted(), the same for both factors. A
// sequence's newest key and value come from the step itself and join their tiles in shared memory;
// their page gets a copy.
#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/cuda/attention_device.cuh"
#include "kernels/cuda/attention_paths.h"
#include "kernels/cuda/attention_splits.cuh"
#include "kernels/cuda/attention_store.cuh"
#include "kernels/cuda/cp_async.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/mma.cuh"

namespace ingot::cuda {

inline constexpr int kDecodeWarps = 4;
inline constexpr int kDecodeThreads = 32 * kDecodeWarps;
inline constexpr int kDecodeBusyBlocks = 1536;

template <KvType kType, int kDim, int kTiles>
struct DecodeShape {
  static constexpr bool kIsWide = kType == KvType::kF16 || kType == KvType::kBF16;
  static constexpr bool kIsInt8 = kType == KvType::kInt8;
  using Element = std::conditional_t<kType == KvType::kBF16, __nv_bfloat16, __half>;
  static constexpr int kSplit = (kIsWide ? 128 : 256) / (kDim > 128 ? 2 : 1);
  static constexpr int kQueries = 16 * kTiles;
  static constexpr int kOwn = kSplit / kDecodeWarps;  // positions of a warp
  static constexpr int kDims = kDim / kDecodeWarps;   // elements of a warp
  static constexpr int kScoreTiles = kOwn / 8;
  static constexpr int kValueTiles = kDims / 8;
  static constexpr int kChunks = kDim * (kIsWide ? 2 : 1) / 16;
  // Of a row in shared memory; int8 rows lie there as in their page.
  static constexpr int kRowBytes = kIsWide ? 2 * kDim : kDim + 16;
  static constexpr int kTileBytes = kSplit * kRowBytes;
  static constexpr int kMostRuns = kSplit / 8;  // pages of a split
  static_assert(kScoreTiles % 2 == 0 && (kIsWide ? kValueTiles % 2 == 0 : kValueTiles % 4 == 0));

  static constexpr int kKeys = 0;
  static constexpr int kValues = kKeys + kTileBytes;
  static constexpr int kQuery = kValues + kTileBytes;
  static constexpr int kWeights = kQuery + kQueries * kDim * 2;
  static constexpr int kLargest = kWeights + kQueries * kSplit * 2;
  static constexpr int kSums = kLargest + kDecodeWarps * kQueries * 4;
  static constexpr int kPages = kSums + kDecodeWarps * kQueries * 4;
  // The newest key and value, as they lie in their page. Only one row of few queries stores them.
  static constexpr bool kStores = kTiles == 1;
  static constexpr int kNewest = kPages + 2 * kMostRuns * 4;
  static constexpr int kBytes = kNewest + (kStores ? 2 * kRowBytes : 0);
};

// Where element i of 64 goes, so that lane t's pairs 2t and 2t + 8 of step j are elements 16 t + 4
// j to 16 t + 4 j + 3.
__device__ __forceinline__ constexpr int permuted(int i) {
  return (i & ~63) | (((i >> 2) & 3) << 4) | (((i >> 1) & 1) << 3) | (((i >> 4) & 3) << 1) |
         (i & 1);
}

// A thread's view of its block's work.
template <KvType kType, int kDim, int kTiles>
class Decode : DecodeShape<kType, kDim, kTiles> {
  using Shape = DecodeShape<kType, kDim, kTiles>;
  using Shape::kChunks;
  using Shape::kDims;
  using Shape::kIsInt8;
  using Shape::kIsWide;
  using Shape::kMostRuns;
  using Shape::kOwn;
  using Shape::kQueries;
  using Shape::kRowBytes;
  using Shape::kScoreTiles;
  using Shape::kSplit;
  using Shape::kStores;
  using Shape::kValueTiles;
  using typename Shape::Element;
  static constexpr int kRows = 2 * kTiles;  // of a thread: 8 i + g

 public:
  __device__ Decode(const AttentionStep& from, uint8_t* shared)
      : step(from),
        args(from.args),
        memory(shared),
        thread(static_cast<int>(threadIdx.x)),
        lane(thread % 32),
        warp(thread / 32),
        g(lane / 4),
        t(lane % 4),
        kv_head(static_cast<int>(blockIdx.y)),
        sequence(static_cast<int>(blockIdx.z)),
        group(args.heads / args.kv.kv_heads) {}

  __device__ void run() {
    const DeviceSequences& sequences = args.sequences;
    const int shares = step.splits.shares;
    const int share = static_cast<int>(blockIdx.x) % shares;
    // The longest rows first, as the last blocks should be short.
    first_query = (step.row_blocks - 1 - static_cast<int>(blockIdx.x) / shares) * kQueries;
    // Read before it is known to be needed: one round trip to memory less.
    int next_page = args.window == 0 ? read_page(share) : 0;
    tokens = sequences.tokens[sequence];
    first_row = sequences.first_row[sequence];
    const int first_position = sequences.first_position[sequence];
    if (tokens < step.tokens.least || tokens > step.tokens.most || first_query >= tokens * group)
      return;
    const int last_token = min((first_query + kQueries - 1) / group, tokens - 1);
    begin = first_seen(first_position + first_query / group, args.window);
    end = first_position + last_token + 1;
    const int end_split = (end + kSplit - 1) / kSplit;
    int split = begin / kSplit + share;
    if (split >= end_split) return;
    if (args.window != 0) next_page = read_page(split);
    if (thread < kMostRuns) pages(0)[thread] = next_page;
    __syncthreads();
    issue<true>(split, pages(0));
    issue<false>(split, pages(0));
    load_rows(is_fresh() && (end_split - 1 - split) % shares == 0);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int query = first_query + 8 * i + g;
      position[i] = query < tokens * group ? first_position + query / group : -1;
    }

    const int active = min(shares, end_split - begin / kSplit);
    const bool is_alone = step.splits.values == nullptr || (step.joins_itself && active == 1);
    float largest[kRows];
    float sums[kRows] = {};
    float total[kTiles][kValueTiles][4] = {};
#pragma unroll
    for (int i = 0; i < kRows; ++i)
      largest[i] = minus_infinity();
    for (int round = 1; split < end_split; split += shares, ++round) {
      const int next = split + shares;
      const bool has_next = next < end_split;
      const bool is_newest = is_fresh() && split + 1 == end_split;
      if (has_next) next_page = read_page(next);
      wait_for_copies<1>();  // keys
      __syncthreads();
      if (is_newest) put_newest<true>(split, pages((round - 1) & 1));
      float scores[kTiles][kScoreTiles][4] = {};
      if constexpr (kIsWide)
        score_wide(scores);
      else
        score_bytes(scores);
      make_logits(split, scores);
      if (has_next && thread < kMostRuns) pages(round & 1)[thread] = next_page;
      __syncthreads();  // keys have been read, all warps' largest logits are there
      if (has_next)
        issue<true>(next, pages(round & 1));
      else
        close_copies();
      float part_largest[kRows];
      make_weights(scores, part_largest);
      wait_for_copies<1>();  // values
      __syncthreads();
      if (is_newest) put_newest<false>(split, pages((round - 1) & 1));
      float part[kTiles][kValueTiles][4] = {};
      if constexpr (kIsWide)
        mix_wide(part);
      else
        mix_bytes(split, part);
      float part_sums[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        part_sums[i] = sum_at(0, 8 * i + g);
#pragma unroll
        for (int w = 1; w < kDecodeWarps; ++w)
          part_sums[i] = __fadd_rn(part_sums[i], sum_at(w, 8 * i + g));
      }
      __syncthreads();  // values, weights and sums have been read
      if (has_next)
        issue<false>(next, pages(round & 1));
      else
        close_copies();
      if (!is_alone) {
        write_partial(split, part_largest, part_sums, part);
        continue;
      }
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const Share joined = join_largest(largest[i], part_largest[i]);
        sums[i] = join(sums[i], part_sums[i], joined);
#pragma unroll
        for (int tile = 0; tile < kValueTiles; ++tile) {
          float* to = &total[i / 2][tile][2 * (i % 2)];
          const float* from = &part[i / 2][tile][2 * (i % 2)];
          to[0] = join(to[0], from[0], joined);
          to[1] = join(to[1], from[1], joined);
        }
      }
    }
    wait_for_copies<0>();
    if (is_alone) {
      write_result(largest, sums, total);
    } else if (step.joins_itself) {
      uint32_t* counter = args.counters + sequence * args.kv.kv_heads + kv_head;
      if (is_last_of(counter, active)) join_queries();
    }
  }

 private:
  __device__ int* pages(int which) const {
    return reinterpret_cast<int*>(memory + Shape::kPages) + which * kMostRuns;
  }
  __device__ float& largest_at(int of_warp, int row) const {
    return reinterpret_cast<float*>(memory + Shape::kLargest)[of_warp * kQueries + row];
  }
  __device__ float& sum_at(int of_warp, int row) const {
    return reinterpret_cast<float*>(memory + Shape::kSums)[of_warp * kQueries + row];
  }
  __device__ bool is_fresh() const {
    return kStores && args.fresh.k != nullptr;
  }
  __device__ uint8_t* newest(bool is_key) const {
    return memory + Shape::kNewest + (is_key ? 0 : kRowBytes);
  }

  // The newest key or value, which load_rows() left for all, into its place of the split's tile,
  // whose copies have arrived, and into its page.
  template <bool kIsKey>
  __device__ void put_newest(int split, const int* page_ids) const {
    const int row_bytes = kIsKey ? step.layout.key_row_bytes : step.layout.value_row_bytes;
    const int row = end - 1 - split * kSplit;
    const uint8_t* from = newest(kIsKey);
    if (warp == 0) {
      uint8_t* tile = memory + (kIsKey ? Shape::kKeys : Shape::kValues);
      copy_newest(from, row_bytes, kIsWide ? swizzled(row, lane) : lane,
                  tile + row * (kIsInt8 ? row_bytes : kRowBytes));
    }
    const int page = page_ids[row >> step.layout.page_shift];
    if (warp == 1 && page >= 0) {
      const int page_tokens = args.kv.page_tokens;
      const int64_t place =
          static_cast<int64_t>(kv_head) * page_tokens + ((end - 1) & (page_tokens - 1));
      std::byte* to = args.kv.data + page * args.kv.page_stride +
                      (kIsKey ? 0 : step.layout.value_offset) + place * row_bytes;
      copy_newest(from, row_bytes, lane, reinterpret_cast<uint8_t*>(to));
    }
    __syncthreads();
  }
  // By one warp; a lane's 16 bytes become chunk `to_chunk`. Rows of int8 begin at any even address.
  __device__ void copy_newest(const uint8_t* from, int row_bytes, int to_chunk, uint8_t* to) const {
    if constexpr (kIsInt8) {
      for (int byte = 2 * lane; byte < row_bytes; byte += 2 * 32)
        *reinterpret_cast<uint16_t*>(to + byte) = *reinterpret_cast<const uint16_t*>(from + byte);
    } else if (16 * lane < row_bytes) {
      *reinterpret_cast<uint4*>(to + 16 * to_chunk) =
          *reinterpret_cast<const uint4*>(from + 16 * lane);
    }
  }

  // All splits of these queries are there: a warp a query.
  __device__ void join_queries() const {
    for (int query = first_query + warp; query < min(first_query + kQueries, tokens * group);
         query += kDecodeWarps) {
      const int token = query / group;
      join_row<kDim>(step, slot_of(token), kv_head * group + query % group, first_row + token,
                     end - tokens + token, lane);
    }
  }
  __device__ int slot_of(int token) const {
    return step.splits.is_slot_by_sequence ? sequence * kDecodeTokens + token : first_row + token;
  }

  // The page that a thread finds for all: the thread-th of a split.
  __device__ int read_page(int split) const {
    const int shift = step.layout.page_shift;
    const int index = ((split * kSplit) >> shift) + thread;
    const bool is_one = thread < max(1, kSplit >> shift) && index < args.sequences.table_stride;
    return is_one ? args.sequences.pages[sequence * args.sequences.table_stride + index] : 0;
  }

  // Sends for a split's keys or values; zeros stand for positions that no row sees, and for the
  // newest where put_newest() brings it. (Of int8, bytes that are not read or that it overwrites.)
  template <bool kIsKey>
  __device__ void issue(int split, const int* page_ids) const {
    const int row_bytes = kIsKey ? step.layout.key_row_bytes : step.layout.value_row_bytes;
    const int page_tokens = args.kv.page_tokens;
    const int shift = step.layout.page_shift;
    const int stored_end = is_fresh() ? end - 1 : end;
    const std::byte* head_rows = args.kv.data + (kIsKey ? 0 : step.layout.value_offset) +
                                 static_cast<int64_t>(kv_head) * page_tokens * row_bytes;
    const uint32_t tile = shared_address(memory + (kIsKey ? Shape::kKeys : Shape::kValues));
    if constexpr (kIsInt8) {  // whole runs of a page, as rows begin anywhere
      const int run = min(page_tokens, kSplit);
      const int run_bytes = run * row_bytes;
      for (int i = warp; i < kSplit / run; i += kDecodeWarps) {
        const int at = split * kSplit + i * run;
        if (at >= stored_end || at + run <= begin) continue;
        const std::byte* from =
            head_rows + page_ids[i] * args.kv.page_stride + (at & (page_tokens - 1)) * row_bytes;
        const uint32_t to = tile + static_cast<uint32_t>(i * run_bytes);
        for (int byte = 16 * lane; byte < run_bytes; byte += 16 * 32)
          copy_async(to + static_cast<uint32_t>(byte), from + byte);
      }
    } else {
#pragma unroll 8
      for (int i = 0; i < kSplit * kChunks / kDecodeThreads; ++i) {
        const int index = i * kDecodeThreads + thread;
        const int row = index / kChunks;
        const int chunk = index % kChunks;
        const int at = split * kSplit + row;
        const bool is_there = at >= begin && at < stored_end && 16 * chunk < row_bytes;
        const int64_t page = is_there ? page_ids[row >> shift] : 0;
        const std::byte* from = is_there ? head_rows + page * args.kv.page_stride +
                                               (at & (page_tokens - 1)) * row_bytes + 16 * chunk
                                         : args.kv.data;
        const int place = row * kRowBytes + 16 * (kIsWide ? swizzled(row, chunk) : chunk);
        copy_async_or_zero(tile + static_cast<uint32_t>(place), from, is_there);
      }
    }
    close_copies();
  }

  // Queries, and the newest key and value as their page will have them. All of a warp's loads go
  // out before the first is used, in steps that registers have room for.
  __device__ void load_rows(bool has_newest) const {
    constexpr int kCount = kDim / 32;
    constexpr int kTogether = 4;
    const bool is_key = warp == 3;
    const bool is_value = warp == 2;  // the first warps have more queries
    const RopeRows rope = is_key ? args.rope : RopeRows{};
    LoadedRow<kCount> fresh;
    if constexpr (kStores) {
      const int dim = is_key ? args.kv.key_dim : args.kv.value_dim;
      const float* from = is_key ? args.fresh.k + first_row * args.fresh.k_stride
                                 : args.fresh.v + first_row * args.fresh.v_stride;
      load_row(from + static_cast<int64_t>(kv_head) * dim, dim, rope, first_row,
               has_newest && (is_key || is_value), lane, fresh);
    }
#pragma unroll 1
    for (int first = warp; first < kQueries; first += kTogether * kDecodeWarps) {
      LoadedRow<kCount> rows[kTogether];
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        const int query = first_query + first + i * kDecodeWarps;
        const int row = first_row + query / group;
        const int head = kv_head * group + query % group;
        const float* q =
            args.q + row * args.q_stride + static_cast<int64_t>(head) * args.kv.key_dim;
        load_row(q, args.kv.key_dim, args.rope, row, query < tokens * group, lane, rows[i]);
      }
#pragma unroll
      for (int i = 0; i < kTogether; ++i)
        put_query(first + i * kDecodeWarps, rows[i]);
    }
    if constexpr (kStores) {
      if (!has_newest || !(is_key || is_value)) return;
      float x[kCount];
      turn_row(fresh, rope, lane, x);
      auto* to = reinterpret_cast<std::byte*>(newest(is_key));
      if (is_key)
        store_row<kCount, true>(kType, x, args.kv.key_dim, lane, to);
      else
        store_row<kCount, false>(kType, x, args.kv.value_dim, lane, to);
    }
  }
  __device__ void put_query(int row, const LoadedRow<kDim / 32>& loaded) const {
    float x[kDim / 32];
    turn_row(loaded, args.rope, lane, x);
    if (rotates_keys(kType)) rotate(x, args.kv.key_dim & -args.kv.key_dim, lane);
#pragma unroll
    for (int j = 0; j < kDim / 32; ++j) {
      const int column = kIsWide ? 32 * j + lane : permuted(32 * j + lane);
      auto* to = reinterpret_cast<Element*>(memory + Shape::kQuery + row * kDim * 2 +
                                            16 * swizzled(row, column / 8));
      to[column % 8] = static_cast<Element>(x[j]);
    }
  }

  // The fragment of rows [16 tile, 16 tile + 16) and columns [16 k, 16 k + 16) of queries or
  // weights.
  __device__ void load_a(int offset, int row_bytes, int tile, int k, uint32_t (&a)[4]) const {
    const int row = tile * 16 + (lane / 8 % 2) * 8 + lane % 8;
    const int chunk = 2 * k + lane / 16;
    load_matrices(a, shared_address(memory + offset + row * row_bytes + 16 * swizzled(row, chunk)));
  }

  __device__ void score_wide(float (&scores)[kTiles][kScoreTiles][4]) const {
#pragma unroll
    for (int k = 0; k < kDim / 16; ++k) {
      uint32_t a[kTiles][4];
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile)
        load_a(Shape::kQuery, kDim * 2, tile, k, a[tile]);
#pragma unroll
      for (int pair = 0; pair < kScoreTiles / 2; ++pair) {
        const int row = warp * kOwn + pair * 16 + lane / 16 * 8 + lane % 8;
        const int chunk = 2 * k + lane / 8 % 2;
        uint32_t b[4];
        load_matrices(
            b, shared_address(memory + Shape::kKeys + row * kRowBytes + 16 * swizzled(row, chunk)));
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          mma_16x8x16<Element>(scores[tile][2 * pair], a[tile], b[0], b[1]);
          mma_16x8x16<Element>(scores[tile][2 * pair + 1], a[tile], b[2], b[3]);
        }
      }
    }
  }

  __device__ void score_bytes(float (&scores)[kTiles][kScoreTiles][4]) const {
#pragma unroll 1
    for (int block = 0; block < kDim / 64; ++block) {
      uint32_t a[4][kTiles][4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile)
          load_a(Shape::kQuery, kDim * 2, tile, block * 4 + j, a[j][tile]);
      }
#pragma unroll
      for (int n = 0; n < kScoreTiles; ++n) {
        const int row = warp * kOwn + n * 8 + g;
        uint32_t words[4];
        if constexpr (kIsInt8) {
          load_even(memory + Shape::kKeys + row * step.layout.key_row_bytes + block * 64 + t * 16,
                    words);
        } else {
          const uint4 loaded = *reinterpret_cast<const uint4*>(
              memory + Shape::kKeys + row * kRowBytes + block * 64 + t * 16);
          words[0] = loaded.x;
          words[1] = loaded.y;
          words[2] = loaded.z;
          words[3] = loaded.w;
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const HalfPairs b = key_pairs(words[j]);
#pragma unroll
          for (int tile = 0; tile < kTiles; ++tile)
            mma_16x8x16<Element>(scores[tile][n], a[j][tile], b.low, b.high);
        }
      }
    }
  }
  __device__ static HalfPairs key_pairs(uint32_t bytes) {
    if constexpr (kIsInt8) return int8_to_half(bytes);
    return {fp8_pair_to_half<__NV_E4M3>(bytes), fp8_pair_to_half<__NV_E4M3>(bytes >> 16)};
  }
  __device__ static HalfPairs value_pairs(uint32_t bytes) {
    if constexpr (kIsInt8) return int8_to_half(bytes);
    constexpr auto kKind = kType == KvType::kFp8E5M2 ? __NV_E5M2 : __NV_E4M3;
    return {fp8_pair_to_half<kKind>(bytes), fp8_pair_to_half<kKind>(bytes >> 16)};
  }

  // Scores become logits, minus infinity where a row does not look; tells all warps the largest.
  __device__ void make_logits(int split, float (&scores)[kTiles][kScoreTiles][4]) const {
    const int first = split * kSplit + warp * kOwn + 2 * t;
    if constexpr (kIsInt8) {
#pragma unroll
      for (int n = 0; n < kScoreTiles; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int row = warp * kOwn + n * 8 + 2 * t + e;
          const float factor = __half2float(*reinterpret_cast<const __half*>(
              memory + Shape::kKeys + row * step.layout.key_row_bytes + args.kv.key_dim));
#pragma unroll
          for (int i = 0; i < kRows; ++i)
            scores[i / 2][n][2 * (i % 2) + e] *= factor;
        }
      }
    }
    const float plain_scale = __fmul_rn(args.scale, kLog2E);
    const bool is_plain = args.softcap == 0 && args.alibi_slopes == nullptr;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int query = min(first_query + 8 * i + g, tokens * group - 1);
      const LogitArgs logits{
          args.scale, args.softcap,
          args.alibi_slopes == nullptr ? 0.0F : args.alibi_slopes[kv_head * group + query % group]};
      const int from = first_seen(position[i], args.window);
      float most = minus_infinity();
#pragma unroll
      for (int n = 0; n < kScoreTiles; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int at = first + 8 * n + e;
          float& score = scores[i / 2][n][2 * (i % 2) + e];
          const float logit =
              is_plain ? __fmul_rn(score, plain_scale) : logit_of(score, logits, at - position[i]);
          score = at >= from && at <= position[i] ? logit : minus_infinity();
          most = fmaxf(most, score);
        }
      }
      most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 1));
      most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 2));
      if (t == 0) largest_at(warp, 8 * i + g) = most;
    }
  }

  // Logits become weights, left in shared memory for all, and their sums.
  __device__ void make_weights(const float (&scores)[kTiles][kScoreTiles][4],
                               float (&part_largest)[kRows]) const {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int row = 8 * i + g;
      float most = largest_at(0, row);
#pragma unroll
      for (int w = 1; w < kDecodeWarps; ++w)
        most = fmaxf(most, largest_at(w, row));
      part_largest[i] = most;
      const float base = most == minus_infinity() ? 0.0F : most;
      float sum = 0;
#pragma unroll
      for (int n = 0; n < kScoreTiles; ++n) {
        const float a = exp2_fast(scores[i / 2][n][2 * (i % 2)] - base);
        const float b = exp2_fast(scores[i / 2][n][2 * (i % 2) + 1] - base);
        sum = __fadd_rn(sum, __fadd_rn(a, b));
        const int position_in_split = warp * kOwn + n * 8 + 2 * t;
        const int column = kIsInt8 ? permuted(position_in_split) : position_in_split;
        *reinterpret_cast<uint32_t*>(memory + Shape::kWeights + row * kSplit * 2 +
                                     16 * swizzled(row, column / 8) + 2 * (column % 8)) =
            pack<Element>(a, b);
      }
      sum = __fadd_rn(sum, __shfl_xor_sync(kAllLanes, sum, 1));
      sum = __fadd_rn(sum, __shfl_xor_sync(kAllLanes, sum, 2));
      if (t == 0) sum_at(warp, row) = sum;
    }
  }

  __device__ void mix_wide(float (&part)[kTiles][kValueTiles][4]) const {
#pragma unroll
    for (int k = 0; k < kSplit / 16; ++k) {
      uint32_t a[kTiles][4];
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile)
        load_a(Shape::kWeights, kSplit * 2, tile, k, a[tile]);
#pragma unroll
      for (int pair = 0; pair < kValueTiles / 2; ++pair) {
        const int row = k * 16 + (lane / 8 % 2) * 8 + lane % 8;
        const int chunk = warp * kDims / 8 + 2 * pair + lane / 16;
        uint32_t b[4];
        load_matrices_transposed(b, shared_address(memory + Shape::kValues + row * kRowBytes +
                                                   16 * swizzled(row, chunk)));
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          mma_16x8x16<Element>(part[tile][2 * pair], a[tile], b[0], b[1]);
          mma_16x8x16<Element>(part[tile][2 * pair + 1], a[tile], b[2], b[3]);
        }
      }
    }
  }

  // Tile 4 u + j of a warp has elements 32 u + 4 n + j as its columns n.
  __device__ void mix_bytes(int split, float (&part)[kTiles][kValueTiles][4]) const {
    const uint8_t* values = memory + Shape::kValues;
    const int stride = kIsInt8 ? step.layout.value_row_bytes : kRowBytes;
#pragma unroll 4
    for (int k = 0; k < kSplit / 16; ++k) {
      uint32_t a[kTiles][4];
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile)
        load_a(Shape::kWeights, kSplit * 2, tile, k, a[tile]);
      int rows[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        rows[i] =
            kIsInt8 ? k / 4 * 64 + 16 * t + k % 4 * 4 + i : 16 * k + 2 * t + i % 2 + i / 2 * 8;
      uint32_t scales[2] = {};
      if constexpr (kIsInt8) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int at = split * kSplit + rows[i];
          const bool is_there = at >= begin && at < end;
          const uint32_t scale = is_there ? *reinterpret_cast<const uint16_t*>(
                                                values + rows[i] * stride + args.kv.value_dim)
                                          : 0u;
          scales[i / 2] |= scale << (16 * (i % 2));
        }
      }
#pragma unroll
      for (int u = 0; u < kValueTiles / 4; ++u) {
        const int element = warp * kDims + 32 * u + 4 * g;
        uint32_t words[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const uint8_t* from = values + rows[i] * stride + element;
          if constexpr (kIsInt8) {
            uint32_t word[1];
            load_even(from, word);
            words[i] = word[0];
          } else {
            words[i] = *reinterpret_cast<const uint32_t*>(from);
          }
        }
        uint32_t b[2][4];  // [rows 2t or 2t + 8][tile]
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          HalfPairs low = value_pairs(__byte_perm(words[2 * h], words[2 * h + 1], 0x5140));
          HalfPairs high = value_pairs(__byte_perm(words[2 * h], words[2 * h + 1], 0x7362));
          if constexpr (kIsInt8) {
            low = {multiply_halves(low.low, scales[h]), multiply_halves(low.high, scales[h])};
            high = {multiply_halves(high.low, scales[h]), multiply_halves(high.high, scales[h])};
          }
          b[h][0] = low.low;
          b[h][1] = low.high;
          b[h][2] = high.low;
          b[h][3] = high.high;
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) {
#pragma unroll
          for (int tile = 0; tile < kTiles; ++tile)
            mma_16x8x16<Element>(part[tile][4 * u + j], a[tile], b[0][j], b[1][j]);
        }
      }
    }
  }

  // Row 8 i + g of the weighted values, times a factor, to `to`.
  __device__ void write_row(int i, const float (&from)[kTiles][kValueTiles][4], float factor,
                            float* to) const {
    const int low = 2 * (i % 2);
    const auto& tiles = from[i / 2];
    if constexpr (kIsWide) {
#pragma unroll
      for (int tile = 0; tile < kValueTiles; ++tile) {
        const int element = warp * kDims + 8 * tile + 2 * t;
        if (element < args.kv.value_dim)
          *reinterpret_cast<float2*>(to + element) = make_float2(
              __fmul_rn(tiles[tile][low], factor), __fmul_rn(tiles[tile][low + 1], factor));
      }
    } else {
#pragma unroll
      for (int u = 0; u < kValueTiles / 4; ++u) {
        const int element = warp * kDims + 32 * u + 8 * t;
        if (element >= args.kv.value_dim) continue;
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          *reinterpret_cast<float4*>(to + element + 4 * e) =
              make_float4(__fmul_rn(tiles[4 * u][low + e], factor),
                          __fmul_rn(tiles[4 * u + 1][low + e], factor),
                          __fmul_rn(tiles[4 * u + 2][low + e], factor),
                          __fmul_rn(tiles[4 * u + 3][low + e], factor));
        }
      }
    }
  }

  __device__ void write_partial(int split, const float (&part_largest)[kRows],
                                const float (&part_sums)[kRows],
                                const float (&part)[kTiles][kValueTiles][4]) const {
    const Splits& splits = step.splits;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int query = first_query + 8 * i + g;
      if (query >= tokens * group) continue;
      const int token = query / group;
      const int head = kv_head * group + query % group;
      const int64_t at =
          (static_cast<int64_t>(slot_of(token)) * args.heads + head) * splits.most + split;
      if (warp == 0 && t == 0) {
        splits.stats[2 * at] = part_largest[i];
        splits.stats[2 * at + 1] = part_sums[i];
      }
      write_row(i, part, 1.0F, splits.values + at * args.kv.value_dim);
    }
  }

  __device__ void write_result(const float (&largest)[kRows], const float (&sums)[kRows],
                               const float (&total)[kTiles][kValueTiles][4]) const {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int query = first_query + 8 * i + g;
      if (query >= tokens * group) continue;
      const int head = kv_head * group + query % group;
      write_row(i, total, last_factor(largest[i], sums[i], args.sinks, head),
                args.out + (first_row + query / group) * args.out_stride +
                    static_cast<int64_t>(head) * args.kv.value_dim);
    }
  }

  const AttentionStep& step;
  const AttentionArgs& args;
  uint8_t* memory;
  int thread;
  int lane;
  int warp;
  int g;
  int t;
  int kv_head;
  int sequence;
  int group;  // query heads of a kv head
  int first_query = 0;
  int tokens = 0;
  int first_row = 0;
  int begin = 0;  // positions that some row sees
  int end = 0;
  int position[kRows] = {};
};

template <KvType kType, int kDim, int kTiles>
__global__ void __launch_bounds__(kDecodeThreads, kDim <= 128 ? (kTiles == 1 ? 3 : 2) : 1)
    attend_decode(const __grid_constant__ AttentionStep step) {
  extern __shared__ __align__(128) uint8_t memory[];
  let_next_begin();
  wait_for_inputs();
  Decode<kType, kDim, kTiles>(step, memory).run();
}

template <KvType kType, int kDim, int kTiles>
void launch_decode_tiles(const AttentionArgs& args, TokenRange tokens, int64_t queries,
                         Stream stream) {
  using Shape = DecodeShape<kType, kDim, kTiles>;
  AttentionStep step{};
  step.args = args;
  step.layout = kv_layout(args.kv);
  step.tokens = tokens;
  step.row_blocks = static_cast<int32_t>((queries + Shape::kQueries - 1) / Shape::kQueries);
  const int64_t blocks =
      static_cast<int64_t>(step.row_blocks) * args.kv.kv_heads * args.sequences.sequences;
  step.splits = plan_splits(args, tokens, Shape::kSplit, blocks, kDecodeBusyBlocks);
  step.joins_itself = args.counters != nullptr && step.row_blocks == 1;
  const auto kernel = attend_decode<kType, kDim, kTiles>;
  const dim3 grid(
      static_cast<unsigned>(step.row_blocks) * static_cast<unsigned>(step.splits.shares),
      static_cast<unsigned>(args.kv.kv_heads), static_cast<unsigned>(args.sequences.sequences));
  launch_early(kernel, {grid, kDecodeThreads, Shape::kBytes}, stream, step);
  if (step.splits.values != nullptr && !step.joins_itself) launch_join(step, stream);
}

template <KvType kType, int kDim>
void launch_decode_dim(const AttentionArgs& args, TokenRange tokens, Stream stream) {
  const int64_t queries = static_cast<int64_t>(std::min(args.sequences.most_tokens, tokens.most)) *
                          (args.heads / args.kv.kv_heads);
  if (queries <= 16)
    launch_decode_tiles<kType, kDim, 1>(args, tokens, queries, stream);
  else
    launch_decode_tiles<kType, kDim, 2>(args, tokens, queries, stream);
}

}  // namespace ingot::cuda
