// SPDX-License-Identifier: Apache-2.0
// Linear layers of many tokens, by the vendor's library: weights of f16 and bf16 as they are, of
// e4m3 and int8 as they are where inputs are to be rounded alike, and all others decoded to bf16
// first. What the library does not take is left to our own kernels.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "kernels/cuda/cuda_inputs.h"
#include "kernels/cuda/cuda_weight.h"
#include "kernels/cuda/matmul_library.h"

namespace ingot::cuda {

struct WideOutput {
  float* y;  // [tokens, y_stride]
  int64_t y_stride;
};

// Engine thread only.
class WideProducts {
 public:
  WideProducts() : library_(MatMulLibrary::open()) {}
  // A token's outputs then do not depend on how many others there are: a weight is either never
  // given to the library or always, in tiles of as many tokens.
  void set_batch_invariant(bool is_batch_invariant) { is_batch_invariant_ = is_batch_invariant; }
  bool takes(const WeightFacts& weight, int64_t tokens) const;
  // In which form it reads their inputs first.
  static InputForm form(const WeightFacts& weight);
  // False where the library has no algorithm after all.
  Result<bool> run(Inputs& inputs, const Weight& weight, const WideOutput& output, Stream stream);
  // How often memory of it was moved: what was recorded with its addresses holds no more.
  int64_t moves() const { return moves_; }

 private:
  Status grow(Memory& memory, size_t bytes);
  Result<bool> run_floats(Inputs& inputs, const Weight& weight, const WideOutput& output,
                          Stream stream);
  Result<bool> run_e4m3(Inputs& inputs, const Weight& weight, const WideOutput& output,
                        Stream stream);
  Result<bool> run_int8(Inputs& inputs, const Weight& weight, const WideOutput& output,
                        Stream stream);
  // A product of a weight as it lies, by rows; with room for the last tile.
  Result<MatMul> product(const Weight& weight, const FloatInput& x, const WideOutput& output);

  std::unique_ptr<MatMulLibrary> library_;
  bool is_batch_invariant_ = false;
  Memory decoded_;  // a weight's numbers
  Memory tail_;     // the last tile's outputs
  int64_t moves_ = 0;
};

}  // namespace ingot::cuda
