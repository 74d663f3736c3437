// SPDX-License-Identifier: Apache-2.0
// A GPU: memory, weights placed in it, and the ops that run there. A build without CUDA, or a
// machine without a GPU, has none; nothing else knows which kind of device it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "kernels/exec.h"
#include "kernels/target.h"
#include "tensor/quant_tensor.h"
#include "tensor/tensor_view.h"

namespace ingot {

class Ops;

// A weight in a device's memory; what is in it is the device's business.
class DeviceWeight {
 public:
  virtual ~DeviceWeight() = default;
  virtual int64_t rows() const = 0;
  virtual int64_t cols() const = 0;
  virtual size_t size_bytes() const = 0;
  virtual InputKind input_kind() const = 0;  // what its inputs are rounded to
};

struct PlaceOptions {
  std::optional<Layout> cast;  // plain floats are rounded to this, F16 or BF16
  bool rounds_inputs = true;   // inputs of floats to the weight's own width; else they stay f32
};

// Memory of the device, given back with it.
class DeviceBuffer {
 public:
  virtual ~DeviceBuffer() = default;
  virtual std::byte* data() const = 0;
};

struct DeviceInfo {
  std::string name;        // "NVIDIA H200"
  std::string generation;  // "sm_90"
  uint64_t memory_bytes = 0;
};

// What the device does at most, measured. 0: not known.
struct DeviceCeilings {
  double read_bytes_per_s = 0;
  double bf16_flops_per_s = 0;  // of matrix products, a multiply-add is two
  double fp8_flops_per_s = 0;
  double int8_ops_per_s = 0;
  double attention_flops_per_s = 0;  // not a ceiling: of our own kernel, a prompt of 8,192, bf16
};

// What can be made to go wrong, for tests.
enum class DeviceFault : uint8_t {
  kOutOfMemory,  // an allocation fails
  kTrap,         // a kernel stops at an illegal instruction: the device is lost
};

// One thread at a time.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual uint64_t free_bytes() const = 0;

  // kResourceExhausted, with the numbers, where there is not so much.
  virtual Result<std::unique_ptr<DeviceBuffer>> allocate(size_t bytes) = 0;
  virtual Status write(std::byte* to, std::span<const std::byte> from) = 0;
  virtual Status read(const std::byte* from, std::span<std::byte> to) = 0;
  virtual Status copy(const std::byte* from, std::byte* to, size_t bytes) = 0;

  // Packs a weight as this device reads it.
  virtual Result<std::shared_ptr<const DeviceWeight>> place(const TensorView& weights,
                                                            std::span<const float> bias,
                                                            const PlaceOptions& options,
                                                            const Exec& exec) = 0;
  virtual Result<std::shared_ptr<const DeviceWeight>> place(const QuantTensor& weights,
                                                            std::span<const float> bias,
                                                            const PlaceOptions& options,
                                                            const Exec& exec) = 0;
  // Gives back the memory that placing takes meanwhile: when a model is loaded, before its KV cache
  // takes the rest. What is placed later takes it again.
  virtual void end_placing() = 0;
  // The same weight in memory of its own.
  virtual Result<std::shared_ptr<const DeviceWeight>> duplicate(const DeviceWeight& weight) = 0;
  virtual Result<std::unique_ptr<Ops>> make_ops() = 0;

  // After an error from which it does not recover: nothing works any more, in this process.
  virtual bool is_lost() const = 0;
  // Takes about a second, and 2 GiB for that time.
  virtual Result<DeviceCeilings> measure_ceilings() = 0;
  // The error that a fault gives.
  virtual Status fail(DeviceFault fault) = 0;
};

// The GPUs of this machine; empty where there are none, and why.
struct DeviceList {
  std::vector<DeviceInfo> devices;
  std::string why_none;
};
DeviceList list_devices();
Result<std::shared_ptr<Device>> open_device(int index);

}  // namespace ingot
