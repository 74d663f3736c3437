// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_upload.h"

#include <cuda_runtime_api.h>

#include <cstring>

#include "kernels/cuda/cuda_error.h"

namespace ingot::cuda {
namespace {

constexpr int64_t kPageBytes = 4096;  // of a mapped file: no two threads wait for the same one

}  // namespace

Upload::~Upload() {
  for (CUevent_st* event : sent_) {
    if (event != nullptr) cudaEventDestroy(event);
  }
}

Status Upload::open(Stream stream) {
  stream_ = stream;
  for (CUevent_st*& event : sent_)
    INGOT_TRY(to_status(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event"));
  return Status::ok();
}

Result<std::byte*> Upload::take(size_t bytes) {
  INGOT_TRY(to_status(cudaEventSynchronize(sent_[turn_]), "a copy to the GPU"));
  INGOT_TRY(staging_[turn_].reserve(std::max(bytes, kPieceBytes)));
  return staging_[turn_].data();
}

Status Upload::go(size_t bytes, std::byte* to) {
  INGOT_TRY(
      to_status(cudaMemcpyAsync(to, staging_[turn_].data(), bytes, cudaMemcpyHostToDevice, stream_),
                "a copy to the GPU"));
  INGOT_TRY(to_status(cudaEventRecord(sent_[turn_], stream_), "a copy to the GPU"));
  turn_ ^= 1;
  return Status::ok();
}

Status Upload::send(std::span<const std::byte> from, std::byte* to, const Exec& exec) {
  for (size_t first = 0; first < from.size(); first += kPieceBytes) {
    const std::span<const std::byte> piece =
        from.subspan(first, std::min(kPieceBytes, from.size() - first));
    INGOT_TRY(std::byte* const out, take(piece.size()));
    exec.for_ranges(std::ssize(piece), kPageBytes, [&](int64_t begin, int64_t end) {
      std::memcpy(out + begin, piece.data() + begin, static_cast<size_t>(end - begin));
    });
    INGOT_TRY(go(piece.size(), to + first));
  }
  return Status::ok();
}

Result<std::byte*> Upload::scratch(size_t bytes) {
  INGOT_TRY(scratch_.reserve(std::max(bytes, kPieceBytes)));
  return scratch_.data();
}

}  // namespace ingot::cuda
