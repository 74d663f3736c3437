// SPDX-License-Identifier: Apache-2.0
// Weights into the memory of a GPU. Codes go there as files have them and are packed on the device;
// what becomes rows of floats or bytes is made on the way, by the host's threads.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "kernels/cast_rows.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/cuda_error.h"
#include "kernels/cuda/pack_panels.h"
#include "kernels/linear.h"
#include "kernels/panel.h"

namespace ingot::cuda {
namespace {

ElementType element_of(Layout layout) {
  switch (layout) {
    case Layout::kF16:
      return ElementType::kF16;
    case Layout::kBF16:
      return ElementType::kBF16;
    default:
      return ElementType::kF32;
  }
}

int64_t size_of(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return 4;
    case ElementType::kE4M3:
    case ElementType::kInt8:
      return 1;
    default:
      return 2;
  }
}

int64_t row_stride(ElementType type, int64_t cols) {
  return (cols * size_of(type) + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
}

int64_t panels_of(const WeightFacts& facts) {
  return (facts.rows + kPanelRows - 1) / kPanelRows;
}

// Arrays of a scratch begin where any element may.
size_t padded(size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

bool is_float_row(Layout layout) {
  return layout == Layout::kF32 || layout == Layout::kF16 || layout == Layout::kBF16;
}

// Where a row of the matrix is in the file.
int64_t row_at(const QuantTensor& weights, int64_t row) {
  return weights.row_order.empty() ? row : weights.row_order[static_cast<size_t>(row)];
}

}  // namespace

Status CudaDevice::write_floats(Memory& memory, std::span<const float> values) {
  if (values.empty()) return Status::ok();
  INGOT_TRY(memory.reserve(values.size_bytes()));
  return write(memory.data(), std::as_bytes(values));
}

Status CudaDevice::make_panels(Packing packing, Weight& placed) {
  WeightFacts& facts = placed.facts;
  facts.is_panels = true;
  facts.packing = packing;
  facts.stride = panel_shape(packing, facts.cols).panel;
  INGOT_TRY(placed.data, Memory::allocate(static_cast<size_t>(panels_of(facts) * facts.stride)));
  // Rows past the last are zeros, and so is what no row writes.
  return to_status(cudaMemsetAsync(placed.data.data(), 0, placed.data.size(), stream_),
                   "panels of the GPU");
}

Status CudaDevice::place_blocks(const TensorView& weights, Packing packing, Weight& placed,
                                const Exec& exec) {
  INGOT_TRY(make_panels(packing, placed));
  const WeightFacts& facts = placed.facts;
  const auto row_bytes = static_cast<int64_t>(weights.row_bytes());
  const int64_t panels = panels_of(facts);
  const int64_t each =
      std::max<int64_t>(1, static_cast<int64_t>(Upload::kPieceBytes) / (kPanelRows * row_bytes));
  INGOT_TRY(std::byte* const scratch,
            upload_.scratch(static_cast<size_t>(std::min(each, panels) * kPanelRows * row_bytes)));
  for (int64_t first = 0; first < panels; first += each) {
    const int64_t first_row = first * kPanelRows;
    const int64_t rows = std::min(each * kPanelRows, facts.rows - first_row);
    INGOT_TRY(upload_.send(weights.bytes.subspan(static_cast<size_t>(first_row * row_bytes),
                                                 static_cast<size_t>(rows * row_bytes)),
                           scratch, exec));
    pack_rows({weights.layout, packing, scratch, row_bytes, rows, facts.cols},
              placed.data.data() + first * facts.stride, stream_);
    INGOT_TRY(to_status(cudaGetLastError(), "packing a weight"));
  }
  return Status::ok();
}

Status CudaDevice::place_codes(const QuantTensor& weights, Packing packing, Weight& placed,
                               const Exec& exec) {
  INGOT_TRY(make_panels(packing, placed));
  const std::array<std::span<const std::byte>, 4> parts{
      weights.codes, std::as_bytes(std::span(weights.scales)),
      std::as_bytes(std::span(weights.zeros)), std::as_bytes(std::span(weights.row_order))};
  size_t bytes = 0;
  for (const std::span<const std::byte> part : parts)
    bytes += padded(part.size());
  INGOT_TRY(std::byte * to, upload_.scratch(bytes));
  std::array<std::byte*, parts.size()> own{};
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty()) continue;
    own[i] = to;
    INGOT_TRY(upload_.send(parts[i], to, exec));
    to += padded(parts[i].size());
  }
  QuantCodes codes = weights.view();
  codes.codes = own[0];
  codes.scales = reinterpret_cast<const float*>(own[1]);
  codes.zeros = reinterpret_cast<const uint8_t*>(own[2]);
  codes.row_order = reinterpret_cast<const int64_t*>(own[3]);
  codes.column_order =
      placed.order == nullptr ? nullptr : reinterpret_cast<const int32_t*>(placed.order->data());
  pack_quant(packing, codes, placed.facts.rows, placed.data.data(), stream_);
  return to_status(cudaGetLastError(), "packing a weight");
}

