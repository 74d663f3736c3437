// SPDX-License-Identifier: Apache-2.0
// A step as the device has it: everything that ops read about tokens, sequences and pages, laid out
// in one piece of memory so that it is sent in one copy.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cuda/attention.h"
#include "kernels/ops.h"

namespace ingot::cuda {

// Pointers are the device's.
struct DeviceStep {
  const int32_t* tokens = nullptr;
  const int32_t* position_rows = nullptr;
  std::array<const int32_t*, 2> rows{};  // by RowList
  std::array<int32_t, 2> row_counts{};
  std::vector<DeviceSequences> groups;
  std::vector<RopeAngles> ropes;
  int32_t count = 0;
};

// The step must outlive it. Steps of single tokens are laid out for lengths up to powers of two, so
// that one recording serves them.
class StepWriter {
 public:
  explicit StepWriter(const OpsStep& step) : step_(step) {}
  // Bytes it takes.
  size_t size();
  // Writes into the host's memory what will lie at `device`.
  void write(std::byte* host, std::byte* device, DeviceStep& out);

 private:
  template <class T>
  struct Room {
    T* host;  // null at a rehearsal
    const T* device;
  };
  template <class T>
  Room<T> room(size_t count);
  template <class T>
  const T* values(std::span<const T> from);
  template <class T>
  const int32_t* ints(std::span<const T> from);
  DeviceSequences sequences(const std::vector<SequenceRows>& group);

  const OpsStep& step_;
  std::byte* host_ = nullptr;
  std::byte* device_ = nullptr;
  size_t used_ = 0;
};

}  // namespace ingot::cuda
