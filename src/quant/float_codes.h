// SPDX-License-Identifier: Apache-2.0
// Weights as small floats or levels: FP8, MXFP4, NVFP4 and NF4. Each function gives the tensors of
// a checkpoint and the values a reader gets; the *_tensors functions say beforehand which tensors.
#pragma once

#include <span>

#include "kernels/exec.h"
#include "quant/packed.h"

namespace ingot {

enum class Fp8Scales : uint8_t { kTensor, kRow, kBlock };
struct Fp8Options {
  Fp8Scales scales = Fp8Scales::kRow;
  int64_t block = 128;                 // rows and columns of one scale, for kBlock
  Layout scale_layout = Layout::kF32;  // of kTensor and kRow; blocks have F32
  bool has_input_scale = false;        // the tensor .input_scale is added by who knows it
};
PackedTensors fp8_tensors(int64_t rows, int64_t cols, const Fp8Options& options);
QuantizedWeight quantize_fp8(std::span<const float> values, int64_t rows, int64_t cols,
                             const Fp8Options& options, float input_scale, const Exec& exec);

// compressed-tensors "mxfp4-pack-quantized": groups of 32 with a power of two. cols % 32 == 0.
PackedTensors mxfp4_tensors(int64_t rows, int64_t cols);
QuantizedWeight quantize_mxfp4(std::span<const float> values, int64_t rows, int64_t cols,
                               const Exec& exec);

// compressed-tensors "nvfp4-pack-quantized": groups of 16 with an FP8 scale, one scale for all.
// cols % 16 == 0.
PackedTensors nvfp4_tensors(int64_t rows, int64_t cols);
QuantizedWeight quantize_nvfp4(std::span<const float> values, int64_t rows, int64_t cols,
                               const Exec& exec);

// bitsandbytes NF4: 16 levels, blocks of the flattened weight; where they are nested the blocks'
// scales are bytes themselves. cols % block == 0.
struct Nf4Options {
  int64_t block = 64;
  bool is_nested = true;
  std::string_view dtype = "bfloat16";  // of the model that was quantized
};
PackedTensors nf4_tensors(int64_t rows, int64_t cols, const Nf4Options& options);
QuantizedWeight quantize_nf4(std::span<const float> values, int64_t rows, int64_t cols,
                             const Nf4Options& options, const Exec& exec);

// The 8-bit map of nested scales: 256 values, ascending, dense next to zero.
std::vector<float> dynamic_map();

}  // namespace ingot
