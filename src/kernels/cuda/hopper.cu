// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "kernels/cuda/hopper.h"
#include "kernels/cuda/tensor_map.h"

namespace ingot::cuda {
namespace {

// A program that was built for others runs there too, by its PTX; kernels of sm_90a are empty then.
constexpr bool has_code() {
  for (const int built_for : {__CUDA_ARCH_LIST__}) {
    if (built_for == 900) return true;
  }
  return false;
}

}  // namespace

bool is_hopper() {
  int device = 0;
  int major = 0;
  int minor = 0;
  return has_code() && cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
         cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess &&
         major == 9 && minor == 0 && has_maps();
}

}  // namespace ingot::cuda
