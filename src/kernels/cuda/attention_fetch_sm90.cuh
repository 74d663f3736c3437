// SPDX-License-Identifier: Apache-2.0
// The warpgroup of attention_prefill_sm90.cu that fetches: keys and values of 128 positions at a
// time, two tiles of each on their way or in use. Tiles of which some row sees every position are
// asked for by one thread, a page and 64 elements in one copy. Others, at most two, may lie over
// positions that were never written or are another sequence's, whose weight of 0 would not make a
// NaN harmless: all four warps copy their rows, with zeros in the place of those.
#pragma once

#include "kernels/cuda/attention_block_sm90.cuh"
#include "kernels/cuda/cp_async.cuh"
#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/tensor_copy.cuh"
#include "kernels/cuda/tensor_map.h"
#include "kernels/cuda/wgmma.cuh"

namespace ingot::cuda::sm90 {

template <int kDim>
class Fetch {
  using Layout = Shape<kDim>;

 public:
  __device__ Fetch(const PrefillStep& from, const BlockWork& what, Places<kDim> where)
      : prefill(from),
        work(what),
        places(where),
        thread(static_cast<int>(threadIdx.x) % kGroup),
        lane(thread % 32) {}

  __device__ void run() const {
    int next_page = page_of_thread(0);
#pragma unroll 1
    for (int n = 0; n < work.tiles; ++n) {
      const int page = next_page;
      if (n + 1 < work.tiles) next_page = page_of_thread(n + 1);
      if (!is_whole(n))
        copy(n);
      else if (thread < 32)
        ask(n, page);
    }
  }

 private:
  __device__ int first_of(int n) const {
    return (work.first_tile + n) * kPositions;
  }
  __device__ bool is_whole(int n) const {
    return prefill.has_maps && first_of(n) >= work.begin && first_of(n) + kPositions <= work.end;
  }
  // The first threads' are the tile's, in order.
  __device__ int page_of_thread(int n) const {
    const int position = first_of(n) + (thread << prefill.step.layout.page_shift);
    const bool is_of_tile = position < min(first_of(n) + kPositions, work.end);
    return is_of_tile ? work.pages[position >> prefill.step.layout.page_shift] : 0;
  }
  // Until a tile's place is free: the stage's last tile was used.
  __device__ void wait_until_used(uint32_t barrier, int n) const {
    wait_for_phase(barrier, (static_cast<uint32_t>(n / kStages) & 1u) ^ 1u);
  }

  // One warp.
  __device__ void ask(int n, int page) const {
    const int stage = n % kStages;
    wait_until_used(places.keys_used(stage), n);
    ask_for(prefill.keys, page, places.keys(stage), places.keys_there(stage));
    wait_until_used(places.values_used(stage), n);
    ask_for(prefill.values, page, places.values(stage), places.values_there(stage));
  }
  __device__ void ask_for(const CUtensorMap& map, int page, uint32_t tile, uint32_t barrier) const {
    const int page_tokens = prefill.step.args.kv.page_tokens;
    if (lane == 0) arrive_expecting(barrier, Layout::kTileBytes);
#pragma unroll 1
    for (int row = 0; row < kPositions; row += page_tokens) {
      const int32_t here = __shfl_sync(kAllLanes, page, row >> prefill.step.layout.page_shift);
      if (lane != 0) continue;
#pragma unroll
      for (int panel = 0; panel < Layout::kPanels; ++panel)
        copy_box(map, {panel * kBoxElements, work.kv_head * page_tokens, here},
                 tile + static_cast<uint32_t>(panel * Layout::kPanelBytes + row * kLine), barrier);
    }
  }

  // All warps. The first waits for the others too: they may be tiles ahead, where a barrier's
  // parity says nothing.
  __device__ void copy(int n) const {
    const int stage = n % kStages;
    if (thread < 32) wait_until_used(places.keys_used(stage), n);
    sync_threads_of(kFetchBarrier, kGroup);
    copy_rows<true>(n, places.keys(stage));
    if (thread < 32) wait_until_used(places.values_used(stage), n);
    sync_threads_of(kFetchBarrier, kGroup);
    copy_rows<false>(n, places.values(stage));
    wait_for_copies<1>();
    announce(places.keys_there(stage));
    wait_for_copies<0>();
    announce(places.values_there(stage));
  }
  // What all have copied; each makes his own visible to the tensor cores.
  __device__ void announce(uint32_t barrier) const {
    fence_for_tensor_cores();
    sync_threads_of(kFetchBarrier, kGroup);
    if (thread == 0) arrive(barrier);
  }
  // Zeros stand for positions that no row sees, and for elements that a row does not have.
  template <bool kIsKey>
  __device__ void copy_rows(int n, uint32_t tile) const {
    const KvLayout& layout = prefill.step.layout;
    const DeviceKv& kv = prefill.step.args.kv;
    const int row_bytes = kIsKey ? layout.key_row_bytes : layout.value_row_bytes;
    const std::byte* rows_of_head = kv.data + (kIsKey ? 0 : layout.value_offset) +
                                    static_cast<int64_t>(work.kv_head) * kv.page_tokens * row_bytes;
    constexpr int kChunks = kDim * 2 / 16;
    constexpr int kRowsAtOnce = kGroup / kChunks;
    const int chunk = thread % kChunks;
    const int line = thread / kChunks;
    const bool has_chunk = 16 * chunk < row_bytes;
    const uint32_t panel = tile + static_cast<uint32_t>(chunk / 8 * Layout::kPanelBytes);
#pragma unroll 4
    for (int i = 0; i < kPositions / kRowsAtOnce; ++i) {
      const int row = i * kRowsAtOnce + line;
      const int position = first_of(n) + row;
      const bool is_there = has_chunk && position >= work.begin && position < work.end;
      const std::byte* from = kv.data;
      if (is_there)
        from = rows_of_head + work.pages[position >> layout.page_shift] * kv.page_stride +
               (position & (kv.page_tokens - 1)) * row_bytes + 16 * chunk;
      copy_async_or_zero(panel + static_cast<uint32_t>(row * kLine + 16 * swizzled(row, chunk % 8)),
                         from, is_there);
    }
    close_copies();
  }

  const PrefillStep& prefill;
  const BlockWork& work;
  Places<kDim> places;
  int thread;
  int lane;
};

}  // namespace ingot::cuda::sm90
