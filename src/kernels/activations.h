// SPDX-License-Identifier: Apache-2.0
// The inputs of linear layers. Quantized kernels want them as int8 blocks; they are packed once per
// step and shared by all linears that read the same input (q, k and v; gate and up).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/wide_memory.h"
#include "kernels/activation_layout.h"
#include "kernels/exec.h"
#include "kernels/target.h"
#include "tensor/input_quant.h"
#include "tensor/quant_tensor.h"

namespace ingot {

// Columns that one scale covers; a row must fill whole groups.
constexpr int64_t activation_group(ActivationLayout layout) {
  switch (layout) {
    case ActivationLayout::kQ8G32:
    case ActivationLayout::kQ8G32Tiles:
    case ActivationLayout::kQ8G32Words:
      return 32;
    case ActivationLayout::kQ8G256:
    case ActivationLayout::kQ8G256Tiles:
    case ActivationLayout::kI16G128:  // whose scales cover a half of it
    case ActivationLayout::kI16G128Tiles:
      return 256;
    default:
      return 1;
  }
}
// Of one token; of tiles a sixteenth.
size_t activation_row_bytes(ActivationLayout layout, int64_t cols);

// Packs rows [begin, end) of x into `out` (row i at out + i * activation_row_bytes). cols is a
// multiple of the group. Every token is packed by itself, in one way, whatever its neighbours.
struct PackArgs {
  const float* x;  // [tokens, cols]
  int64_t cols;
  std::byte* out;
};
struct PackKernel {
  const char* name;
  ActivationLayout layout;
  Target target;
  void (*run)(const PackArgs& args, int64_t begin, int64_t end);
};
std::span<const PackKernel> pack_kernels();
const PackKernel* choose_pack(ActivationLayout layout, TargetSet targets);

// Rows as a kernel reads them, and the scales that go with rounded ones (see input_rounding.h);
// null where there are none.
struct PackedInput {
  const std::byte* rows;
  const float* scales;
};

// x with its packed forms, made on first use. Buffers are kept between steps. Engine thread only.
class Activations {
 public:
  explicit Activations(TargetSet targets) : targets_(targets) {}
  // A new input: forgets the packed forms of the previous one. x must live until the next set().
  void set(const float* x, int64_t tokens, int64_t cols);
  // Rows of the asked layout, packed now if they are not yet; where an order is given, column i is
  // x's column order[i]. Orders are told apart by their address.
  const std::byte* rows(ActivationLayout layout, const Exec& exec,
                        const ColumnOrder* order = nullptr) {
    return input(layout, exec, order, {}).rows;
  }
  // The same of inputs rounded in some way. Weights that want one input in different ways have each
  // its own rows.
  PackedInput input(ActivationLayout layout, const Exec& exec, const ColumnOrder* order,
                    const InputQuant& quant);
  const float* x() const { return x_; }
  int64_t tokens() const { return tokens_; }
  int64_t cols() const { return cols_; }

 private:
  TargetSet targets_;
  const float* x_ = nullptr;
  int64_t tokens_ = 0;
  int64_t cols_ = 0;
  struct Packed {
    Scratch rows;
    bool is_ready = false;
  };
  using Forms = std::array<Packed, kActivationLayouts>;
  // The input with its columns in an order, or rounded, or both.
  struct Variant {
    bool is_used = false;  // not: its buffers wait for the next
    const ColumnOrder* order = nullptr;
    InputQuant quant;
    std::vector<float> x;  // ordered, before it is rounded
    Forms forms;
    std::array<std::vector<float>, kActivationLayouts> scales;
  };
  Variant& variant(const ColumnOrder* order, const InputQuant& quant);
  const float* ordered(const ColumnOrder& order, const Exec& exec);
  void round(ActivationLayout layout, const float* x, Variant& variant, const Exec& exec);
  const std::byte* form(ActivationLayout layout, const float* x, Forms& forms, const Exec& exec);

  Forms packed_;
  std::vector<std::unique_ptr<Variant>> variants_;
};

}  // namespace ingot
