// SPDX-License-Identifier: Apache-2.0
// What the pieces of decode attention share: how a thread block's work lies in shared memory, the
// launch's arguments, and a thread's view of its block's work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/attention_device.cuh"
#include "kernels/cuda/attention_paths.h"
#include "kernels/cuda/mma.cuh"

namespace ingot::cuda {

inline constexpr int kDecodeWarps = 4;
inline constexpr int kDecodeThreads = 32 * kDecodeWarps;
// The warps that bring a sequence's newest value and key; the first warps have more queries.
inline constexpr int kValueWarp = 2;
inline constexpr int kKeyWarp = 3;

struct DecodeStep {
  AttentionStep step;
  int32_t group;              // query heads of a kv head
  uint32_t group_reciprocal;  // 2^31 / group, rounded up
  bool turns_halves;  // dimension i of a head turns with i + dim / 2, and a head fills its kernel
};

template <KvType kType, int kDim_, int kTiles_>
struct DecodeShape {
  static constexpr KvType kCache = kType;
  static constexpr int kDim = kDim_;
  static constexpr int kTiles = kTiles_;
  static constexpr bool kIsWide = kType == KvType::kF16 || kType == KvType::kBF16;
  static constexpr bool kIsInt8 = kType == KvType::kInt8;
  using Element = std::conditional_t<kType == KvType::kBF16, __nv_bfloat16, __half>;
  // Short ones leave room for more thread blocks of a processor, which hide each other's waits:
  // fp8 of 256 positions had 72 % of the bus for 256 sequences, of 128 it has 83.
  static constexpr int kSplit = kIsInt8                 ? (kDim > 128 ? 128 : 256)
                                : kIsWide && kDim > 128 ? 64
                                                        : 128;
  static constexpr int kQueries = 16 * kTiles;
  static constexpr int kRows = 2 * kTiles;            // of a thread: 8 i + g
  static constexpr int kOwn = kSplit / kDecodeWarps;  // positions of a warp
  static constexpr int kDims = kDim / kDecodeWarps;   // elements of a warp
  static constexpr int kScoreTiles = kOwn / 8;
  static constexpr int kValueTiles = kDims / 8;
  static constexpr int kChunks = kDim * (kIsWide ? 2 : 1) / 16;
  // Positions are fetched and mixed in granules; those that no row sees are left out. int8 weights
  // are permuted within 64.
  static constexpr int kGranule = kIsInt8 ? 64 : kOwn;
  // Of a row in shared memory; int8 rows lie there as in their page.
  static constexpr int kRowBytes = kIsWide ? 2 * kDim : kDim + 16;
  static constexpr int kTileBytes = kSplit * kRowBytes;
  static constexpr int kRuns = kSplit / 8;  // of 8 positions: the smallest page
  static_assert(kScoreTiles % 2 == 0 && (kIsWide ? kValueTiles % 2 == 0 : kValueTiles % 4 == 0));
  static_assert(2 * kRuns <= kDecodeThreads);

  static constexpr int kKeys = 0;
  static constexpr int kValues = kKeys + kTileBytes;
  static constexpr int kQuery = kValues + kTileBytes;
  static constexpr int kWeights = kQuery + kQueries * kDim * 2;
  static constexpr int kLargest = kWeights + kQueries * kSplit * 2;
  static constexpr int kSums = kLargest + kDecodeWarps * kQueries * 4;
  // Where each run's keys and values lie, of this split and of the next.
  static constexpr int kPlaces = kSums + kDecodeWarps * kQueries * 4;
  // The newest key and value, as they lie in their page. Only one row of few queries stores them.
  static constexpr bool kStores = kTiles == 1;
  static constexpr int kNewest = kPlaces + 2 * 2 * kRuns * 8;
  static constexpr int kBytes = kNewest + (kStores ? 2 * kRowBytes : 0);
  // Offsets of chunks are made by exclusive or.
  static_assert(kQuery % 512 == 0 && kWeights % 512 == 0 && kPlaces % 16 == 0);
};

// Where element i of 64 goes, so that lane t's pairs 2t and 2t + 8 of step j are elements 16 t + 4
// j to 16 t + 4 j + 3.
__device__ __forceinline__ constexpr int permuted(int i) {
  return (i & ~63) | (((i >> 2) & 3) << 4) | (((i >> 1) & 1) << 3) | (((i >> 4) & 3) << 1) |
         (i & 1);
}

struct Granules {
  int first;
  int end;
};

template <class Shape_>
struct DecodeView {
  using Shape = Shape_;

  __device__ DecodeView(const DecodeStep& from, uint8_t* shared)
      : decode(from),
        step(from.step),
        args(from.step.args),
        memory(shared),
        thread(static_cast<int>(threadIdx.x % kDecodeThreads)),  // known not to be negative
        lane(thread % 32),
        warp(thread / 32),
        g(lane / 4),
        t(lane % 4),
        kv_head(static_cast<int>(blockIdx.y)),
        sequence(static_cast<int>(blockIdx.z)) {}

  // query / group, exact while query * group < 2^30.
  __device__ int token_of(int query) const {
    return static_cast<int>(
        __umulhi(2 * static_cast<uint32_t>(query) + 1, decode.group_reciprocal));
  }
  __device__ int head_of(int query) const {
    return kv_head * decode.group + query - token_of(query) * decode.group;
  }
  __device__ int slot_of(int token) const {
    return step.splits.is_slot_by_sequence ? sequence * kDecodeTokens + token : first_row + token;
  }
  // Whether the newest key and value still have to be stored.
  __device__ bool is_fresh() const { return Shape::kStores && stored_end != end; }

  // The granules of a split that some row sees.
  __device__ Granules granules(int split) const {
    const int at = split * Shape::kSplit;
    const auto last = static_cast<uint32_t>(min(end - at, Shape::kSplit) - 1);
    return {max(begin - at, 0) / Shape::kGranule, static_cast<int>(last / Shape::kGranule) + 1};
  }

  __device__ uint64_t* places(int which, bool is_key) const {
    return reinterpret_cast<uint64_t*>(memory + Shape::kPlaces) +
           (2 * which + (is_key ? 0 : 1)) * Shape::kRuns;
  }
  __device__ float& largest_at(int of_warp, int row) const {
    return reinterpret_cast<float*>(memory + Shape::kLargest)[of_warp * Shape::kQueries + row];
  }
  __device__ float& sum_at(int of_warp, int row) const {
    return reinterpret_cast<float*>(memory + Shape::kSums)[of_warp * Shape::kQueries + row];
  }

  const DecodeStep& decode;
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
  int first_query = 0;
  int queries = 0;  // of this block, from first_query on
  int tokens = 0;
  int first_row = 0;
  int begin = 0;  // positions that some row sees
  int end = 0;
  int stored_end = 0;               // of those that are in their pages
  int position[Shape::kRows] = {};  // -1: no query
};

}  // namespace ingot::cuda
