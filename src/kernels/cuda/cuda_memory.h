// SPDX-License-Identifier: Apache-2.0
// Memory of the device, and of the host where the device can fetch it by itself (pinned). Both grow
// to what is asked for and stay.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "kernels/cuda/stream.h"
#include "kernels/device.h"

namespace ingot::cuda {

// Owned device memory. Contents are lost when it grows.
class Memory final : public DeviceBuffer {
 public:
  Memory() = default;
  ~Memory() override;
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;
  static Result<Memory> allocate(size_t bytes);
  // At least this much; waits for the device where it has to move.
  Status reserve(size_t bytes);
  std::byte* data() const override { return data_; }
  size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

class PinnedMemory {
 public:
  PinnedMemory() = default;
  ~PinnedMemory();
  PinnedMemory(PinnedMemory&& other) noexcept;
  PinnedMemory& operator=(PinnedMemory&& other) noexcept;
  Status reserve(size_t bytes);
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace ingot::cuda