Result<std::shared_ptr<const DeviceWeight>> CudaDevice::place(const TensorView& weights,
                                                              std::span<const float> bias,
                                                              const PlaceOptions& options,
                                                              const Exec& exec) {
  auto placed = std::make_shared<Weight>();
  WeightFacts& facts = placed->facts;
  facts.rows = static_cast<int64_t>(weights.rows());
  facts.cols = static_cast<int64_t>(weights.cols());
  facts.rounds_inputs = options.rounds_inputs;
  if (facts.rows == 0 || facts.cols == 0 ||
      weights.bytes.size() != weights.row_bytes() * weights.rows()) {
    return Status::invalid_data("a weight of shape {} has {} bytes", weights.shape.to_string(),
                                weights.bytes.size());
  }
  INGOT_TRY(write_floats(placed->bias, bias));
  const auto row_bytes = static_cast<int64_t>(weights.row_bytes());
  const PanelSource source{weights.layout, weights.bytes.data(), row_bytes, facts.rows, facts.cols};
  const TargetSet targets = TargetSet::of_this_machine();
  const Packing packing = packing_of(weights.layout, facts.cols);
  if (packing_info(packing).activation != ActivationLayout::kF32) {
    INGOT_TRY(place_blocks(weights, packing, *placed, exec));
    return std::shared_ptr<const DeviceWeight>(placed);
  }
  // Rows of floats: as they are, rounded, or decoded where no packing takes them.
  const Layout kept = is_float_row(weights.layout) ? weights.layout : Layout::kF32;
  const Layout layout = options.cast.value_or(kept);
  facts.type = element_of(layout);
  facts.stride = row_stride(facts.type, facts.cols);
  INGOT_TRY(placed->data, Memory::allocate(static_cast<size_t>(facts.rows * facts.stride)));
  std::atomic<bool> fits{true};
  const auto kept_bytes = static_cast<size_t>(facts.cols * size_of(facts.type));
  INGOT_TRY(upload_.fill({facts.rows, static_cast<size_t>(facts.stride), placed->data.data()}, exec,
                         [&](int64_t begin, int64_t end, std::byte* out) {
                           std::vector<float> row(static_cast<size_t>(facts.cols));
                           std::optional<CastRows> cast;
                           if (layout != weights.layout && layout != Layout::kF32)
                             cast.emplace(source, layout, targets);
                           for (int64_t i = begin; i < end; ++i, out += facts.stride) {
                             if (layout == weights.layout) {
                               std::memcpy(out, weights.bytes.data() + i * row_bytes, kept_bytes);
                             } else if (layout == Layout::kF32) {
                               dequantize(weights.layout,
                                          weights.bytes.subspan(static_cast<size_t>(i * row_bytes),
                                                                static_cast<size_t>(row_bytes)),
                                          row);
                               std::memcpy(out, row.data(), kept_bytes);
                             } else {
                               const PanelSource rounded = cast->rows(i, i + 1);
                               if (!cast->is_finite()) fits = false;
                               std::memcpy(out, rounded.weights, kept_bytes);
                             }
                           }
                         }));
  if (!fits) {
    return Status::invalid_data("it has values too large for {}; use --dtype auto or float",
                                ingot::info(layout).name);
  }
  return std::shared_ptr<const DeviceWeight>(placed);
}

Status CudaDevice::place_bytes(const QuantTensor& weights, std::byte sign, Weight& placed,
                               const Exec& exec) {
  const WeightFacts& facts = placed.facts;
  INGOT_TRY(placed.data, Memory::allocate(static_cast<size_t>(facts.rows * facts.stride)));
  return upload_.fill(
      {facts.rows, static_cast<size_t>(facts.stride), placed.data.data()}, exec,
      [&](int64_t begin, int64_t end, std::byte* out) {
        for (int64_t i = begin; i < end; ++i, out += facts.stride) {
          const std::byte* from = weights.codes.data() + row_at(weights, i) * facts.cols;
          std::transform(from, from + facts.cols, out, [&](std::byte code) { return code ^ sign; });
        }
      });
}

Status CudaDevice::place_e4m3(const QuantTensor& weights, Weight& placed, const Exec& exec) {
  WeightFacts& facts = placed.facts;
  facts.type = ElementType::kE4M3;
  facts.stride = row_stride(facts.type, facts.cols);
  const int64_t groups = weights.groups();
  facts.scale_spans = groups == 1 ? 1 : (facts.cols + kSpanColumns - 1) / kSpanColumns;
  std::vector<float> scales;
  for (int64_t row = 0; row < facts.rows; ++row) {
    for (int64_t span = 0; span < facts.scale_spans; ++span) {
      const int64_t group = groups == 1 ? 0 : span * kSpanColumns / weights.scheme.group_columns;
      scales.push_back(weights.scales[static_cast<size_t>(row_at(weights, row) * groups + group)]);
    }
  }
  INGOT_TRY(write_floats(placed.row_scales, scales));
  std::vector<float> blocks;
  facts.scales = product_scales(facts, scales, blocks);
  if (facts.scales == ProductScales::kBlocks) {
    INGOT_TRY(write_floats(placed.block_scales, blocks));
  }
  return place_bytes(weights, std::byte{0}, placed, exec);
}

