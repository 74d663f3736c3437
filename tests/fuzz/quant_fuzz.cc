// SPDX-License-Identifier: Apache-2.0
// A quantized weight: a byte that says how many columns it has, a line with quantization_config,
// and a safetensors file with the tensors of module "m". It is refused, or decodes and multiplies
// within its bytes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/safetensors.h"
#include "kernels/linear.h"
#include "model/quant/quant_module.h"

namespace {

constexpr int64_t kMostValues = 1 << 16;

void use(const ingot::QuantTensor& tensor) {
  if (!tensor.check().is_ok() || tensor.matrix_rows() * tensor.cols > kMostValues) return;
  std::vector<float> row(static_cast<size_t>(tensor.cols));
  for (int64_t i = 0; i < tensor.matrix_rows(); ++i)
    ingot::dequantize_row(tensor, i, row);
  static ingot::ThreadPool pool(1);
  const ingot::Exec exec(pool);
  const ingot::TargetSet targets = ingot::TargetSet::of_this_machine();
  ingot::WeightMemory memory;
  const auto linear = ingot::Linear::bind(tensor, {}, targets, memory, exec);
  if (!linear.is_ok()) return;
  ingot::Activations input(targets);
  input.set(row.data(), 1, tensor.cols);
  std::vector<float> y(static_cast<size_t>(linear->rows()));
  linear->run(exec, input, y.data(), linear->rows());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const int64_t cols = (data[0] + 1) * 8;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return 0;
  const std::string json = R"({"quantization_config": )" + std::string(text.substr(0, end)) + "}";
  const auto config = ingot::HfConfig::parse(json, "config.json");
  if (!config.is_ok()) return 0;
  const auto quantization = ingot::read_quant_config(*config);
  if (!quantization.is_ok()) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(end + 2);
  const auto file = ingot::SafetensorsFile::parse(ingot::MappedFile::from_memory(bytes, "fuzz"));
  if (!file.is_ok()) return 0;
  const ingot::QuantModule module(
      "fuzz", "m", [&](std::string_view suffix) -> ingot::Result<const ingot::TensorEntry*> {
        for (const ingot::TensorEntry& entry : (*file)->tensors()) {
          if (entry.name == "m" + std::string(suffix)) return &entry;
        }
        return nullptr;
      });
  const auto tensor = ingot::read_quant_weight(module, *quantization, cols);
  if (tensor.is_ok() && tensor->has_value()) use(**tensor);
  const auto experts = ingot::read_mxfp4_experts(module, ".x", cols);
  if (experts.is_ok()) {
    for (const ingot::QuantTensor& expert : *experts)
      use(expert);
  }
  return 0;
}
