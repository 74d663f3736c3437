// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "kernels/cast_rows.h"

namespace ingot {
namespace {

// The strictest alignment of any block struct; files align far coarser.
constexpr uintptr_t kBlockAlignment = 4;

constexpr int64_t kPanelsTogether = 2;  // as the kernels for many tokens take them

int64_t panels_of(int64_t rows) {
  return (rows + kPanelRows - 1) / kPanelRows;
}

}  // namespace

Result<Linear> Linear::bind(const TensorView& weights, std::span<const float> bias,
                            TargetSet targets, WeightMemory& memory, const Exec& exec,
                            const BindOptions& options) {
  const uint64_t rows = weights.rows();
  const uint64_t cols = weights.cols();
  const LayoutInfo& layout = info(weights.layout);
  const CheckedSize row_bytes = storage_bytes(weights.layout, CheckedSize(cols));
  const CheckedSize size = row_bytes * CheckedSize(rows);
  if (rows == 0 || cols == 0 || !size.is_valid() || size.value_or(0) != weights.bytes.size()) {
    return Status::invalid_data("a {} weight of shape {} has {} bytes", layout.name,
                                weights.shape.to_string(), weights.bytes.size());
  }
  if (!bias.empty() && bias.size() != rows) {
    return Status::invalid_data("a bias of {} values for a weight of shape {}", bias.size(),
                                weights.shape.to_string());
  }
  if (layout.is_quantized &&
      reinterpret_cast<uintptr_t>(weights.bytes.data()) % kBlockAlignment != 0) {
    return Status::invalid_data(
        "a {} weight begins at an odd address; {} bytes of alignment needed", layout.name,
        kBlockAlignment);
  }
  Linear linear;
  const Layout used = options.cast.value_or(weights.layout);
  linear.kernel_ = choose_linear(used, static_cast<int64_t>(cols), targets);
  if (linear.kernel_ == nullptr)
    return Status::unsupported("{} is no layout for weights of a linear layer", layout.name);
  if (options.keeps_rows && outgrows_file(weights.layout))
    linear.kernel_ = choose_linear(Packing::kRows, targets);
  linear.layout_ = weights.layout;
  linear.bias_ = bias;
  linear.rows_ = static_cast<int64_t>(rows);
  linear.cols_ = static_cast<int64_t>(cols);
  linear.weights_ = weights.bytes.data();
  linear.weight_stride_ = static_cast<int64_t>(weights.row_bytes());
  linear.weight_bytes_ = weights.bytes.size();
  if (!linear.is_packed()) return linear;

  INGOT_TRY(linear.pack({weights.layout, weights.bytes.data(),
                         static_cast<int64_t>(weights.row_bytes()), linear.rows_, linear.cols_},
                        used, targets, memory, exec));
  return linear;
}

Result<Linear> Linear::bind(const QuantTensor& weights, std::span<const float> bias,
                            TargetSet targets, WeightMemory& memory, const Exec& exec) {
  INGOT_TRY(weights.check());
  const QuantScheme& scheme = weights.scheme;
  const Packing packing = packing_of(weights, targets);
  if (packing == Packing::kRows) {
    return Status::unsupported(
        "no kernel has weights of {} bits with {} columns a group and {} a row; groups must be "
        "multiples of {}",
        scheme.bits, scheme.group_columns, weights.cols,
        scheme.meaning == CodeMeaning::kE4m3 ? kSpanColumns : kRunColumns);
  }
  Linear linear;
  linear.rows_ = weights.matrix_rows();
  linear.cols_ = weights.cols;
  if (!bias.empty() && bias.size() != static_cast<size_t>(linear.rows_)) {
    return Status::invalid_data("a bias of {} values for a weight of {} rows", bias.size(),
                                linear.rows_);
  }
  linear.kernel_ = choose_linear(packing, targets);
  linear.bias_ = bias;
  linear.column_order_ = weights.column_order;
  INGOT_TRY(linear.pack({.layout = Layout::kU8,
                         .weights = nullptr,
                         .row_bytes = 0,
                         .rows = linear.rows_,
                         .cols = linear.cols_,
                         .quant = &weights},
                        Layout::kU8, targets, memory, exec));
  return linear;
}

Status Linear::pack(const PanelSource& source, Layout layout, TargetSet targets,
                    WeightMemory& memory, const Exec& exec) {
  const int64_t panels = panels_of(rows_);
  const Packing packing = kernel_->packing;
  weight_stride_ = panel_shape(packing, cols_).panel;
  weight_bytes_ = static_cast<size_t>(panels * weight_stride_);
  INGOT_TRY(std::byte * packed, memory.allocate(weight_bytes_));
  const PanelPacker packer = choose_packer(targets);
  std::atomic<bool> fits{true};
  exec.for_ranges(panels, 1, [&](int64_t begin, int64_t end) {
    if (layout == source.layout) return packer(source, packing, begin, end, packed);
    CastRows cast(source, layout, targets);
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel * kPanelRows;
      const PanelSource rows = cast.rows(first, std::min(first + kPanelRows, source.rows));
      if (!cast.is_finite()) fits = false;
      packer(rows, packing, 0, 1, packed + panel * weight_stride_);
    }
  });
  weights_ = packed;
  if (fits) return Status::ok();
  return Status::invalid_data("it has values too large for {}; use --dtype auto or float",
                              info(layout).name);
}

LinearArgs Linear::args(const Exec& exec, Activations& x, float* y, int64_t y_stride) const {
  INGOT_CHECK(is_bound() && x.cols() == cols_ && y_stride >= rows_);
  return {
      .layout = layout_,
      .weights = weights_,
      .weight_stride = weight_stride_,
      .rows = rows_,
      .cols = cols_,
      .x = x.rows(kernel_->activation_of(x.tokens()), exec, column_order_.get()),
      .tokens = x.tokens(),
      .y = y,
      .y_stride = y_stride,
      .bias = bias_.empty() ? nullptr : bias_.data(),
  };
}

void Linear::run(const Exec& exec, Activations& x, float* y, int64_t y_stride) const {
  const LinearOutput output{this, y, y_stride};
  run_linears(exec, x, {&output, 1});
}

void run_linears(const Exec& exec, Activations& x, std::span<const LinearOutput> outputs) {
  INGOT_CHECK(outputs.size() <= kMostLinearsTogether);
  std::array<LinearArgs, kMostLinearsTogether> args;
  int64_t panels = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    args[i] = outputs[i].linear->args(exec, x, outputs[i].y, outputs[i].y_stride);
    panels += panels_of(args[i].rows);
  }
  exec.for_chunks(panels, kPanelsTogether, [&](int64_t begin, int64_t end) {
    for (size_t i = 0; i < outputs.size() && end > 0; ++i) {
      const int64_t own = panels_of(args[i].rows);
      if (begin < own) {
        outputs[i].linear->kernel_->run(args[i], std::max<int64_t>(begin, 0) * kPanelRows,
                                        std::min(end * kPanelRows, args[i].rows));
      }
      begin -= own;
      end -= own;
    }
  });
}

}  // namespace ingot
