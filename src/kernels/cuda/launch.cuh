// SPDX-License-Identifier: Apache-2.0
// Launches that may begin before the kernel in front of them has ended (Hopper and later): what
// does not depend on it, such as weights, is fetched meanwhile. Every kernel launched so calls
// wait_for_inputs() before it reads or writes anything that another kernel touches, and
// let_next_begin() as soon as the next one may take its place on the device: small kernels at once,
// so that the weights behind them are fetched while the kernel in front of them still runs. Every
// thread waits, so whoever waited for a kernel has waited for all before it.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/stream.h"

namespace ingot::cuda {

__device__ inline void wait_for_inputs() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ inline void let_next_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

struct LaunchShape {
  dim3 grid;
  unsigned threads;
  size_t shared_bytes = 0;
  unsigned cluster = 1;  // blocks of threads that run together; Hopper and later
};

// 8 for Ada, 9 for Hopper.
inline int device_generation() {
  int device = 0;
  int major = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  return major;
}

template <class... Parameters, class... Arguments>
void launch_early(void (*kernel)(Parameters...), const LaunchShape& shape, Stream stream,
                  const Arguments&... arguments) {
  if (shape.shared_bytes > 0) {  // with what the kernel has of its own it may be over 48 KiB
    cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                         cudaFuncAttributeMaxDynamicSharedMemorySize,
                         static_cast<int>(shape.shared_bytes));
  }
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim.x = shape.cluster;
  attributes[1].val.clusterDim.y = 1;
  attributes[1].val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = device_generation() < 9 ? 0 : shape.cluster == 1 ? 1 : 2;
  cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
}

// As many blocks of threads as the device holds at once.
template <class Kernel>
unsigned resident_blocks(Kernel kernel, int threads, size_t shared) {
  int device = 0;
  int processors = 1;
  int each = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(shared));
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, shared);
  return static_cast<unsigned>(processors * (each < 1 ? 1 : each));
}

}  // namespace ingot::cuda
