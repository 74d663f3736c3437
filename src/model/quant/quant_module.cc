// SPDX-License-Identifier: Apache-2.0
#include "model/quant/quant_module.h"

#include <algorithm>

namespace ingot {

Result<const TensorView*> QuantModule::find(std::string_view suffix) const {
  INGOT_TRY(const TensorEntry* entry, find_(suffix));
  return entry == nullptr ? nullptr : &entry->tensor;
}

Result<const TensorView*> QuantModule::tensor(std::string_view suffix,
                                              std::initializer_list<Layout> layouts) const {
  INGOT_TRY(const TensorView* found, find(suffix));
  if (found == nullptr) return error(fmt::format("tensor '{}{}' is missing", name_, suffix));
  if (std::ranges::find(layouts, found->layout) == layouts.end()) {
    return Status::unsupported("{}: tensor '{}{}' of type {} is not what this format has there",
                               file_, name_, suffix, info(found->layout).name);
  }
  return found;
}

Result<std::vector<float>> QuantModule::floats(std::string_view suffix) const {
  INGOT_TRY(const TensorView* found, tensor(suffix, {Layout::kF32, Layout::kF16, Layout::kBF16,
                                                     Layout::kF8_E4M3, Layout::kF8_E8M0}));
  std::vector<float> values(found->shape.elements().value_or(0));
  dequantize(found->layout, found->bytes, values);
  return values;
}

Status QuantModule::skip(std::string_view suffix) const {
  return find(suffix).status();
}

Status QuantModule::error(std::string_view what) const {
  return Status::invalid_data("{}: weight '{}': {}", file_, name_, what);
}

Status QuantModule::shape_error(std::string_view suffix, const TensorView& found,
                                std::string_view wanted) const {
  return Status::invalid_data("{}: tensor '{}{}' has shape {} where {} is needed", file_, name_,
                              suffix, found.shape.to_string(), wanted);
}

Result<std::optional<QuantTensor>> read_quant_weight(const QuantModule& module,
                                                     const QuantConfig& config, int64_t cols) {
  switch (config.method) {
    case QuantMethod::kNone:
      break;
    case QuantMethod::kGptq:
      return read_gptq_weight(module, config, cols);
    case QuantMethod::kAwq:
      return read_awq_weight(module, config, cols);
    case QuantMethod::kBitsandbytes:
      return read_bitsandbytes_weight(module, config, cols);
    case QuantMethod::kFp8:
      return read_fp8_weight(module, config, cols);
    case QuantMethod::kCompressedTensors:
      return read_compressed_weight(module, config, cols);
  }
  return std::optional<QuantTensor>();
}

}  // namespace ingot
