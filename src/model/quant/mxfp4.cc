// SPDX-License-Identifier: Apache-2.0
// MXFP4 as gpt-oss has it: for all experts of a layer _blocks [experts, rows, cols / 32, 16], the
// low nibble of a byte first, and _scales [experts, rows, cols / 32], exponents.
#include "model/quant/quant_module.h"

namespace ingot {
namespace {

constexpr int64_t kMxfp4Group = 32;

}  // namespace

Result<std::vector<QuantTensor>> read_mxfp4_experts(const QuantModule& module,
                                                    const std::string& stem, int64_t cols) {
  const std::string blocks_name = stem + "_blocks";
  const std::string scales_name = stem + "_scales";
  INGOT_TRY(const TensorView* blocks, module.tensor(blocks_name, {Layout::kU8}));
  INGOT_TRY(const TensorView* scales, module.tensor(scales_name, {Layout::kU8, Layout::kF8_E8M0}));
  const auto groups = static_cast<uint64_t>(cols / kMxfp4Group);
  if (cols % kMxfp4Group != 0 || blocks->shape.rank() != 4 || blocks->shape[2] != groups ||
      blocks->shape[3] != kMxfp4Group / 2)
    return module.shape_error(blocks_name, *blocks, fmt::format("[experts, rows, {}, 16]", groups));
  const uint64_t experts = blocks->shape[0];
  const uint64_t rows = blocks->shape[1];
  if (scales->shape != Shape{experts, rows, groups})
    return module.shape_error(scales_name, *scales,
                              fmt::format("[{}, {}, {}]", experts, rows, groups));
  INGOT_TRY(const std::vector<float> powers, module.floats(scales_name));
  const size_t code_bytes = rows * groups * (kMxfp4Group / 2);
  const size_t count = rows * groups;
  std::vector<QuantTensor> tensors(experts);
  for (size_t i = 0; i < experts; ++i) {
    QuantTensor& tensor = tensors[i];
    tensor.scheme = {CodeMeaning::kE2m1, CodeOrder::kRows, 4, kMxfp4Group};
    tensor.rows = static_cast<int64_t>(rows);
    tensor.cols = cols;
    tensor.codes = blocks->bytes.subspan(i * code_bytes, code_bytes);
    const auto first = powers.begin() + static_cast<std::ptrdiff_t>(i * count);
    tensor.scales.assign(first, first + static_cast<std::ptrdiff_t>(count));
    const Status status = tensor.check();
    if (!status.is_ok()) return module.error(fmt::format("expert {}: {}", i, status.message()));
  }
  return tensors;
}

}  // namespace ingot
