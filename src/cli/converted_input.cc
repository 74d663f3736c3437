// SPDX-License-Identifier: Apache-2.0
#include "cli/converted_input.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/checksum.h"
#include "base/log.h"
#include "cli/progress_bar.h"
#include "convert/convert_model.h"
#include "convert/input_identity.h"

namespace ingot {
namespace {

// "out" for "out/" too: the folder must stand beside it, not in it.
std::string beside(std::string output) {
  while (output.size() > 1 && output.ends_with('/'))
    output.pop_back();
  return output;
}

}  // namespace

Result<ConvertedInput> ConvertedInput::create(const std::string& model,
                                              const std::shared_ptr<const Checkpoint>& input,
                                              const std::string& output) {
  const std::string identity = input_identity(model);
  ConvertOptions options;
  options.input = model;
  options.output = fmt::format("{}.ingot-input-{:016x}", beside(output),
                               checksum64(std::as_bytes(std::span(identity))));
  options.to_gguf = false;
  const bool has_blocks = std::ranges::any_of(input->tensors(), [](const TensorEntry* entry) {
    return info(entry->tensor.layout).is_quantized;
  });
  if (has_blocks) options.type = Layout::kF16;
  ConvertedInput converted(options.output, has_blocks);
  std::error_code error;
  if (std::filesystem::is_directory(options.output, error)) return converted;  // of a killed run
  fmt::print(stderr, "converting to safetensors first, in {} (removed at the end)\n",
             options.output.string());
  ProgressBar bar("Converting");
  INGOT_TRY(
      convert_model(input, options, [&bar](double fraction) { bar.update(fraction); }).status());
  bar.finish();
  return converted;
}

ConvertedInput::~ConvertedInput() {
  if (folder_.empty()) return;
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
  if (error) log_warning("{}: cannot be deleted: {}", folder_.string(), error.message());
}

}  // namespace ingot
