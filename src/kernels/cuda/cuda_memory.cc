// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_memory.h"

#include <utility>

#include "kernels/cuda/cuda_error.h"

namespace ingot::cuda {

Memory::~Memory() {
  if (data_ != nullptr) cudaFree(data_);
}
Memory::Memory(Memory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Result<Memory> Memory::allocate(size_t bytes) {
  Memory memory;
  INGOT_TRY(memory.reserve(bytes));
  return memory;
}

Status Memory::reserve(size_t bytes) {
  if (bytes <= size_) return Status::ok();
  if (data_ != nullptr) cudaFree(data_);  // waits for kernels that still use it
  data_ = nullptr;
  size_ = 0;
  void* data = nullptr;
  if (const cudaError_t error = cudaMalloc(&data, bytes); error != cudaSuccess) {
    cudaGetLastError();  // it does not stick
    size_t free = 0;
    size_t total = 0;
    if (error != cudaErrorMemoryAllocation || cudaMemGetInfo(&free, &total) != cudaSuccess)
      return to_status(error, "memory of the GPU");
    return Status::resource_exhausted("{} MiB were asked of the GPU, which has {} of {} MiB free",
                                      bytes >> 20, free >> 20, total >> 20);
  }
  data_ = static_cast<std::byte*>(data);
  size_ = bytes;
  return Status::ok();
}

PinnedMemory::~PinnedMemory() {
  if (data_ != nullptr) cudaFreeHost(data_);
}
PinnedMemory::PinnedMemory(PinnedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
PinnedMemory& PinnedMemory::operator=(PinnedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Status PinnedMemory::reserve(size_t bytes) {
  if (bytes <= size_) return Status::ok();
  if (data_ != nullptr) cudaFreeHost(data_);
  data_ = nullptr;
  size_ = 0;
  void* data = nullptr;
  INGOT_TRY(to_status(cudaMallocHost(&data, bytes), "pinned memory"));
  data_ = static_cast<std::byte*>(data);
  size_ = bytes;
  return Status::ok();
}

}  // namespace ingot::cuda
