// SPDX-License-Identifier: Apache-2.0
// bitsandbytes. NF4: `weight` is the nibbles of the flattened matrix, the first in the high ones;
// weight.absmax has a scale for every block of values, itself in bytes where it is nested; what is
// what stands in weight.quant_state as JSON. LLM.int8: bytes [rows, cols] with a largest value per
// row, SCB.
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "model/quant/quant_module.h"

namespace ingot {
namespace {

constexpr std::string_view kState = ".weight.quant_state.bitsandbytes__nf4";

Result<std::optional<QuantTensor>> read_int8(const QuantModule& module, int64_t cols) {
  INGOT_TRY(const TensorView* any, module.find(".SCB"));
  if (any == nullptr) return std::optional<QuantTensor>();
  INGOT_TRY(module.skip(".weight_format"));
  INGOT_TRY(const TensorView* codes, module.tensor(".weight", {Layout::kI8}));
  if (codes->shape.rank() != 2 || codes->cols() != static_cast<uint64_t>(cols))
    return module.shape_error(".weight", *codes, fmt::format("[rows, {}]", cols));
  QuantTensor tensor;
  tensor.scheme = {CodeMeaning::kAffine, CodeOrder::kRowsSigned, 8, cols};
  tensor.rows = static_cast<int64_t>(codes->rows());
  tensor.cols = cols;
  tensor.codes = codes->bytes;
  INGOT_TRY(tensor.scales, module.floats(".SCB"));
  for (float& scale : tensor.scales)
    scale /= 127;
  tensor.zeros.assign(tensor.scales.size(), 128);
  return std::optional(std::move(tensor));
}

// The scales of blocks, with those of scales applied.
Result<std::vector<float>> read_absmax(const QuantModule& module, const HfConfig& state) {
  INGOT_TRY(const TensorView* found, module.tensor(".weight.absmax", {Layout::kF32, Layout::kU8}));
  if (found->layout == Layout::kF32) return module.floats(".weight.absmax");
  INGOT_TRY(const std::vector<float> map, module.floats(".weight.nested_quant_map"));
  INGOT_TRY(const std::vector<float> outer, module.floats(".weight.nested_absmax"));
  INGOT_TRY(const int64_t block, state.integer("nested_blocksize", {1, 1 << 20}));
  INGOT_TRY(const double offset, state.number("nested_offset"));
  const size_t count = found->bytes.size();
  const size_t blocks = (count + static_cast<size_t>(block) - 1) / static_cast<size_t>(block);
  if (map.size() != 256 || outer.size() != blocks) {
    return module.error(fmt::format("{} nested scales where {} are needed, {} levels of 256",
                                    outer.size(), blocks, map.size()));
  }
  std::vector<float> absmax(count);
  for (size_t i = 0; i < count; ++i) {
    const float scale =
        map[std::to_integer<size_t>(found->bytes[i])] * outer[i / static_cast<size_t>(block)];
    absmax[i] = scale + static_cast<float>(offset);
  }
  return absmax;
}

}  // namespace

Result<std::optional<QuantTensor>> read_bitsandbytes_weight(const QuantModule& module,
                                                            const QuantConfig& config,
                                                            int64_t cols) {
  if (config.bits == 8) return read_int8(module, cols);
  INGOT_TRY(const TensorView* text, module.find(kState));
  if (text == nullptr) return std::optional<QuantTensor>();
  const std::string_view json(reinterpret_cast<const char*>(text->bytes.data()),
                              text->bytes.size());
  INGOT_TRY(const HfConfig state, HfConfig::parse(json, module.name() + std::string(kState)));
  INGOT_TRY(const std::vector<int64_t> shape, state.integers("shape", {1, int64_t{1} << 31}));
  INGOT_TRY(const int64_t block, state.integer("blocksize", {1, 1 << 20}));
  if (shape.size() != 2 || shape[1] != cols)
    return state.error("shape", fmt::format("must be [rows, {}]", cols));
  if (cols % block != 0) {
    return state.unsupported("blocksize",
                             fmt::format("blocks of {} do not fill rows of {}", block, cols));
  }
  INGOT_TRY(const TensorView* codes, module.find(".weight"));
  if (codes == nullptr) return module.error("tensor '.weight' is missing");
  QuantTensor tensor;
  tensor.scheme = {CodeMeaning::kLevels, CodeOrder::kRowsHighFirst, 4, block};
  tensor.rows = shape[0];
  tensor.cols = cols;
  tensor.codes = codes->bytes;  // whatever type they are said to be
  INGOT_TRY(tensor.scales, read_absmax(module, state));
  INGOT_TRY(tensor.levels, module.floats(".weight.quant_map"));
  return std::optional(std::move(tensor));
}

}  // namespace ingot
