// SPDX-License-Identifier: Apache-2.0
// A GGUF model as safetensors for as long as a quantizer reads them: a folder beside the output,
// removed when this goes. The name holds the input's identity, so a run that is started again after
// it was killed finds the folder it left, and with it its place.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/status.h"
#include "formats/checkpoint.h"

namespace ingot {

// Single thread.
class ConvertedInput {
 public:
  // Converts `input`, opened from `model`, with a progress bar; weights in blocks become F16. Says
  // on standard error where the folder is.
  static Result<ConvertedInput> create(const std::string& model,
                                       const std::shared_ptr<const Checkpoint>& input,
                                       const std::string& output);
  ~ConvertedInput();
  ConvertedInput(ConvertedInput&& other) noexcept
      : folder_(std::move(other.folder_)), was_quantized_(other.was_quantized_) {
    other.folder_.clear();
  }
  ConvertedInput(const ConvertedInput&) = delete;
  ConvertedInput& operator=(const ConvertedInput&) = delete;
  ConvertedInput& operator=(ConvertedInput&&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  bool was_quantized() const { return was_quantized_; }  // the GGUF file has blocks

 private:
  ConvertedInput(std::filesystem::path folder, bool was_quantized)
      : folder_(std::move(folder)), was_quantized_(was_quantized) {}
  std::filesystem::path folder_;  // empty: moved away
  bool was_quantized_;
};

}  // namespace ingot
