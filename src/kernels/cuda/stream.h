// SPDX-License-Identifier: Apache-2.0
// What every CUDA op is handed: a stream, named without CUDA's headers, so that host code built by
// the plain compiler can call the launchers. Launchers check nothing but their last launch: errors
// of a device are sticky and are read where a step ends (cuda/device.h).
#pragma once

struct CUstream_st;

namespace ingot::cuda {

using Stream = CUstream_st*;  // cudaStream_t

}  // namespace ingot::cuda
