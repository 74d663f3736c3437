// SPDX-License-Identifier: Apache-2.0
// y = W x (+ bias): the op in which a model spends its time. One kernel per packing and target.
// Each y[token][row] is accumulated over the columns in one fixed order that depends on the
// packing, the target and the number of columns only: never on the number of tokens, the row split
// or the threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/cpu.h"
#include "blocks/layout.h"
#include "kernels/activations.h"
#include "kernels/device.h"
#include "kernels/exec.h"
#include "kernels/panel.h"
#include "kernels/target.h"
#include "kernels/weight_memory.h"
#include "tensor/quant_tensor.h"
#include "tensor/tensor_view.h"

namespace ingot {

struct LinearArgs {
  Layout layout;             // of the file's rows, for Packing::kRows
  const std::byte* weights;  // panels; for kRows rows, whose blocks are aligned to their struct
  int64_t weight_stride;     // bytes from one panel to the next; for kRows from row to row
  int64_t rows;
  int64_t cols;        // a multiple of the packing's and the activation's group
  const std::byte* x;  // [tokens] rows in the kernel's activation_of(tokens), contiguous
  int64_t tokens;
  float* y;  // [tokens, y_stride]; written at columns [begin, end)
  int64_t y_stride;
  const float* bias;  // [rows] or null
  float scale = 1;    // of all outputs, before the bias
  WeightsAhead weights_ahead = WeightsAhead::kByItself;
  int64_t l2_bytes = int64_t{256} << 10;  // of a core; half is for inputs that pass again
  // Of inputs that are codes, [tokens][cols / 128, rounded up], or null: for kF8Pairs.
  const float* x_scales = nullptr;
};

struct LinearKernel {
  const char* name;  // op_packing_target
  Packing packing;
  Target target;
  ActivationLayout activation;
  // Computes weight rows [begin, end) for all tokens; begin is a multiple of kPanelRows, and end is
  // one or the last row.
  void (*run)(const LinearArgs& args, int64_t begin, int64_t end);
  // Where this many tokens or more come in another layout; 0: nowhere.
  int64_t many_tokens = 0;
  ActivationLayout many_activation = ActivationLayout::kF32;

  ActivationLayout activation_of(int64_t tokens) const {
    return many_tokens > 0 && tokens >= many_tokens ? many_activation : activation;
  }
};

std::span<const LinearKernel> linear_kernels();
// Best kernel for a weight of this layout and width; null only for layouts that are no weights
// (integers). Falls back to decoding rows to float where a layout has no packing.
const LinearKernel* choose_linear(Layout layout, int64_t cols, TargetSet targets,
                                  Rounding rounding = Rounding::kInputs);
const LinearKernel* choose_linear(Packing packing, TargetSet targets);

struct BindOptions {
  // A weight of plain floats is rounded to this layout, F16 or BF16, as it is packed; refused where
  // a value is too large for it.
  std::optional<Layout> cast = std::nullopt;
  // A weight whose panels would be much larger (see outgrows_file) is used as it lies in the file.
  bool keeps_rows = false;
  Rounding rounding = Rounding::kInputs;
};

// A weight with its kernel, packed and bound at load: the only thing the decoder sees. Immutable;
// thread-safe.
class Linear {
 public:
  Linear() = default;
  // Packs the weight into `memory`, which must outlive it, as must `bias` (may be empty); a weight
  // that is used as it lies in the file (see is_packed) must outlive it too.
  static Result<Linear> bind(const TensorView& weights, std::span<const float> bias,
                             TargetSet targets, WeightMemory& memory, const Exec& exec,
                             const BindOptions& options = {});

  // The same of a weight whose scales lie apart; it is always packed. Schemes that no packing has
  // are decoded to floats as they are packed (see is_decoded).
  static Result<Linear> bind(const QuantTensor& weights, std::span<const float> bias,
                             TargetSet targets, WeightMemory& memory, const Exec& exec,
                             const BindOptions& options = {});

  // One that lies on a device and is run by its ops.
  static Linear placed(std::shared_ptr<const DeviceWeight> weight);

  bool is_bound() const { return kernel_ != nullptr || device_ != nullptr; }
  const DeviceWeight* device_weight() const { return device_.get(); }  // null: the processor's
  bool is_packed() const { return kernel_ == nullptr || kernel_->packing != Packing::kRows; }
  bool is_decoded() const { return is_decoded_; }
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  size_t weight_bytes() const { return weight_bytes_; }  // read by a step of one token
  const LinearKernel& kernel() const { return *kernel_; }
  // y [tokens, y_stride]: y_stride >= rows().
  void run(const Exec& exec, Activations& x, float* y, int64_t y_stride) const;

 private:
  Status pack(const PanelSource& source, Layout layout, TargetSet targets, WeightMemory& memory,
              const Exec& exec);
  struct Call;  // one run of it
  Call call(const Exec& exec, Activations& x, float* y, int64_t y_stride) const;
  void run_rows(const Call& call, int64_t begin, int64_t end) const;

  std::shared_ptr<const DeviceWeight> device_;
  const LinearKernel* kernel_ = nullptr;
  Layout layout_ = Layout::kF32;
  const std::byte* weights_ = nullptr;
  int64_t weight_stride_ = 0;
  size_t weight_bytes_ = 0;
  std::span<const float> bias_;
  std::shared_ptr<const ColumnOrder> column_order_;  // of the inputs, or null
  InputQuant input_;                                 // how they are rounded
  float scale_ = 1;                                  // of all outputs, before the bias
  std::shared_ptr<const std::vector<float>> sums_;   // of each row's weights, for zero points
  int64_t rows_ = 0;
  int64_t cols_ = 0;
  bool is_decoded_ = false;

  friend void run_linears(const Exec& exec, Activations& x,
                          std::span<const struct LinearOutput> outputs);
};

// Of each row's weights, for inputs with zero points.
std::vector<float> sums_of_rows(const QuantTensor& weights, const Exec& exec);

// Several weights of one input (q, k and v; gate and up) in one pass: one barrier instead of one
// each.
struct LinearOutput {
  const Linear* linear;
  float* y;
  int64_t y_stride;
};
inline constexpr size_t kMostLinearsTogether = 4;
void run_linears(const Exec& exec, Activations& x, std::span<const LinearOutput> outputs);

}  // namespace ingot
