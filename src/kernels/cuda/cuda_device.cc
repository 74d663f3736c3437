// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_device.h"

#include <cuda_runtime_api.h>

#include "kernels/cuda/cuda_error.h"
#include "kernels/cuda/cuda_ops.h"
#include "kernels/cuda/trap.h"

namespace ingot {
namespace cuda {
namespace {

std::string generation_name(const cudaDeviceProp& facts) {
  return fmt::format("sm_{}{}", facts.major, facts.minor);
}

}  // namespace

Result<std::shared_ptr<CudaDevice>> CudaDevice::open(int index) {
  auto device = std::make_shared<CudaDevice>();
  device->index_ = index;
  INGOT_TRY(to_status(cudaSetDevice(index), "the GPU"));
  cudaDeviceProp facts{};
  INGOT_TRY(to_status(cudaGetDeviceProperties(&facts, index), "the GPU"));
  if (facts.major < 8) {
    return Status::unsupported("{} is {}; the GPU code needs sm_80 (Ampere) or newer", facts.name,
                               generation_name(facts));
  }
  device->info_ = {facts.name, generation_name(facts), facts.totalGlobalMem};
  INGOT_TRY(to_status(cudaStreamCreateWithFlags(&device->stream_, cudaStreamNonBlocking),
                      "a stream of the GPU"));
  INGOT_TRY(device->upload_.open(device->stream_));
  return device;
}

CudaDevice::~CudaDevice() {
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

uint64_t CudaDevice::free_bytes() const {
  size_t free = 0;
  size_t total = 0;
  return cudaMemGetInfo(&free, &total) == cudaSuccess ? free : 0;
}

Result<std::unique_ptr<DeviceBuffer>> CudaDevice::allocate(size_t bytes) {
  INGOT_TRY(Memory memory, Memory::allocate(bytes));
  return std::unique_ptr<DeviceBuffer>(std::make_unique<Memory>(std::move(memory)));
}

Status CudaDevice::write(std::byte* to, std::span<const std::byte> from) {
  INGOT_TRY(to_status(
      cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, stream_), "a copy"));
  return to_status(cudaStreamSynchronize(stream_), "a copy to the GPU");
}

Status CudaDevice::read(const std::byte* from, std::span<std::byte> to) {
  INGOT_TRY(to_status(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, stream_),
                      "a copy"));
  return to_status(cudaStreamSynchronize(stream_), "a copy from the GPU");
}

Status CudaDevice::copy(const std::byte* from, std::byte* to, size_t bytes) {
  return to_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_),
                   "a copy on the GPU");
}

void CudaDevice::use_on_this_thread() const {
  cudaSetDevice(index_);  // whether it can be used at all was seen when it was opened
}

bool CudaDevice::is_lost() const {
  // Once the context is broken every call says so; an error of one call alone it does not know of.
  const cudaError_t error = cudaStreamQuery(stream_);
  return error != cudaSuccess && error != cudaErrorNotReady;
}

Status CudaDevice::fail(DeviceFault fault) {
  if (fault == DeviceFault::kOutOfMemory)
    return Memory::allocate(2 * static_cast<size_t>(info_.memory_bytes)).status();
  trap(stream_);
  return to_status(cudaStreamSynchronize(stream_), "a kernel that was told to fail");
}

Result<std::unique_ptr<Ops>> CudaDevice::make_ops() {
  INGOT_TRY(std::unique_ptr<CudaOps> ops, CudaOps::create(shared_from_this()));
  return std::unique_ptr<Ops>(std::move(ops));
}

}  // namespace cuda

DeviceList list_devices() {
  DeviceList list;
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    cudaGetLastError();
    list.why_none = cudaGetErrorString(error);
    return list;
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp facts{};
    if (cudaGetDeviceProperties(&facts, i) != cudaSuccess) continue;
    list.devices.push_back({facts.name, cuda::generation_name(facts), facts.totalGlobalMem});
  }
  if (list.devices.empty()) list.why_none = "this machine has no GPU";
  return list;
}

Result<std::shared_ptr<Device>> open_device(int index) {
  const DeviceList list = list_devices();
  if (index < 0 || index >= std::ssize(list.devices)) {
    return Status::invalid_argument(
        "GPU {} cannot be had: {}; use --device cpu", index,
        list.devices.empty() ? list.why_none : fmt::format("there are {}", list.devices.size()));
  }
  INGOT_TRY(std::shared_ptr<cuda::CudaDevice> device, cuda::CudaDevice::open(index));
  return std::shared_ptr<Device>(std::move(device));
}

}  // namespace ingot
