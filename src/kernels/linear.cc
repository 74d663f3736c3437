// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "base/cpu.h"
#include "base/mapped_file.h"
#include "kernels/cast_rows.h"

namespace ingot {
namespace {

// The strictest alignment of any block struct; files align far coarser.
constexpr uintptr_t kBlockAlignment = 4;

constexpr int64_t kPanelsTogether = 2;  // as the kernels for many tokens take them

int64_t panels_of(int64_t rows) {
  return (rows + kPanelRows - 1) / kPanelRows;
}

// Packs panels [begin, end) piece by piece and gives back what a piece was read from, if that is a
// mapped file: a head of half a gigabyte would else be in memory twice for a moment.
template <class Pack>
void in_pieces(const PanelSource& source, int64_t begin, int64_t end, const Pack& pack) {
  constexpr int64_t kPieceBytes = int64_t{4} << 20;
  const int64_t panel_bytes = std::max<int64_t>(source.row_bytes * kPanelRows, 1);
  const int64_t most = std::max<int64_t>(kPieceBytes / panel_bytes, 1);
  for (int64_t first = begin; first < end; first += most) {
    const int64_t last = std::min(first + most, end);
    pack(first, last);
    if (source.weights == nullptr) continue;  // codes and scales apart
    const int64_t rows = std::min(last * kPanelRows, source.rows) - first * kPanelRows;
    MappedFile::release(
        {source.weights + first * panel_bytes, static_cast<size_t>(rows * source.row_bytes)});
  }
}

struct Core {
  WeightsAhead weights_ahead = detect_cpu_features().weights_ahead;
  int64_t l2_bytes = l2_cache_bytes();
};
const Core& this_core() {
  static const Core kCore;
  return kCore;
}

// Of a quantized weight that a packing of floats takes; kU8 where the packing has its codes.
Layout decoded_layout(Packing packing) {
  if (packing == Packing::kF32) return Layout::kF32;
  const bool is_bf16 = packing == Packing::kBF16 || packing == Packing::kBF16Pairs;
  return is_bf16 ? Layout::kBF16 : Layout::kU8;
}

}  // namespace

std::vector<float> sums_of_rows(const QuantTensor& weights, const Exec& exec) {
  std::vector<float> sums(static_cast<size_t>(weights.matrix_rows()));
  exec.for_ranges(weights.matrix_rows(), 1, [&](int64_t begin, int64_t end) {
    std::vector<float> row(static_cast<size_t>(weights.cols));
    for (int64_t i = begin; i < end; ++i) {
      dequantize_row(weights, i, row);
      double sum = 0;
      for (const float weight : row)
        sum += static_cast<double>(weight);
      sums[static_cast<size_t>(i)] = static_cast<float>(sum);
    }
  });
  return sums;
}

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
  linear.kernel_ = choose_linear(used, static_cast<int64_t>(cols), targets, options.rounding);
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
                            TargetSet targets, WeightMemory& memory, const Exec& exec,
                            const BindOptions& options) {
  INGOT_TRY(weights.check());
  const Packing packing = packing_of(weights, targets, options.rounding);
  Linear linear;
  linear.rows_ = weights.matrix_rows();
  linear.cols_ = weights.cols;
  if (!bias.empty() && bias.size() != static_cast<size_t>(linear.rows_)) {
    return Status::invalid_data("a bias of {} values for a weight of {} rows", bias.size(),
                                linear.rows_);
  }
  linear.kernel_ = choose_linear(packing, targets);
  linear.bias_ = bias;
  linear.input_ = weights.input;
  const Layout used = decoded_layout(packing);
  linear.is_decoded_ = used != Layout::kU8;
  if (!linear.is_decoded_) linear.column_order_ = weights.column_order;
  if (packing == Packing::kGroupsNvfp4) linear.scale_ = weights.tensor_scale;
  if (is_rounded(weights, packing)) {
    linear.scale_ = unit_of_rounded(weights);
    // Inputs in bytes of their own for every 32 columns lose a fifth of what e4m3 would.
    if (weights.input.kind == InputKind::kE4m3) linear.input_ = {};
  }
  if (weights.input.has_zero())
    linear.sums_ = std::make_shared<const std::vector<float>>(sums_of_rows(weights, exec));
  INGOT_TRY(linear.pack({.layout = Layout::kU8,
                         .weights = nullptr,
                         .row_bytes = 0,
                         .rows = linear.rows_,
                         .cols = linear.cols_,
                         .quant = &weights,
                         .unit = linear.scale_},
                        used, targets, memory, exec));
  return linear;
}

