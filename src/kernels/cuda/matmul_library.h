// SPDX-License-Identifier: Apache-2.0
// Products of many tokens by the vendor's library, cuBLASLt, which is looked for at run time: where
// it is missing our own kernels do the work, more slowly.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "kernels/cuda/cuda_memory.h"
#include "kernels/cuda/linear.h"
#include "kernels/cuda/stream.h"

namespace ingot::cuda {

struct MatMul {
  ElementType type;     // of both: f16 or bf16
  const void* weights;  // [rows, weight_stride], elements
  int64_t weight_stride;
  const void* x;  // [tokens, x_stride]
  int64_t x_stride;
  float* y;  // [tokens, y_stride]
  int64_t y_stride;
  int64_t rows;
  int64_t cols;
  int64_t tokens;
};

// Engine thread only.
class MatMulLibrary {
 public:
  // Null where the library is not to be had.
  static std::unique_ptr<MatMulLibrary> open();
  virtual ~MatMulLibrary() = default;
  virtual Status run(const MatMul& args, Stream stream) = 0;
};

}  // namespace ingot::cuda
