// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "kernels/cuda/trap.h"

namespace ingot::cuda {
namespace {

__global__ void __launch_bounds__(32) trap_kernel() {
  asm volatile("trap;");
}

}  // namespace

void trap(Stream stream) {
  trap_kernel<<<1, 32, 0, stream>>>();
}

}  // namespace ingot::cuda
