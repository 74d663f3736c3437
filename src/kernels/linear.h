// SPDX-License-Identifier: Apache-2.0
// y = W x (+ bias): the op in which a model spends its time. One kernel per layout and target.
// Each y[token][row] is accumulated over the columns in one fixed order that depends on the layout,
// the target and the number of columns only: never on the number of tokens, the row split or the
// threads.
#pragma once

#include <cstdint>
#include <span>

#include "blocks/layout.h"
#include "kernels/activations.h"
#include "kernels/exec.h"
#include "kernels/target.h"
#include "tensor/tensor_view.h"

namespace ingot {

struct LinearArgs {
  Layout layout;             // of the weights; kernels that decode any layout ask it
  const std::byte* weights;  // [rows, cols], rows contiguous; blocks aligned to their struct
  int64_t weight_row_bytes;
  int64_t cols;        // a multiple of the layout's and the activation's group
  const std::byte* x;  // [tokens] rows in the kernel's activation layout, contiguous
  int64_t tokens;
  float* y;  // [tokens, y_stride]; written at columns [begin, end)
  int64_t y_stride;
  const float* bias;  // [rows] or null
};

struct LinearKernel {
  const char* name;  // op_layout_target
  Layout layout;
  Target target;
  ActivationLayout activation;
  // Computes weight rows [begin, end) for all tokens. The scalar references take any cols that fill
  // whole weight blocks when the activation is kF32.
  void (*run)(const LinearArgs& args, int64_t begin, int64_t end);
};

std::span<const LinearKernel> linear_kernels();
// Best kernel for a weight of this layout and width; null only for layouts that are no weights
// (integers). Falls back to decoding rows to float where a layout has no kernel of its own.
const LinearKernel* choose_linear(Layout layout, int64_t cols, TargetSet targets);

// A weight with its kernel, bound at load: the only thing the decoder sees. Immutable; thread-safe.
class Linear {
 public:
  Linear() = default;
  // Views must outlive it. `bias` may be empty.
  static Result<Linear> bind(const TensorView& weights, std::span<const float> bias,
                             TargetSet targets);

  bool is_bound() const { return kernel_ != nullptr; }
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  size_t weight_bytes() const { return weights_.bytes.size(); }
  const LinearKernel& kernel() const { return *kernel_; }
  // y [tokens, y_stride]: y_stride >= rows().
  void run(const Exec& exec, Activations& x, float* y, int64_t y_stride) const;

 private:
  const LinearKernel* kernel_ = nullptr;
  TensorView weights_;
  std::span<const float> bias_;
  int64_t rows_ = 0;
  int64_t cols_ = 0;
};

}  // namespace ingot
