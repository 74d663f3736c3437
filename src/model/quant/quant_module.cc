// SPDX-License-Identifier: Apache-2.0
#include "model/quant/quant_module.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace ingot {

Result<const TensorView*> QuantModule::find(std::string_view suffix) const {
  INGOT_TRY(const TensorEntry* entry, find_(suffix));
  return entry == nullptr ? nullptr : &entry->tensor;
}

Result<const TensorView*> QuantModule::tensor(std::string_view suffix,
                                              std::initializer_list<Layout> layouts) const {
  INGOT_TRY(const TensorView* found, find(suffix));
  if (found == nullptr) return error(fmt::format("tensor '{}{}' is missing", name(), suffix));
  if (std::ranges::find(layouts, found->layout) == layouts.end()) {
    return Status::unsupported("{}: tensor '{}{}' of type {} is not what this format has there",
                               file_, name(), suffix, info(found->layout).name);
  }
  return found;
}

Result<std::vector<float>> QuantModule::floats(std::string_view suffix) const {
  INGOT_TRY(const TensorView* found,
            tensor(suffix, {Layout::kF32, Layout::kF16, Layout::kBF16, Layout::kF8_E4M3,
                            Layout::kF8_E8M0, Layout::kU8}));
  std::vector<float> values(found->shape.elements().value_or(0));
  const bool is_exponent = found->layout == Layout::kU8;
  dequantize(is_exponent ? Layout::kF8_E8M0 : found->layout, found->bytes, values);
  return values;
}

Result<std::string_view> QuantModule::first_of(
    std::initializer_list<std::string_view> suffixes) const {
  for (const std::string_view suffix : suffixes) {
    INGOT_TRY(const TensorView* found, find(suffix));
    if (found != nullptr) return suffix;
  }
  return *suffixes.begin();
}

Result<float> QuantModule::positive(std::string_view suffix) const {
  INGOT_TRY(const std::vector<float> values, floats(suffix));
  float largest = 0;
  for (const float value : values) {
    if (!std::isfinite(value) || value <= 0)
      return error(fmt::format("{} of '{}' is no positive number", value, suffix));
    largest = std::max(largest, value);
  }
  if (values.empty()) return error(fmt::format("'{}' has no value", suffix));
  return largest;
}

Status QuantModule::skip(std::string_view suffix) const {
  return find(suffix).status();
}

Status QuantModule::error(std::string_view what) const {
  return Status::invalid_data("{}: weight '{}': {}", file_, name(), what);
}

Status QuantModule::shape_error(std::string_view suffix, const TensorView& found,
                                std::string_view wanted) const {
  return Status::invalid_data("{}: tensor '{}{}' has shape {} where {} is needed", file_, name(),
                              suffix, found.shape.to_string(), wanted);
}

Result<InputQuant> read_input_quant(const QuantModule& module, const WeightQuant& quant) {
  InputQuant input = quant.input;
  INGOT_TRY(const std::string_view scale,
            module.first_of({".input_scale", ".activation_scale", ".qscale_act"}));
  for (const char* unused : {".input_scale_ub", ".input_global_scale"})
    INGOT_TRY(module.skip(unused));
  INGOT_TRY(const TensorView* zero, module.find(".input_zero_point"));
  if (!quant.has_input_scale) return input;
  INGOT_TRY(input.scale, module.positive(scale));
  if (input.is_symmetric) return input;
  if (zero == nullptr) return module.error("tensor '.input_zero_point' is missing");
  INGOT_TRY(zero, module.tensor(".input_zero_point", {Layout::kI8}));
  if (zero->bytes.size() != 1) return module.shape_error(".input_zero_point", *zero, "[1]");
  input.zero = static_cast<int8_t>(zero->bytes[0]);
  return input;
}

Status read_column_order(const QuantModule& module, std::string_view suffix, QuantTensor& tensor) {
  INGOT_TRY(const TensorView* words, module.find(suffix));
  if (words == nullptr) return Status::ok();
  INGOT_TRY(words, module.tensor(suffix, {Layout::kI32}));
  if (words->shape.rank() != 1 || words->cols() != static_cast<uint64_t>(tensor.cols))
    return module.shape_error(suffix, *words, fmt::format("[{}]", tensor.cols));
  std::vector<int32_t> group(static_cast<size_t>(tensor.cols));
  std::memcpy(group.data(), words->bytes.data(), group.size() * sizeof(int32_t));
  const auto is_all = [&](int32_t value) {
    return std::ranges::all_of(group, [&](int32_t g) { return g == value; });
  };
  if (is_all(0) || is_all(-1)) return Status::ok();
  const int64_t groups = tensor.groups();
  if (!std::ranges::all_of(group, [&](int32_t g) { return g >= 0 && g < groups; }))
    return module.error(fmt::format("g_idx names groups beyond the {} there are", groups));
  ColumnOrder order(group.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int32_t col) { return group[static_cast<size_t>(col)]; });
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t expected = static_cast<int64_t>(i) / tensor.scheme.group_columns;
    if (group[static_cast<size_t>(order[i])] != expected) {
      return Status::unsupported("'{}': g_idx gives groups of unequal sizes, which no kernel has",
                                 module.name());
    }
  }
  if (std::ranges::is_sorted(group)) return Status::ok();
  tensor.column_order = std::make_shared<const ColumnOrder>(std::move(order));
  return Status::ok();
}

Result<std::optional<QuantTensor>> read_quant_weight(const QuantModule& module,
                                                     const QuantConfig& config, int64_t cols) {
  const WeightQuant& quant = config.of(module.names());
  switch (quant.method) {
    case QuantMethod::kNone:
    case QuantMethod::kMxfp4:
      break;
    case QuantMethod::kGptq:
      return read_gptq_weight(module, quant, cols);
    case QuantMethod::kAwq:
      return read_awq_weight(module, quant, cols);
    case QuantMethod::kBitsandbytes:
      return read_bitsandbytes_weight(module, quant, cols);
    case QuantMethod::kFp8:
      return read_fp8_weight(module, quant, cols);
    case QuantMethod::kNvfp4:
      return read_nvfp4_weight(module, quant, cols);
    case QuantMethod::kCompressedTensors:
      return read_compressed_weight(module, quant, cols);
  }
  return std::optional<QuantTensor>();
}

}  // namespace ingot
