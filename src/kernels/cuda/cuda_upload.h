// SPDX-License-Identifier: Apache-2.0
// The way of weights into a GPU's memory: a piece at a time through two pinned buffers, one of
// which the host's threads fill while the other is on its way. What is packed there arrives in a
// scratch first, which is given back when a model is loaded.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cuda/cuda_memory.h"
#include "kernels/exec.h"

struct CUevent_st;

namespace ingot::cuda {

// One thread at a time, and one stream, on which all that reads the scratch runs.
class Upload {
 public:
  static constexpr size_t kPieceBytes = size_t{64} << 20;

  Upload() = default;
  ~Upload();
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;
  Status open(Stream stream);

  // Bytes as they are; they may go when it returns.
  Status send(std::span<const std::byte> from, std::byte* to, const Exec& exec);
  // Units that are made on the way, by many threads: fill(first, end, out).
  struct Units {
    int64_t count;
    size_t bytes;  // of one
    std::byte* to;
  };
  template <class Fill>
  Status fill(const Units& units, const Exec& exec, const Fill& fill);

  // Room for one weight, or a piece of it, until the next is asked for.
  Result<std::byte*> scratch(size_t bytes);
  void drop_scratch() { scratch_ = Memory(); }

 private:
  // The buffer whose turn it is, when it is free; then what lies in it goes.
  Result<std::byte*> take(size_t bytes);
  Status go(size_t bytes, std::byte* to);

  Stream stream_ = nullptr;
  std::array<PinnedMemory, 2> staging_;
  std::array<CUevent_st*, 2> sent_{};
  size_t turn_ = 0;
  Memory scratch_;
};

template <class Fill>
Status Upload::fill(const Units& units, const Exec& exec, const Fill& fill) {
  const auto each = std::max<int64_t>(1, static_cast<int64_t>(kPieceBytes / units.bytes));
  for (int64_t first = 0; first < units.count; first += each) {
    const int64_t count = std::min(each, units.count - first);
    const size_t bytes = static_cast<size_t>(count) * units.bytes;
    INGOT_TRY(std::byte* const out, take(bytes));
    exec.for_ranges(count, 1, [&](int64_t begin, int64_t end) {
      fill(first + begin, first + end, out + static_cast<size_t>(begin) * units.bytes);
    });
    INGOT_TRY(go(bytes, units.to + static_cast<size_t>(first) * units.bytes));
  }
  return Status::ok();
}

}  // namespace ingot::cuda
