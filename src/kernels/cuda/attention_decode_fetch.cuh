// SPDX-License-Identifier: Apache-2.0
// How decode attention finds and fetches a split's keys and values. A page's rows of one kv head
// lie one after the other, and a page has at least 8: one thread finds where each run of 8 rows
// begins, once for all; a thread then copies the same 16 bytes of every few rows.
#pragma once

#include "kernels/cuda/attention_decode_view.cuh"
#include "kernels/cuda/cp_async.cuh"

namespace ingot::cuda {

// Sent for here, and not where a compiler sees the first use, behind other loads' round trips.
__device__ __forceinline__ int load_now(const int32_t* from) {
  int value;
  asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];"
               : "=r"(value)
               : "l"(__cvta_generic_to_global(from)));
  return value;
}

// The page of the run that is this thread's to find: keys of run `thread`, then values.
template <class View>
__device__ __forceinline__ int read_page(const View& view, int split) {
  using Shape = typename View::Shape;
  const DeviceSequences& sequences = view.args.sequences;
  if (view.thread >= 2 * Shape::kRuns) return 0;
  const int run = view.thread % Shape::kRuns;
  const int index = (split * Shape::kSplit + 8 * run) >> view.step.layout.page_shift;
  const auto stride = static_cast<uint32_t>(sequences.table_stride);
  if (static_cast<uint32_t>(index) >= stride) return 0;
  return load_now(sequences.pages + static_cast<uint64_t>(stride) * blockIdx.z + index);
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
  constexpr int kHalves = kTogether < 8 ? 2 : 1;  // of a run of 8 rows
  static_assert(8 % kTogether == 0 || kTogether % 8 == 0);
  const KvLayout& layout = view.step.layout;
  const int row_bytes = kIsKey ? layout.key_row_bytes : layout.value_row_bytes;
  const int row = view.thread / Shape::kChunks;
  const int chunk = view.thread % Shape::kChunks;
  const bool is_in = 16 * chunk < row_bytes;
  // Counted from the first position that is seen: how many are stored, and which is the newest.
  const auto stored = is_in ? static_cast<uint32_t>(view.stored_end - view.begin) : 0u;
  const uint32_t newest = is_in && view.is_fresh() ? stored : 1u << 31;  // no position
  const Granules granules = view.granules(split);
  auto at = static_cast<uint32_t>(split * Shape::kSplit + granules.first * Shape::kGranule + row -
                                  view.begin);
  uint32_t offset[kHalves];  // of this thread's 16 bytes, in a run and in the tile
  uint32_t to[kHalves];
#pragma unroll
  for (int half = 0; half < kHalves; ++half) {
    const int in_run = row % 8 + half * kTogether;
    offset[half] = static_cast<uint32_t>(in_run * row_bytes + 16 * chunk);
    const int place = (granules.first * Shape::kGranule + row) * Shape::kRowBytes +
                      16 * (Shape::kIsWide ? swizzled(in_run, chunk) : chunk);
    to[half] = shared_address(view.memory) +
               static_cast<uint32_t>((kIsKey ? Shape::kKeys : Shape::kValues) + place);
  }
  places += row / 8;
#pragma unroll 1
  for (int granule = granules.first; granule < granules.end; ++granule) {
    uint64_t from[kTimes];
#pragma unroll
    for (int i = 0; i < kTimes; ++i)
      from[i] = places[granule * (Shape::kGranule / 8) + i * kTogether / 8];
#pragma unroll
    for (int i = 0; i < kTimes; ++i) {
      const uint32_t row_at = at + i * kTogether;
      const uint64_t source = from[i] + offset[i % kHalves];
      if (row_at != newest)
        copy_async_or_zero(to[i % kHalves] + i * kTogether * Shape::kRowBytes,
                           reinterpret_cast<const void*>(source), row_at < stored);
    }
    at += Shape::kGranule;
#pragma unroll
    for (int half = 0; half < kHalves; ++half)
      to[half] += Shape::kGranule * Shape::kRowBytes;
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
  const int first = max(view.begin - split * Shape::kSplit, 0) / 8;
  const int end = (min(view.stored_end - split * Shape::kSplit, Shape::kSplit) + 7) / 8;
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
