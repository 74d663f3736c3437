// SPDX-License-Identifier: Apache-2.0
// Products of many tokens by the vendor's library, cuBLASLt, which is looked for at run time: where
// it is missing, or has no algorithm for a product on this device, our own kernels do the work.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/cuda/linear.h"
#include "kernels/cuda/stream.h"

namespace ingot::cuda {

// What the library multiplies its sums by; e4m3 only.
enum class ProductScales : uint8_t {
  kNone,
  kOuter,   // one for each row of the weight, one for each token
  kBlocks,  // one for each 128 x 128 of the weight, one for each 128 columns of a token
};

struct MatMul {
  ElementType type;     // of both: f16, bf16, e4m3 or int8
  const void* weights;  // [rows, weight_stride], elements
  int64_t weight_stride;
  const void* x;  // [places of the tiles, x_stride]
  int64_t x_stride;
  void* y;  // [tokens, y_stride]: f32, or the whole sums as int32 of int8
  int64_t y_stride;
  int64_t rows;
  int64_t cols;
  int64_t tokens;
  TokenTiles tiles;
  void* tail = nullptr;         // [tiles.last, y_stride] where the last tile is not full
  const float* bias = nullptr;  // [rows]; f16 and bf16 only
  ProductScales scales = ProductScales::kNone;
  const float* weight_scales = nullptr;  // kOuter: [rows]; kBlocks: see block_scale_spans()
  const float* x_scales = nullptr;       // kOuter: [tokens]; kBlocks: [tiles][spans][tokens]
  // A token's sums are then made in one order whatever its place in a tile; the order is one for
  // all tiles of as many tokens.
  bool is_batch_invariant = false;
};

// kBlocks: a weight's scales are [rows / 128][this], the last ones of a row unused.
inline constexpr int64_t kScaleBlock = 128;
constexpr int64_t block_scale_spans(int64_t cols) {
  return ((cols + kScaleBlock - 1) / kScaleBlock + 3) / 4 * 4;
}

// Engine thread only.
class MatMulLibrary {
 public:
  // Null where the library is not to be had.
  static std::unique_ptr<MatMulLibrary> open();
  virtual ~MatMulLibrary() = default;
  // Whether the product was queued. It is not where there is no algorithm for it, which is found
  // out once for a shape and remembered: y then holds anything.
  [[nodiscard]] virtual bool run(const MatMul& args, Stream stream) = 0;
};

}  // namespace ingot::cuda