Linear Linear::placed(std::shared_ptr<const DeviceWeight> weight) {
  Linear linear;
  linear.rows_ = weight->rows();
  linear.cols_ = weight->cols();
  linear.weight_bytes_ = weight->size_bytes();
  linear.device_ = std::move(weight);
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
    if (layout == source.layout) {
      return in_pieces(source, begin, end, [&](int64_t first, int64_t last) {
        packer(source, packing, first, last, packed);
      });
    }
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

// Zero points of inputs are no kernel's concern: they come off when its sums are there.
struct Linear::Call {
  LinearArgs args;
  const float* shifts = nullptr;  // scale * zero of each token, or null
};

Linear::Call Linear::call(const Exec& exec, Activations& x, float* y, int64_t y_stride) const {
  INGOT_CHECK(kernel_ != nullptr && x.cols() == cols_ && y_stride >= rows_);
  const ActivationLayout layout = kernel_->activation_of(x.tokens());
  const PackedInput input = x.input(layout, exec, column_order_.get(), input_);
  const bool is_int8 = input_.kind == InputKind::kInt8;
  Call call;
  // Codes only: rounded floats have their zero points taken off.
  if (sums_ != nullptr && is_int8) call.shifts = input.scales;
  call.args = {
      .layout = layout_,
      .weights = weights_,
      .weight_stride = weight_stride_,
      .rows = rows_,
      .cols = cols_,
      .x = input.rows,
      .tokens = x.tokens(),
      .y = y,
      .y_stride = y_stride,
      .bias = bias_.empty() ? nullptr : bias_.data(),
      .scale = scale_,
      .weights_ahead = this_core().weights_ahead,
      .l2_bytes = this_core().l2_bytes,
      .x_scales = is_int8 ? nullptr : input.scales,
  };
  return call;
}

void Linear::run_rows(const Call& call, int64_t begin, int64_t end) const {
  kernel_->run(call.args, begin, end);
  if (call.shifts == nullptr) return;
  for (int64_t token = 0; token < call.args.tokens; ++token) {
    float* y = call.args.y + token * call.args.y_stride;
    for (int64_t row = begin; row < end; ++row)
      y[row] -= call.shifts[token] * (*sums_)[static_cast<size_t>(row)];
  }
}

void Linear::run(const Exec& exec, Activations& x, float* y, int64_t y_stride) const {
  const LinearOutput output{this, y, y_stride};
  run_linears(exec, x, {&output, 1});
}

void run_linears(const Exec& exec, Activations& x, std::span<const LinearOutput> outputs) {
  INGOT_CHECK(outputs.size() <= kMostLinearsTogether);
  std::array<Linear::Call, kMostLinearsTogether> calls;
  int64_t panels = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    calls[i] = outputs[i].linear->call(exec, x, outputs[i].y, outputs[i].y_stride);
    panels += panels_of(calls[i].args.rows);
  }
  exec.for_chunks(panels, kPanelsTogether, [&](int64_t begin, int64_t end) {
    for (size_t i = 0; i < outputs.size() && end > 0; ++i) {
      const int64_t rows = calls[i].args.rows;
      const int64_t own = panels_of(rows);
      if (begin < own) {
        outputs[i].linear->run_rows(calls[i], std::max<int64_t>(begin, 0) * kPanelRows,
                                    std::min(end * kPanelRows, rows));
      }
      begin -= own;
      end -= own;
    }
  });
}

}  // namespace ingot
