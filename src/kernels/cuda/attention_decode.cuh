// SPDX-License-Identifier: Apache-2.0
// Attention of few rows a sequence, at the speed of memory. A thread block of 4 warps takes the
// queries (rows by heads) of one kv head, 16 or 32 at a time, and every shares-th split of the
// positions, so that keys and values are read once for all heads. Of a split's keys a warp scores a
// quarter of the positions; of its values it mixes a quarter of the elements, with everyone's
// weights. One tile of keys and one of values are on their way or in use: the next split's keys are
// fetched while values are mixed, its values while keys are scored. A sequence's newest key and
// value come from the step itself and join their tiles in shared memory; their page gets a copy.
// For one short sequence the time is that of one warp's instructions: what is needed once is worked
// out once, and code is only unrolled where loads wait for each other.
#pragma once

#include <algorithm>

#include "kernels/cuda/attention_decode_fetch.cuh"
#include "kernels/cuda/attention_decode_mix.cuh"
#include "kernels/cuda/attention_decode_rows.cuh"
#include "kernels/cuda/attention_decode_score.cuh"
#include "kernels/cuda/attention_decode_view.cuh"
#include "kernels/cuda/launch.cuh"

namespace ingot::cuda {

inline constexpr int kDecodeBusyBlocks = 1536;

template <class Shape>
class Decode : DecodeView<Shape> {
  using View = DecodeView<Shape>;
  using View::args;
  using View::begin;
  using View::decode;
  using View::end;
  using View::first_query;
  using View::first_row;
  using View::g;
  using View::kv_head;
  using View::lane;
  using View::memory;
  using View::places;
  using View::position;
  using View::queries;
  using View::sequence;
  using View::step;
  using View::stored_end;
  using View::t;
  using View::thread;
  using View::tokens;
  using View::warp;
  static constexpr int kRows = Shape::kRows;
  static constexpr int kSplit = Shape::kSplit;

 public:
  __device__ Decode(const DecodeStep& from, uint8_t* shared) : View(from, shared) {}

  __device__ __forceinline__ void run() {
    const int shares = step.splits.shares;
    int share = static_cast<int>(blockIdx.x);
    if constexpr (Shape::kTiles > 1) {  // else one block has all queries
      // The longest rows first, as the last blocks should be short.
      const int row_block = share / shares;
      share -= row_block * shares;
      first_query = (step.row_blocks - 1 - row_block) * Shape::kQueries;
    }
    const DeviceSequences& sequences = args.sequences;
    // All in one round trip to memory, before it is known what is needed.
    const int first_position = load_now(sequences.first_position + blockIdx.z);
    tokens = load_now(sequences.tokens + blockIdx.z);
    first_row = load_now(sequences.first_row + blockIdx.z);
    int page = args.window == 0 ? read_page(view(), share) : 0;
    queries = min(tokens * decode.group - first_query, Shape::kQueries);
    if (tokens < step.tokens.least || tokens > step.tokens.most || queries <= 0) return;
    begin = first_seen(first_position + this->token_of(first_query), args.window);
    end = first_position + this->token_of(first_query + queries - 1) + 1;
    stored_end = Shape::kStores && args.fresh.k != nullptr ? end - 1 : end;
    const int first_split = begin / kSplit;
    const int end_split = static_cast<int>(static_cast<uint32_t>(end - 1) / kSplit) + 1;
    int split = first_split + share;
    if (split >= end_split) return;
    if (args.window != 0) page = read_page(view(), split);

    const int after = end_split - 1 - split;
    const bool has_newest = this->is_fresh() && (after < shares ? after == 0 : after % shares == 0);
    if (decode.turns_halves)
      start<true>(split, page, has_newest, after == 0);
    else
      start<false>(split, page, has_newest, after == 0);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int row = 8 * i + g;
      position[i] = row < queries ? first_position + this->token_of(first_query + row) : -1;
    }

    walk(split, end_split, shares, step.splits.values == nullptr);
  }

 private:
  __device__ const View& view() const {
    return *this;
  }

