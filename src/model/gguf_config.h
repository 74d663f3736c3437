// SPDX-License-Identifier: Apache-2.0
// GGUF metadata as a mapper reads it: keys without their architecture prefix, every number with its
// range, and which tensors are there. What hf_config.h is for config.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/checkpoint.h"
#include "model/hf_config.h"

namespace ingot {

struct NumberRange {
  double min;
  double max;
};

// Immutable; metadata and checkpoint must outlive it. An error names the file and the whole key.
class GgufConfig {
 public:
  static Result<GgufConfig> open(const GgufMetadata& metadata, const Checkpoint& checkpoint);

  const std::string& architecture() const { return architecture_; }
  bool has(std::string_view key) const;
  Result<int64_t> integer(std::string_view key, Range range) const;
  Result<int64_t> integer_or(std::string_view key, int64_t fallback, Range range) const;
  Result<double> number(std::string_view key, NumberRange range) const;
  Result<double> number_or(std::string_view key, double fallback, NumberRange range) const;
  Result<bool> boolean(std::string_view key) const;
  Result<std::string> string_or(std::string_view key, std::string_view fallback) const;
  bool holds_list(std::string_view key) const;  // present, and an array
  // One number for all layers, or a list with one for each.
  Result<std::vector<int64_t>> per_layer(std::string_view key, int64_t layers, Range range) const;
  Result<std::vector<int64_t>> per_layer_or(std::string_view key, int64_t layers,
                                            std::vector<int64_t> fallback, Range range) const;
  // A token id of the vocabulary section ("bos_token_id"), or -1.
  Result<int32_t> token_id(std::string_view name, int64_t vocab) const;

  bool has_tensor(std::string_view name) const;
  // [rows, cols] of a tensor that must be there.
  Result<Shape> matrix_shape(std::string_view name) const;

  Status error(std::string_view key, std::string_view what) const;
  Status unsupported(std::string_view key, std::string_view what) const;

 private:
  GgufConfig(const GgufMetadata& metadata, const Checkpoint& checkpoint, std::string architecture);
  std::string full(std::string_view key) const;
  Status missing(std::string_view key) const;

  const GgufMetadata* metadata_;
  const Checkpoint* checkpoint_;
  std::string architecture_;
};

}  // namespace ingot
