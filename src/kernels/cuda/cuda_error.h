// SPDX-License-Identifier: Apache-2.0
// CUDA's errors as Status. One that sticks to the device is kInternal: the process cannot go on
// with it (RELIABILITY: a fault ends it cleanly); running out of memory is kResourceExhausted.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

#include "base/status.h"

namespace ingot::cuda {

inline Status to_status(cudaError_t error, std::string_view what) {
  if (error == cudaSuccess) return Status::ok();
  if (error == cudaErrorMemoryAllocation)
    return Status::resource_exhausted("{}: the GPU is out of memory", what);
  return Status::internal("{}: {} ({})", what, cudaGetErrorString(error), cudaGetErrorName(error));
}

}  // namespace ingot::cuda
