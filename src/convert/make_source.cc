// SPDX-License-Identifier: Apache-2.0
#include "convert/make_source.h"

#include <algorithm>

#include "convert/lora.h"
#include "model/module_name.h"

namespace ingot {
namespace {

Status changed(const std::string& name) {
  return Status::unsupported("tensor '{}' is not in the input as it is", name);
}

}  // namespace

bool is_linear(TensorKind kind) {
  switch (kind) {
    case TensorKind::kOutput:
    case TensorKind::kQ:
    case TensorKind::kK:
    case TensorKind::kV:
    case TensorKind::kQkv:
    case TensorKind::kO:
    case TensorKind::kGate:
    case TensorKind::kUp:
    case TensorKind::kGateUp:
    case TensorKind::kDown:
      return true;
    default:
      return false;
  }
}

Result<SourceTensor> make_source(std::shared_ptr<const WeightInput> input, const RoleTensor& role,
                                 float added) {
  const bool is_matrix = role.kind != TensorKind::kNorm && role.kind != TensorKind::kBias;
  const auto cols = static_cast<int64_t>(is_matrix ? role.shape.back() : 1);
  INGOT_TRY(const auto rows, WeightRows::open(std::move(input), role.parts, cols));
  SourceTensor tensor;
  tensor.name = role.name;
  tensor.shape = role.shape;
  tensor.kind = role.kind;
  tensor.layer = role.layer;
  tensor.hf_module = module_of(role.parts.front().part.name);
  tensor.natural = added == 0 ? rows->natural() : Layout::kF32;
  tensor.is_quantized = rows->is_quantized();
  // A vector is one row of the output and many of the input.
  const auto width = static_cast<int64_t>(role.shape.back() / static_cast<uint64_t>(cols));
  tensor.read_rows = [rows, added, width](int64_t begin, int64_t end, std::span<float> out) {
    INGOT_TRY(rows->read(begin * width, end * width, out));
    if (added != 0) {
      for (float& value : out)
        value += added;
    }
    return Status::ok();
  };
  tensor.exact = rows->exact();
  tensor.read_exact = [rows](int64_t begin, int64_t end, std::span<std::byte> out) {
    return rows->read_exact(begin, end, out);
  };
  tensor.plain = [rows, added, name = role.name, shape = role.shape]() -> Result<TensorView> {
    std::optional<TensorView> view = rows->plain();
    if (!view || added != 0) return changed(name);
    view->shape = shape;
    return *view;
  };
  return tensor;
}

SourceTensor computed_source(std::string name, std::vector<float> values) {
  SourceTensor tensor;
  tensor.name = std::move(name);
  tensor.shape = Shape{values.size()};
  const auto shared = std::make_shared<const std::vector<float>>(std::move(values));
  tensor.read_rows = [shared](int64_t, int64_t, std::span<float> out) {
    std::ranges::copy(*shared, out.begin());
    return Status::ok();
  };
  tensor.plain = [shared, shape = tensor.shape]() -> Result<TensorView> {
    return TensorView{Layout::kF32, shape, std::as_bytes(std::span(*shared))};
  };
  return tensor;
}

SourceTensor kept_source(std::shared_ptr<const Checkpoint> checkpoint,
                         std::shared_ptr<const LoraAdapter> adapter, const TensorEntry& entry) {
  SourceTensor tensor;
  tensor.name = entry.name;
  tensor.shape = entry.tensor.shape;
  tensor.natural = entry.tensor.layout;
  tensor.is_quantized = info(entry.tensor.layout).is_quantized;
  tensor.hf_module = module_of(entry.name);
  const bool is_changed = adapter != nullptr && adapter->has(tensor.hf_module);
  tensor.read_rows = [checkpoint, adapter, view = entry.tensor, module = tensor.hf_module,
                      is_changed](int64_t begin, int64_t end, std::span<float> out) -> Status {
    const TensorView part =
        view.row_range(static_cast<uint64_t>(begin), static_cast<uint64_t>(end));
    dequantize(part.layout, part.bytes, out);
    const auto width = static_cast<size_t>(view.cols());
    for (int64_t row = begin; is_changed && row < end; ++row) {
      INGOT_TRY(
          adapter->add(module, row, out.subspan(static_cast<size_t>(row - begin) * width, width)));
    }
    return checkpoint->check_intact();
  };
  tensor.plain = [checkpoint, view = entry.tensor, is_changed,
                  name = entry.name]() -> Result<TensorView> {
    if (is_changed) return changed(name);
    return view;
  };
  return tensor;
}

}  // namespace ingot