  // Sends for the first split and puts the step's own rows in place.
  template <bool kHalves>
  __device__ __forceinline__ void start(int split, int page, bool has_newest, bool is_newest) {
    DecodeRows<View, kHalves> rows(view());
    rows.load(has_newest);
    put_place(view(), 0, split, page);
    __syncthreads();
    fetch<true>(view(), split, places(0, true));
    fetch<false>(view(), split, places(0, false));
    rows.put(has_newest);
    if (has_newest && is_newest) {
      put_newest<true>(view(), split, places(0, true));
      put_newest<false>(view(), split, places(0, false));
    }
  }

  // Split after split: its partial result is written down, or, alone, joined with those before.
  __device__ __forceinline__ void walk(int split, int end_split, int shares, bool is_alone) {
    float largest[kRows];
    float sums[kRows] = {};
    Mixed<View> total = {};
#pragma unroll
    for (int i = 0; i < kRows; ++i)
      largest[i] = minus_infinity();
#pragma unroll 1
    for (int round = 1; split < end_split; split += shares, ++round) {
      const int next = split + shares;
      const bool has_next = next < end_split;
      const bool is_newest = this->is_fresh() && split + 1 == end_split;
      const bool is_newest_next = this->is_fresh() && next + 1 == end_split;
      int page = 0;
      if (has_next) page = read_page(view(), next);
      wait_for_copies<1>();  // keys
      __syncthreads();
      if (Shape::kIsInt8 && is_newest) {
        put_newest_in_tile<true>(view(), split);
        __syncthreads();
      }
      Scores<View> scores = {};
      score(view(), split, scores);
      make_logits(view(), split, scores);
      if (has_next) put_place(view(), round & 1, next, page);
      __syncthreads();  // keys have been read, all warps' largest logits are there
      if (has_next) {
        fetch<true>(view(), next, places(round & 1, true));
        if (is_newest_next) put_newest<true>(view(), next, places(round & 1, true));
      } else {
        close_copies();
      }
      float part_largest[kRows];
      make_weights(view(), scores, part_largest);
      wait_for_copies<1>();  // values
      __syncthreads();
      if (Shape::kIsInt8 && is_newest) {
        put_newest_in_tile<false>(view(), split);
        __syncthreads();
      }
      Mixed<View> part = {};
      mix(view(), split, part);
      float part_sums[kRows] = {};
      add_sums(part_sums);
      if (has_next) {
        __syncthreads();  // values, weights and sums have been read
        fetch<false>(view(), next, places(round & 1, false));
        if (is_newest_next) put_newest<false>(view(), next, places(round & 1, false));
      }
      if (is_alone)
        join_part(part_largest, part_sums, part, largest, sums, total);
      else
        write_partial(split, part_largest, part_sums, part);
    }
    if (is_alone) write_result(largest, sums, total);
  }

  // Of all warps' weights.
  __device__ __forceinline__ void add_sums(float (&part_sums)[kRows]) const {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      if (8 * i >= queries) break;
      part_sums[i] = this->sum_at(0, 8 * i + g);
#pragma unroll
      for (int w = 1; w < kDecodeWarps; ++w)
        part_sums[i] = __fadd_rn(part_sums[i], this->sum_at(w, 8 * i + g));
    }
  }

  __device__ __forceinline__ void join_part(const float (&part_largest)[kRows],
                                            const float (&part_sums)[kRows],
                                            const Mixed<View>& part, float (&largest)[kRows],
                                            float (&sums)[kRows], Mixed<View>& total) const {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      if (8 * i >= queries) break;
      const Share joined = join_largest(largest[i], part_largest[i]);
      sums[i] = join(sums[i], part_sums[i], joined);
#pragma unroll
      for (int tile = 0; tile < Shape::kValueTiles; ++tile) {
        float* to = &total[i / 2][tile][2 * (i % 2)];
        const float* from = &part[i / 2][tile][2 * (i % 2)];
        to[0] = join(to[0], from[0], joined);
        to[1] = join(to[1], from[1], joined);
      }
    }
  }

  __device__ __forceinline__ void write_partial(int split, const float (&part_largest)[kRows],
                                                const float (&part_sums)[kRows],
                                                const Mixed<View>& part) const {
    const Splits& splits = step.splits;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      if (8 * i + g >= queries) break;
      const int query = first_query + 8 * i + g;
      const int64_t at = (static_cast<int64_t>(this->slot_of(this->token_of(query))) * args.heads +
                          this->head_of(query)) *
                             splits.most +
                         split;
      if (warp == 0 && t == 0)
        *reinterpret_cast<float2*>(splits.stats + 2 * at) =
            make_float2(part_largest[i], part_sums[i]);
      write_row(view(), i, part, 1.0F, splits.values + at * args.kv.value_dim);
    }
  }

  __device__ __forceinline__ void write_result(const float (&largest)[kRows],
                                               const float (&sums)[kRows],
                                               const Mixed<View>& total) const {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      if (8 * i + g >= queries) break;
      const int query = first_query + 8 * i + g;
      const int head = this->head_of(query);
      write_row(view(), i, total, last_factor(largest[i], sums[i], args.sinks, head),
                args.out + (first_row + this->token_of(query)) * args.out_stride +
                    static_cast<int64_t>(head) * args.kv.value_dim);
    }
  }
};

