// SPDX-License-Identifier: Apache-2.0
#include "compress/layer_modules.h"

#include <algorithm>

#include "model/module_name.h"
#include "model/quant/quant_module.h"

namespace ingot {
namespace {

// The quantized form of a weight, or nothing.
Result<std::optional<QuantTensor>> read_quantized(const Checkpoint& checkpoint,
                                                  const ModelPlan& plan, const std::string& tensor,
                                                  int64_t cols) {
  if (plan.quantization.method == QuantMethod::kNone || !tensor.ends_with(kWeightSuffix))
    return std::optional<QuantTensor>();
  const std::string name = module_of(tensor);
  const QuantModule module(checkpoint.name(), name,
                           [&](std::string_view suffix) -> Result<const TensorEntry*> {
                             return find_entry(checkpoint, plan, name + std::string(suffix));
                           });
  return read_quant_weight(module, plan.quantization, cols);
}

int64_t input_columns(const ModelSpec& spec, size_t layer, LinearInput input) {
  if (input == LinearInput::kMixerInner) {
    const auto& attention = std::get<AttentionSpec>(spec.layers[layer].mixer);
    return attention.heads * attention.value_dim;
  }
  if (input == LinearInput::kFfnInner) return std::get<DenseFfnSpec>(spec.layers[layer].ffn).hidden;
  return spec.hidden;
}

}  // namespace

const TensorEntry* find_entry(const Checkpoint& checkpoint, const ModelPlan& plan,
                              const std::string& tensor) {
  for (const std::string& name : plan.weights.spellings(tensor)) {
    if (const TensorEntry* entry = checkpoint.find(name)) return entry;
  }
  return nullptr;
}

Result<std::vector<LayerModule>> layer_modules(const Checkpoint& checkpoint, const ModelPlan& plan,
                                               size_t layer) {
  const LayerSources& from = plan.weights.layers.at(layer);
  const std::pair<const LinearSource*, LinearInput> sources[] = {
      {&from.q, LinearInput::kMixerIn},     {&from.k, LinearInput::kMixerIn},
      {&from.v, LinearInput::kMixerIn},     {&from.o, LinearInput::kMixerInner},
      {&from.gate, LinearInput::kFfnIn},    {&from.up, LinearInput::kFfnIn},
      {&from.down, LinearInput::kFfnInner},
  };
  std::vector<LayerModule> modules;
  for (const auto& [source, input] : sources) {
    for (const TensorPart& part : source->weight.parts) {
      if (std::ranges::find(modules, part.name, &LayerModule::tensor) != modules.end()) continue;
      LayerModule module;
      module.tensor = part.name;
      module.name = module_of(part.name);
      module.layer = layer;
      module.input = input;
      module.is_transposed = part.is_transposed;
      module.cols = input_columns(plan.spec, layer, input);
      INGOT_TRY(const std::optional<QuantTensor> quantized,
                read_quantized(checkpoint, plan, part.name, module.cols));
      if (quantized) {
        module.rows = quantized->rows;
      } else {
        const TensorEntry* entry = find_entry(checkpoint, plan, part.name);
        if (entry == nullptr) {
          return Status::invalid_data("{}: tensor '{}' is missing", checkpoint.name(), part.name);
        }
        const TensorView& view = entry->tensor;
        const auto elements = static_cast<int64_t>(view.shape.elements().value_or(0));
        module.rows = elements / module.cols;
        if (module.rows * module.cols != elements) {
          return Status::invalid_data("{}: tensor '{}' of shape {} does not have {} columns",
                                      checkpoint.name(), part.name, view.shape.to_string(),
                                      module.cols);
        }
      }
      modules.push_back(std::move(module));
    }
  }
  return modules;
}

bool is_quantized(const Checkpoint& checkpoint, const ModelPlan& plan, const LayerModule& module) {
  if (const TensorEntry* entry = find_entry(checkpoint, plan, module.tensor)) {
    if (info(entry->tensor.layout).is_quantized) return true;
  }
  const auto found = read_quantized(checkpoint, plan, module.tensor, module.cols);
  return found.is_ok() && found->has_value();
}

Result<std::vector<float>> read_module(const Checkpoint& checkpoint, const ModelPlan& plan,
                                       const LayerModule& module, const Exec& exec) {
  const auto cols = static_cast<size_t>(module.cols);
  std::vector<float> values(static_cast<size_t>(module.rows) * cols);
  INGOT_TRY(const std::optional<QuantTensor> quantized,
            read_quantized(checkpoint, plan, module.tensor, module.cols));
  if (quantized) {
    INGOT_TRY(quantized->check());
    exec.for_ranges(module.rows, 16, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        dequantize_row(*quantized, row,
                       std::span(values).subspan(static_cast<size_t>(row) * cols, cols));
      }
    });
    return values;
  }
  const TensorEntry* entry = find_entry(checkpoint, plan, module.tensor);
  INGOT_CHECK(entry != nullptr);
  const TensorView& view = entry->tensor;
  if (module.is_transposed) {
    std::vector<float> stored(values.size());
    dequantize(view.layout, view.bytes, stored);
    for (size_t row = 0; row < static_cast<size_t>(module.rows); ++row) {
      for (size_t col = 0; col < cols; ++col)
        values[row * cols + col] = stored[col * static_cast<size_t>(module.rows) + row];
    }
  } else {
    const uint64_t row_bytes = view.row_bytes();
    exec.for_ranges(module.rows, 16, [&](int64_t begin, int64_t end) {
      const auto first = static_cast<size_t>(begin);
      const auto count = static_cast<size_t>(end - begin);
      dequantize(view.layout, view.bytes.subspan(first * row_bytes, count * row_bytes),
                 std::span(values).subspan(first * cols, count * cols));
    });
  }
  INGOT_TRY(checkpoint.check_intact());
  return values;
}

Shape stored_shape(const LayerModule& module) {
  const auto rows = static_cast<uint64_t>(module.rows);
  const auto cols = static_cast<uint64_t>(module.cols);
  return module.is_transposed ? Shape{cols, rows} : Shape{rows, cols};
}

void put_module(TensorOverlay& overlay, const LayerModule& module, const Shape& stored,
                std::vector<float> values) {
  if (module.is_transposed) {
    std::vector<float> turned(values.size());
    const auto rows = static_cast<size_t>(module.rows);
    const auto cols = static_cast<size_t>(module.cols);
    for (size_t row = 0; row < rows; ++row) {
      for (size_t col = 0; col < cols; ++col)
        turned[col * rows + row] = values[row * cols + col];
    }
    values = std::move(turned);
  }
  overlay.set(module.tensor, stored, std::move(values));
}

Result<std::vector<float>> read_floats(const Checkpoint& checkpoint, const ModelPlan& plan,
                                       const std::string& tensor) {
  const TensorEntry* entry = find_entry(checkpoint, plan, tensor);
  if (entry == nullptr)
    return Status::invalid_data("{}: tensor '{}' is missing", checkpoint.name(), tensor);
  std::vector<float> values(entry->tensor.shape.elements().value_or(0));
  dequantize(entry->tensor.layout, entry->tensor.bytes, values);
  return values;
}

}  // namespace ingot
