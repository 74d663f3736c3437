// SPDX-License-Identifier: Apache-2.0
// A GPU through CUDA's runtime, which is linked in; the driver is looked for when it is opened.
#pragma once

#include <memory>

#include "kernels/cuda/cuda_memory.h"
#include "kernels/cuda/cuda_upload.h"
#include "kernels/cuda/cuda_weight.h"
#include "kernels/device.h"

namespace ingot::cuda {

// One thread at a time.
class CudaDevice final : public Device, public std::enable_shared_from_this<CudaDevice> {
 public:
  static Result<std::shared_ptr<CudaDevice>> open(int index);
  ~CudaDevice() override;

  const DeviceInfo& info() const override { return info_; }
  uint64_t free_bytes() const override;
  Result<std::unique_ptr<DeviceBuffer>> allocate(size_t bytes) override;
  Status write(std::byte* to, std::span<const std::byte> from) override;
  Status read(const std::byte* from, std::span<std::byte> to) override;
  Status copy(const std::byte* from, std::byte* to, size_t bytes) override;
  Result<std::shared_ptr<const DeviceWeight>> place(const TensorView& weights,
                                                    std::span<const float> bias,
                                                    const PlaceOptions& options,
                                                    const Exec& exec) override;
  Result<std::shared_ptr<const DeviceWeight>> place(const QuantTensor& weights,
                                                    std::span<const float> bias,
                                                    const PlaceOptions& options,
                                                    const Exec& exec) override;
  Result<std::shared_ptr<const DeviceWeight>> duplicate(const DeviceWeight& weight) override;
  void end_placing() override { upload_.drop_scratch(); }
  Result<std::unique_ptr<Ops>> make_ops() override;
  bool is_lost() const override;
  Result<DeviceCeilings> measure_ceilings() override;  // cuda_ceilings.cc
  Status fail(DeviceFault fault) override;

  Stream stream() const { return stream_; }
  // What is launched from here goes to this device: threads begin with the first one.
  void use_on_this_thread() const;

 private:
  Status write_floats(Memory& memory, std::span<const float> values);
  // Panels of zeros, for a weight whose rows and columns are known.
  Status make_panels(Packing packing, Weight& placed);
  // Blocks a piece at a time; codes and scales that lie apart as a whole, as a row's may be
  // anywhere.
  Status place_blocks(const TensorView& weights, Packing packing, Weight& placed, const Exec& exec);
  Status place_codes(const QuantTensor& weights, Packing packing, Weight& placed, const Exec& exec);
  // Codes of a byte as rows, each with `sign` turned over in it.
  Status place_bytes(const QuantTensor& weights, std::byte sign, Weight& placed, const Exec& exec);
  Status place_e4m3(const QuantTensor& weights, Weight& placed, const Exec& exec);
  Status place_int8(const QuantTensor& weights, Weight& placed, const Exec& exec);
  Status place_order(const QuantTensor& weights, Weight& placed);
  Result<Memory> copy_of(const Memory& memory);
  Status fill(Memory& memory, std::span<const std::byte> pattern);  // over and over
  Result<double> measure_reads();
  Result<double> measure_attention();
  Result<double> measure_products(MatMulLibrary& library, ElementType type);

  DeviceInfo info_;
  int index_ = 0;
  Stream stream_ = nullptr;
  Upload upload_;
  ColumnOrder last_order_columns_;
  std::shared_ptr<const Memory> last_order_;
};

}  // namespace ingot::cuda
