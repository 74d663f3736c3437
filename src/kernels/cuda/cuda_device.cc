// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_device.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/check.h"
#include "kernels/cast_rows.h"
#include "kernels/cuda/cuda_error.h"
#include "kernels/cuda/cuda_ops.h"
#include "kernels/cuda/trap.h"
#include "kernels/linear.h"
#include "kernels/panel.h"

namespace ingot {
namespace cuda {
namespace {

constexpr size_t kStagingBytes = size_t{64} << 20;

std::string generation_name(const cudaDeviceProp& facts) {
  return fmt::format("sm_{}{}", facts.major, facts.minor);
}

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

bool is_float_row(Layout layout) {
  return layout == Layout::kF32 || layout == Layout::kF16 || layout == Layout::kBF16;
}

// Where a row of the matrix is in the file.
int64_t row_at(const QuantTensor& weights, int64_t row) {
  return weights.row_order.empty() ? row : weights.row_order[static_cast<size_t>(row)];
}

}  // namespace

Result<std::shared_ptr<CudaDevice>> CudaDevice::open(int index) {
  auto device = std::make_shared<CudaDevice>();
  device->index_ = index;
  INGOT_TRY(to_status(cudaSetDevice(index), "the GPU"));
  cudaDeviceProp facts{};
  INGOT_TRY(to_status(cudaGetDeviceProperties(&facts, index), "the GPU"));
  if (facts.major < 8) {
    return Status::unsupported("{} is {}; the GPU code needs sm_80 (Ampere) or newer", facts.name,
                               generation_name(facts));
  }
  device->info_ = {facts.name, generation_name(facts), facts.totalGlobalMem};
  INGOT_TRY(to_status(cudaStreamCreateWithFlags(&device->stream_, cudaStreamNonBlocking),
                      "a stream of the GPU"));
  for (CUevent_st*& event : device->sent_)
    INGOT_TRY(to_status(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event"));
  return device;
}

CudaDevice::~CudaDevice() {
  for (CUevent_st* event : sent_) {
    if (event != nullptr) cudaEventDestroy(event);
  }
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

uint64_t CudaDevice::free_bytes() const {
  size_t free = 0;
  size_t total = 0;
  return cudaMemGetInfo(&free, &total) == cudaSuccess ? free : 0;
}

Result<std::unique_ptr<DeviceBuffer>> CudaDevice::allocate(size_t bytes) {
  INGOT_TRY(Memory memory, Memory::allocate(bytes));
  return std::unique_ptr<DeviceBuffer>(std::make_unique<Memory>(std::move(memory)));
}

Status CudaDevice::write(std::byte* to, std::span<const std::byte> from) {
  INGOT_TRY(to_status(
      cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, stream_), "a copy"));
  return to_status(cudaStreamSynchronize(stream_), "a copy to the GPU");
}

Status CudaDevice::read(const std::byte* from, std::span<std::byte> to) {
  INGOT_TRY(to_status(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, stream_),
                      "a copy"));
  return to_status(cudaStreamSynchronize(stream_), "a copy from the GPU");
}

Status CudaDevice::copy(const std::byte* from, std::byte* to, size_t bytes) {
  return to_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_),
                   "a copy on the GPU");
}

template <class Fill>
Status CudaDevice::upload(const Upload& upload, const Exec& exec, const Fill& fill) {
  const auto each = std::max<int64_t>(1, static_cast<int64_t>(kStagingBytes / upload.unit_bytes));
  size_t turn = 0;
  for (int64_t first = 0; first < upload.units; first += each, turn ^= 1) {
    const int64_t count = std::min(each, upload.units - first);
    const size_t bytes = static_cast<size_t>(count) * upload.unit_bytes;
    INGOT_TRY(to_status(cudaEventSynchronize(sent_[turn]), "a copy to the GPU"));
    INGOT_TRY(staging_[turn].reserve(std::max(bytes, kStagingBytes)));
    std::byte* const out = staging_[turn].data();
    exec.for_ranges(count, 1, [&](int64_t begin, int64_t end) {
      fill(first + begin, first + end, out + static_cast<size_t>(begin) * upload.unit_bytes);
    });
    INGOT_TRY(to_status(cudaMemcpyAsync(upload.to + static_cast<size_t>(first) * upload.unit_bytes,
                                        out, bytes, cudaMemcpyHostToDevice, stream_),
                        "a copy to the GPU"));
    INGOT_TRY(to_status(cudaEventRecord(sent_[turn], stream_), "a copy to the GPU"));
  }
  return Status::ok();
}

Status CudaDevice::write_floats(Memory& memory, std::span<const float> values) {
  if (values.empty()) return Status::ok();
  INGOT_TRY(memory.reserve(values.size_bytes()));
  return write(memory.data(), std::as_bytes(values));
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
    facts.is_panels = true;
    facts.packing = packing;
    facts.stride = panel_shape(packing, facts.cols).panel;
    const int64_t panels = (facts.rows + kPanelRows - 1) / kPanelRows;
    INGOT_TRY(placed->data, Memory::allocate(static_cast<size_t>(panels * facts.stride)));
    const PanelPacker packer = choose_packer(targets);
    INGOT_TRY(upload({panels, static_cast<size_t>(facts.stride), placed->data.data()}, exec,
                     [&](int64_t begin, int64_t end, std::byte* out) {
                       packer(source, packing, begin, end, out - begin * facts.stride);
                     }));
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
  INGOT_TRY(upload({facts.rows, static_cast<size_t>(facts.stride), placed->data.data()}, exec,
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
  return upload({facts.rows, static_cast<size_t>(facts.stride), placed.data.data()}, exec,
                [&](int64_t begin, int64_t end, std::byte* out) {
                  for (int64_t i = begin; i < end; ++i, out += facts.stride) {
                    const std::byte* from = weights.codes.data() + row_at(weights, i) * facts.cols;
                    std::transform(from, from + facts.cols, out,
                                   [&](std::byte code) { return code ^ sign; });
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
  const PanelSource source{.layout = Layout::kU8,
                           .weights = nullptr,
                           .row_bytes = 0,
                           .rows = facts.rows,
                           .cols = facts.cols,
                           .quant = &weights};
  if (packing_info(packing).activation == ActivationLayout::kF32) {  // decoded
    facts.type = ElementType::kF32;
    facts.stride = row_stride(facts.type, facts.cols);
    INGOT_TRY(placed->data, Memory::allocate(static_cast<size_t>(facts.rows * facts.stride)));
    INGOT_TRY(upload({facts.rows, static_cast<size_t>(facts.stride), placed->data.data()}, exec,
                     [&](int64_t begin, int64_t end, std::byte* out) {
                       std::vector<float> row(static_cast<size_t>(facts.cols));
                       for (int64_t i = begin; i < end; ++i, out += facts.stride) {
                         dequantize_row(weights, i, row);
                         std::memcpy(out, row.data(), row.size() * sizeof(float));
                       }
                     }));
    return std::shared_ptr<const DeviceWeight>(placed);
  }
  facts.is_panels = true;
  facts.packing = packing;
  facts.stride = panel_shape(packing, facts.cols).panel;
  if (packing == Packing::kGroupsNvfp4) facts.scale = weights.tensor_scale;
  INGOT_TRY(place_order(weights, *placed));
  if (weights.input.has_zero()) {
    INGOT_TRY(write_floats(placed->row_sums, sums_of_rows(weights, exec)));
  }
  const int64_t panels = (facts.rows + kPanelRows - 1) / kPanelRows;
  INGOT_TRY(placed->data, Memory::allocate(static_cast<size_t>(panels * facts.stride)));
  const PanelPacker packer = choose_packer(TargetSet::of_this_machine());
  INGOT_TRY(upload({panels, static_cast<size_t>(facts.stride), placed->data.data()}, exec,
                   [&](int64_t begin, int64_t end, std::byte* out) {
                     packer(source, packing, begin, end, out - begin * facts.stride);
                   }));
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

void CudaDevice::use_on_this_thread() const {
  cudaSetDevice(index_);  // whether it can be used at all was seen when it was opened
}

bool CudaDevice::is_lost() const {
  // Once the context is broken every call says so; an error of one call alone it does not know of.
  const cudaError_t error = cudaStreamQuery(stream_);
  return error != cudaSuccess && error != cudaErrorNotReady;
}

Status CudaDevice::fail(DeviceFault fault) {
  if (fault == DeviceFault::kOutOfMemory)
    return Memory::allocate(2 * static_cast<size_t>(info_.memory_bytes)).status();
  trap(stream_);
  return to_status(cudaStreamSynchronize(stream_), "a kernel that was told to fail");
}

Result<std::unique_ptr<Ops>> CudaDevice::make_ops() {
  INGOT_TRY(std::unique_ptr<CudaOps> ops, CudaOps::create(shared_from_this()));
  return std::unique_ptr<Ops>(std::move(ops));
}

}  // namespace cuda

DeviceList list_devices() {
  DeviceList list;
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    cudaGetLastError();
    list.why_none = cudaGetErrorString(error);
    return list;
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp facts{};
    if (cudaGetDeviceProperties(&facts, i) != cudaSuccess) continue;
    list.devices.push_back({facts.name, cuda::generation_name(facts), facts.totalGlobalMem});
  }
  if (list.devices.empty()) list.why_none = "this machine has no GPU";
  return list;
}

Result<std::shared_ptr<Device>> open_device(int index) {
  const DeviceList list = list_devices();
  if (index < 0 || index >= std::ssize(list.devices)) {
    return Status::invalid_argument(
        "GPU {} cannot be had: {}; use --device cpu", index,
        list.devices.empty() ? list.why_none : fmt::format("there are {}", list.devices.size()));
  }
  INGOT_TRY(std::shared_ptr<cuda::CudaDevice> device, cuda::CudaDevice::open(index));
  return std::shared_ptr<Device>(std::move(device));
}

}  // namespace ingot
