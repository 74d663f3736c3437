// SPDX-License-Identifier: Apache-2.0
// config.json, read with ranges: a number outside limits.h, of the wrong type or missing is an
// error that names file and field. Knows both spellings: transformers 5 (rope_parameters, dtype,
// layer_types) and what stands on the hub (rope_theta, rope_scaling, torch_dtype).
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace ingot {

struct Range {
  int64_t min = 0;
  int64_t max = std::numeric_limits<int64_t>::max();
};

// Immutable, cheap to copy.
class HfConfig {
 public:
  static Result<HfConfig> open(const std::filesystem::path& file);
  static Result<HfConfig> parse(std::string_view text, std::string_view source);

  bool has(std::string_view key) const;  // present and not null
  // Present as null: "none", where an absent field would take its family's default.
  bool is_null(std::string_view key) const;
  Result<int64_t> integer(std::string_view key, Range range) const;
  Result<int64_t> integer_or(std::string_view key, int64_t fallback, Range range) const;
  Result<double> number(std::string_view key) const;  // finite
  Result<double> number_or(std::string_view key, double fallback) const;
  Result<bool> boolean_or(std::string_view key, bool fallback) const;
  Result<std::string> string(std::string_view key) const;
  Result<std::string> string_or(std::string_view key, std::string_view fallback) const;
  // A number or a list of numbers.
  Result<std::vector<int64_t>> integers(std::string_view key, Range range) const;
  Result<std::vector<float>> numbers(std::string_view key) const;
  Result<std::vector<std::string>> strings(std::string_view key) const;
  // A nested object ("rope_scaling", "text_config") under the same rules; empty when absent or
  // null.
  std::optional<HfConfig> object(std::string_view key) const;
  bool is_empty() const;                  // {}
  size_t size() const;                    // its fields
  std::vector<std::string> keys() const;  // in the file's order
  // First of these keys that is present (GPT-2 says n_embd where others say hidden_size).
  std::string_view first_of(std::initializer_list<std::string_view> keys) const;

  const std::string& source() const { return source_; }
  Status error(std::string_view key, std::string_view what) const;
  Status unsupported(std::string_view key, std::string_view what) const;

 private:
  HfConfig(std::shared_ptr<const Json> json, std::string source, std::string prefix);
  const Json* find(std::string_view key) const;
  std::shared_ptr<const Json> json_;
  std::string source_;
  std::string prefix_;  // "rope_scaling." inside nested objects, for messages
};

}  // namespace ingot