Status CudaDevice::place_int8(const QuantTensor& weights, Weight& placed, const Exec& exec) {
  WeightFacts& facts = placed.facts;
  facts.type = ElementType::kInt8;
  facts.stride = row_stride(facts.type, facts.cols);
  facts.scale_spans = 1;
  std::vector<float> scales(static_cast<size_t>(facts.rows));
  for (int64_t row = 0; row < facts.rows; ++row)
    scales[static_cast<size_t>(row)] = weights.scales[static_cast<size_t>(row_at(weights, row))];
  INGOT_TRY(write_floats(placed.row_scales, scales));
  if (weights.input.has_zero()) {
    INGOT_TRY(write_floats(placed.row_sums, sums_of_rows(weights, exec)));
  }
  // Codes without a sign have their zero at 128.
  const bool is_signed = weights.scheme.order == CodeOrder::kRowsSigned;
  return place_bytes(weights, is_signed ? std::byte{0} : std::byte{128}, placed, exec);
}

Status CudaDevice::place_order(const QuantTensor& weights, Weight& placed) {
  if (weights.column_order == nullptr) return Status::ok();
  // The weights of one input mostly have one order: its inputs are then put in order once.
  if (last_order_ == nullptr || last_order_columns_ != *weights.column_order) {
    INGOT_TRY(Memory order, Memory::allocate(weights.column_order->size() * sizeof(int32_t)));
    INGOT_TRY(write(order.data(), std::as_bytes(std::span(*weights.column_order))));
    last_order_ = std::make_shared<const Memory>(std::move(order));
    last_order_columns_ = *weights.column_order;
  }
  placed.order = last_order_;
  return Status::ok();
}

Result<std::shared_ptr<const DeviceWeight>> CudaDevice::place(const QuantTensor& weights,
                                                              std::span<const float> bias,
                                                              const PlaceOptions& options,
                                                              const Exec& exec) {
  INGOT_TRY(weights.check());
  auto placed = std::make_shared<Weight>();
  WeightFacts& facts = placed->facts;
  facts.rows = weights.matrix_rows();
  facts.cols = weights.cols;
  facts.rounds_inputs = options.rounds_inputs;
  facts.input = weights.input;
  if (!bias.empty() && std::ssize(bias) != facts.rows) {
    return Status::invalid_data("a bias of {} values for a weight of {} rows", bias.size(),
                                facts.rows);
  }
  INGOT_TRY(write_floats(placed->bias, bias));
  const Packing packing = packing_of(weights);
  if (is_e4m3(packing) || is_plain_int8(weights)) {
    INGOT_TRY(is_e4m3(packing) ? place_e4m3(weights, *placed, exec)
                               : place_int8(weights, *placed, exec));
    return std::shared_ptr<const DeviceWeight>(placed);
  }
  if (packing_info(packing).activation == ActivationLayout::kF32) {  // decoded
    facts.type = ElementType::kF32;
    facts.stride = row_stride(facts.type, facts.cols);
    INGOT_TRY(placed->data, Memory::allocate(static_cast<size_t>(facts.rows * facts.stride)));
    INGOT_TRY(upload_.fill({facts.rows, static_cast<size_t>(facts.stride), placed->data.data()},
                           exec, [&](int64_t begin, int64_t end, std::byte* out) {
                             std::vector<float> row(static_cast<size_t>(facts.cols));
                             for (int64_t i = begin; i < end; ++i, out += facts.stride) {
                               dequantize_row(weights, i, row);
                               std::memcpy(out, row.data(), row.size() * sizeof(float));
                             }
                           }));
    return std::shared_ptr<const DeviceWeight>(placed);
  }
  if (packing == Packing::kGroupsNvfp4) facts.scale = weights.tensor_scale;
  INGOT_TRY(place_order(weights, *placed));
  if (weights.input.has_zero()) {
    INGOT_TRY(write_floats(placed->row_sums, sums_of_rows(weights, exec)));
  }
  INGOT_TRY(place_codes(weights, packing, *placed, exec));
  return std::shared_ptr<const DeviceWeight>(placed);
}

Result<Memory> CudaDevice::copy_of(const Memory& memory) {
  if (memory.size() == 0) return Memory();
  INGOT_TRY(Memory own, Memory::allocate(memory.size()));
  INGOT_TRY(copy(memory.data(), own.data(), memory.size()));
  return own;
}

Result<std::shared_ptr<const DeviceWeight>> CudaDevice::duplicate(const DeviceWeight& weight) {
  const auto& from = static_cast<const Weight&>(weight);
  auto own = std::make_shared<Weight>();
  own->facts = from.facts;
  INGOT_TRY(own->data, copy_of(from.data));
  INGOT_TRY(own->bias, copy_of(from.bias));
  INGOT_TRY(own->row_scales, copy_of(from.row_scales));
  INGOT_TRY(own->block_scales, copy_of(from.block_scales));
  INGOT_TRY(own->row_sums, copy_of(from.row_sums));
  own->order = from.order;
  return std::shared_ptr<const DeviceWeight>(own);
}

}  // namespace ingot::cuda
