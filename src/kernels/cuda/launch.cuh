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
};

template <class... Parameters, class... Arguments>
void launch_early(void (*kernel)(Parameters...), const LaunchShape& shape, Stream stream,
                  const Arguments&... arguments) {
  int device = 0;
  int major = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (shape.shared_bytes > 0) {  // with what the kernel has of its own it may be over 48 KiB
    cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                         cudaFuncAttributeMaxDynamicSharedMemorySize,
                         static_cast<int>(shape.shared_bytes));
  }
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = major >= 9 ? 1 : 0;
  cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
}

}  // namespace ingot::cuda