template <KvType kType, int kDim, int kTiles>
__global__ void __launch_bounds__(kDecodeThreads, kDim <= 128 ? (kTiles == 1 ? 3 : 2) : 1)
    attend_decode(const __grid_constant__ DecodeStep step) {
  extern __shared__ __align__(128) uint8_t memory[];
  let_next_begin();
  // Arguments reach this processor's caches while the kernel in front still runs.
  constexpr unsigned kLines = (sizeof(DecodeStep) + 63) / 64;
  static_assert(kLines <= kDecodeThreads);
  if (threadIdx.x < kLines)
    *reinterpret_cast<volatile int32_t*>(memory + 4 * threadIdx.x) =
        reinterpret_cast<const int32_t*>(&step)[16 * threadIdx.x];
  wait_for_inputs();
  Decode<DecodeShape<kType, kDim, kTiles>>(step, memory).run();
}

template <KvType kType, int kDim, int kTiles>
AttentionStep launch_decode_tiles(const AttentionArgs& args, TokenRange tokens, int64_t queries,
                                  Stream stream) {
  using Shape = DecodeShape<kType, kDim, kTiles>;
  DecodeStep decode{};
  AttentionStep& step = decode.step;
  step.args = args;
  step.layout = kv_layout(args.kv);
  step.tokens = tokens;
  step.row_blocks = static_cast<int32_t>((queries + Shape::kQueries - 1) / Shape::kQueries);
  const int64_t blocks =
      static_cast<int64_t>(step.row_blocks) * args.kv.kv_heads * args.sequences.sequences;
  step.splits = plan_splits(args, tokens, Shape::kSplit, blocks, kDecodeBusyBlocks);
  decode.group = args.heads / args.kv.kv_heads;
  const auto group = static_cast<uint32_t>(decode.group);
  decode.group_reciprocal = ((uint32_t{1} << 31) + group - 1) / group;
  decode.turns_halves = args.rope.cos != nullptr && args.rope.in_halves &&
                        args.kv.key_dim == kDim && 2 * args.rope.pairs == kDim;
  const dim3 grid(
      static_cast<unsigned>(step.row_blocks) * static_cast<unsigned>(step.splits.shares),
      static_cast<unsigned>(args.kv.kv_heads), static_cast<unsigned>(args.sequences.sequences));
  launch_early(attend_decode<kType, kDim, kTiles>, {grid, kDecodeThreads, Shape::kBytes}, stream,
               decode);
  return step;
}

template <KvType kType, int kDim>
AttentionStep launch_decode_dim(const AttentionArgs& args, TokenRange tokens, Stream stream) {
  const int64_t queries = static_cast<int64_t>(std::min(args.sequences.most_tokens, tokens.most)) *
                          (args.heads / args.kv.kv_heads);
  if (queries <= 16) return launch_decode_tiles<kType, kDim, 1>(args, tokens, queries, stream);
  return launch_decode_tiles<kType, kDim, 2>(args, tokens, queries, stream);
}

}  // namespace ingot::cuda
