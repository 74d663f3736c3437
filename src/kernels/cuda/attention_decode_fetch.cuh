// SPDX-License-Identifier: Apache-2.0
// How decode attention finds and fetches a split's keys and values. A page's rows of one kv head
// lie one after the other, and a page has at least 8: one thread finds where each run of 8 rows
// begins, once for all; a thread then copies the same 16 bytes of every few rows.
#pragma once

#include "kernels/cuda/attention_decode_view.cuh"
#include "kernels/cuda/cp_async.cuh"

namespace ingot::cuda {

// The page of the run that is this thread's to find: keys of run `thread`, then values.
template <class View>
__device__ __forceinline__ int read_page(const View& view, int split) {
  using Shape = typename View::Shape;
  const DeviceSequences& sequences = view.args.sequences;
  if (view.thread >= 2 * Shape::kRuns) return 0;
  const int run = view.thread % Shape::kRuns;
  const int index = (split * Shape::kSplit + 8 * run) >> view.step.layout.page_shift;
  if (index >= static_cast<int>(sequences.table_stride)) return 0;
  return sequences.pages[view.sequence * sequences.table_stride + index];
}

// Tells all threads where that run begins; 0: it has no page.
template <class View>
__device__ __forceinline__ void put_place(const View& view, int which, int split, int page) {
  using Shape = typename View::Shape;
  if (view.thread >= 2 * Shape::kRuns) return;
  const KvLayout& layout = view.step.layout;
  const bool is_key = view.thread < Shape::kRuns;
  const int at = split * Shape::kSplit + 8 * (view.thread % Shape::kRuns);
  const int page_tokens = 1 << layout.page_shift;
  const int row = (view.kv_head << layout.page_shift) + (at & (page_tokens - 1));
  const int64_t in_page =
      static_cast<int64_t>(row) * (is_key ? layout.key_row_bytes : layout.value_row_bytes) +
      (is_key ? 0 : layout.value_offset);
  const uint64_t place = reinterpret_cast<uint64_t>(view.args.kv.data) +
                         static_cast<uint64_t>(static_cast<uint32_t>(page)) *
                             static_cast<uint64_t>(view.args.kv.page_stride) +
                         static_cast<uint64_t>(in_page);
  view.places(which, true)[view.thread] = page < 0 ? 0 : place;
}

// Sends for a split's keys or values; zeros stand for positions that no row sees, as weights of
// zero make nothing of them. The newest row is put_newest()'s. Closes a group of copies.
template <bool kIsKey, class View>
__device__ __forceinline__ void fetch_rows(const View& view, int split, const uint64_t* places) {
  using Shape = typename View::Shape;
  constexpr int kTogether = kDecodeThreads / Shape::kChunks;  // rows
  constexpr int kTimes = Shape::kGranule / kTogether;
  constexpr int kRunsOfGranule = Shape::kGranule / 8;
  const KvLayout& layout = view.step.layout;
  const int row_bytes = kIsKey ? layout.key_row_bytes : layout.value_row_bytes;
  const int row = view.thread / Shape::kChunks;
  const int chunk = view.thread % Shape::kChunks;
  const bool is_in = 16 * chunk < row_bytes;
  const int stored_end = view.is_fresh() ? view.end - 1 : view.end;
  const int newest = is_in && view.is_fresh() ? stored_end - split * Shape::kSplit : -1;
  const auto seen = is_in ? static_cast<uint32_t>(stored_end - view.begin) : 0u;
  const int before = view.begin - split * Shape::kSplit;  // of the split's first row
  const auto offset = static_cast<uint32_t>((row % 8) * row_bytes + 16 * chunk);
  const uint32_t tile =
      shared_address(view.memory) + static_cast<uint32_t>(kIsKey ? Shape::kKeys : Shape::kValues);
  const Granules granules = view.granules(split);
#pragma unroll 1
  for (int granule = granules.first; granule < granules.end; ++granule) {
    uint64_t from[kTimes];
#pragma unroll
    for (int i = 0; i < kTimes; ++i)
      from[i] = places[granule * kRunsOfGranule + (i * kTogether + row) / 8];
    const int first = granule * Shape::kGranule;
    const uint32_t to = tile + static_cast<uint32_t>(first * Shape::kRowBytes);
#pragma unroll
    for (int i = 0; i < kTimes; ++i) {
      const int at = i * kTogether + row;  // within the granule
      const bool is_there = static_cast<uint32_t>(first + at - before) < seen;
      // Rows taken fewer than 8 at once: the upper half of a run.
      const uint32_t above = kTogether < 8 ? static_cast<uint32_t>(i * kTogether % 8) : 0u;
      const uint64_t source = from[i] + offset + above * static_cast<uint32_t>(row_bytes);
      const int place = at * Shape::kRowBytes + 16 * (Shape::kIsWide ? swizzled(at, chunk) : chunk);
      if (first + at != newest)
        copy_async_or_zero(to + static_cast<uint32_t>(place), reinterpret_cast<const void*>(source),
                           is_there);
    }
  }
  close_copies();
}

// The same of int8, whose rows begin anywhere: whole runs of 8 rows, a warp a run. Bytes that no
// row sees are not used; the newest row comes over its own afterwards.
template <bool kIsKey, class View>
__device__ __forceinline__ void fetch_runs(const View& view, int split, const uint64_t* places) {
  using Shape = typename View::Shape;
  const KvLayout& layout = view.step.layout;
  const int run_bytes = 8 * (kIsKey ? layout.key_row_bytes : layout.value_row_bytes);
  const int stored_end = view.is_fresh() ? view.end - 1 : view.end;
  const int first = max(view.begin - split * Shape::kSplit, 0) / 8;
  const int end = (min(stored_end - split * Shape::kSplit, Shape::kSplit) + 7) / 8;
  const uint32_t tile =
      shared_address(view.memory) + static_cast<uint32_t>(kIsKey ? Shape::kKeys : Shape::kValues);
#pragma unroll 2
  for (int run = first + view.warp; run < end; run += kDecodeWarps) {
    const uint64_t from = places[run];
    const uint32_t to = tile + static_cast<uint32_t>(run * run_bytes);
#pragma unroll 2
    for (int byte = 16 * view.lane; byte < run_bytes; byte += 16 * 32)
      copy_async(to + static_cast<uint32_t>(byte),
                 reinterpret_cast<const void*>(from + static_cast<uint32_t>(byte)));
  }
  close_copies();
}

template <bool kIsKey, class View>
__device__ __forceinline__ void fetch(const View& view, int split, const uint64_t* places) {
  if constexpr (View::Shape::kIsInt8)
    fetch_runs<kIsKey>(view, split, places);
  else
    fetch_rows<kIsKey>(view, split, places);
}

}  // namespace ingot::cuda
