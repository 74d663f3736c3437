// SPDX-License-Identifier: Apache-2.0
// bitsandbytes. NF4 and FP4: `weight` is the nibbles of the flattened matrix, the first in the high
// ones, under whatever type; weight.absmax has a scale for every block of values, itself in bytes
// where it is nested; what is what stands in weight.quant_state as JSON. LLM.int8: bytes
// [rows, cols] with a largest value per row, SCB. Its inputs above a threshold, which
// bitsandbytes multiplies apart in half precision so that they do not coarsen the others, need
// nothing here: our inputs have a scale for every 32 columns.
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/json.h"
#include "model/quant/quant_module.h"

namespace ingot {
namespace {

constexpr std::string_view kNf4State = ".weight.quant_state.bitsandbytes__nf4";
constexpr std::string_view kFp4State = ".weight.quant_state.bitsandbytes__fp4";

Result<std::optional<QuantTensor>> read_int8(const QuantModule& module, int64_t cols) {
  INGOT_TRY(const TensorView* any, module.find(".SCB"));
  if (any == nullptr) return std::optional<QuantTensor>();
  INGOT_TRY(const TensorView* form, module.find(".weight_format"));
  if (form != nullptr && !form->bytes.empty() && form->bytes[0] != std::byte{0}) {
    return Status::unsupported("'{}': int8 weights arranged for a GPU cannot be loaded",
                               module.name());
  }
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
  INGOT_TRY(const TensorView* found, module.tensor(".weight.absmax", {Layout::kF32, Layout::kF16,
                                                                      Layout::kBF16, Layout::kU8}));
  if (found->layout != Layout::kU8) return module.floats(".weight.absmax");
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

// Blocks run on from row to row: groups are as wide as rows and blocks have in common.
Status spread_absmax(const QuantModule& module, const std::vector<float>& absmax, int64_t block,
                     QuantTensor& tensor) {
  const int64_t values = tensor.rows * tensor.cols;
  const int64_t blocks = (values + block - 1) / block;
  if (absmax.size() != static_cast<size_t>(blocks))
    return module.error(fmt::format("{} scales where {} are needed", absmax.size(), blocks));
  const int64_t width = std::gcd(tensor.cols, block);
  tensor.scheme.group_columns = width;
  tensor.scales.resize(static_cast<size_t>(values / width));
  for (int64_t i = 0; i < values / width; ++i)
    tensor.scales[static_cast<size_t>(i)] = absmax[static_cast<size_t>(i * width / block)];
  return Status::ok();
}

}  // namespace

Result<std::optional<QuantTensor>> read_bitsandbytes_weight(const QuantModule& module,
                                                            const WeightQuant& quant,
                                                            int64_t cols) {
  if (quant.bits == 8) return read_int8(module, cols);
  INGOT_TRY(const std::string_view name, module.first_of({kNf4State, kFp4State}));
  INGOT_TRY(const TensorView* text, module.find(name));
  if (text == nullptr) return std::optional<QuantTensor>();
  const std::string_view json(reinterpret_cast<const char*>(text->bytes.data()),
                              text->bytes.size());
  INGOT_TRY(const HfConfig state, HfConfig::parse(json, module.name() + std::string(name)));
  INGOT_TRY(const std::vector<int64_t> shape, state.integers("shape", {1, int64_t{1} << 31}));
  INGOT_TRY(const int64_t block, state.integer("blocksize", {1, 1 << 20}));
  if (shape.size() != 2 || shape[1] != cols)
    return state.error("shape", fmt::format("must be [rows, {}]", cols));
  INGOT_TRY(const TensorView* codes, module.find(".weight"));
  if (codes == nullptr) return module.error("tensor '.weight' is missing");
  QuantTensor tensor;
  tensor.scheme = {CodeMeaning::kLevels, CodeOrder::kRowsHighFirst, 4, block};
  tensor.rows = shape[0];
  tensor.cols = cols;
  tensor.codes = codes->bytes;  // whatever type they are said to be
  const CheckedSize values =
      CheckedSize(static_cast<uint64_t>(shape[0])) * CheckedSize(static_cast<uint64_t>(shape[1]));
  if (values.value_or(0) != codes->bytes.size() * 2) {
    return module.error(fmt::format("{} bytes of codes for a weight of [{}, {}]",
                                    codes->bytes.size(), shape[0], shape[1]));
  }
  INGOT_TRY(const std::vector<float> absmax, read_absmax(module, state));
  INGOT_TRY(spread_absmax(module, absmax, block, tensor));
  INGOT_TRY(tensor.levels, module.floats(".weight.quant_map"));
  return std::optional(std::move(tensor));
}

}  // namespace ingot
