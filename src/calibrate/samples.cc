// SPDX-License-Identifier: Apache-2.0
#include "calibrate/samples.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"

// Defined by default_mix.S; symbols of the assembler are no constants of ours to rename.
extern "C" {
// NOLINTNEXTLINE(readability-identifier-naming)
extern const char ingot_default_mix_begin[];
// NOLINTNEXTLINE(readability-identifier-naming)
extern const char ingot_default_mix_end[];
}

namespace ingot {
namespace {

constexpr int64_t kLeastTokens = 8;

Result<std::string> document_of(const Json& line, std::string_view name, size_t number) {
  const auto text = [&](const char* key) {
    const auto it = line.find(key);
    return it != line.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  std::string document;
  if (line.is_string()) return line.get<std::string>();
  if (line.is_object()) {
    document = text("text");
    if (document.empty()) document = text("prompt") + text("completion");
    if (const auto messages = line.find("messages");
        document.empty() && messages != line.end() && messages->is_array()) {
      for (const Json& message : *messages) {
        const auto content = message.is_object() ? message.find("content") : message.end();
        if (message.is_object() && content != message.end() && content->is_string())
          document += content->get<std::string>() + "\n";
      }
    }
  }
  if (document.empty()) {
    return Status::invalid_data(
        "{}, line {}: no text; give an object with \"text\", \"prompt\" or \"messages\"", name,
        number);
  }
  return document;
}

}  // namespace

std::string_view default_calibration_text() {
  return {ingot_default_mix_begin, ingot_default_mix_end};
}

Result<std::vector<std::string>> calibration_documents(std::string_view content,
                                                       std::string_view name) {
  if (!name.ends_with(".jsonl") && !name.ends_with(".ndjson"))
    return std::vector<std::string>{std::string(content)};
  std::vector<std::string> documents;
  size_t number = 0;
  while (!content.empty()) {
    const size_t end = std::min(content.find('\n'), content.size());
    const std::string_view line = content.substr(0, end);
    content.remove_prefix(std::min(content.size(), end + 1));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    INGOT_TRY(const Json json, parse_json(line, fmt::format("{}, line {}", name, number)));
    INGOT_TRY(std::string document, document_of(json, name, number));
    documents.push_back(std::move(document));
  }
  return documents;
}

Result<std::vector<std::vector<TokenId>>> make_samples(const Tokenizer& tokenizer,
                                                       const std::vector<std::string>& documents,
                                                       const SampleOptions& options) {
  EncodeOptions plain;
  plain.add_special = false;
  plain.parse_special = false;
  std::vector<TokenId> ids;
  for (const std::string& document : documents) {
    INGOT_TRY(const std::vector<TokenId> encoded, tokenizer.encode(document, plain));
    ids.insert(ids.end(), encoded.begin(), encoded.end());
  }
  // Each window begins as a prompt would.
  INGOT_TRY(const std::vector<TokenId> empty, tokenizer.encode(""));
  const std::optional<TokenId> bos = tokenizer.special().bos;
  const bool has_bos = bos && !empty.empty() && empty.front() == *bos;
  const auto total = static_cast<int64_t>(ids.size());
  const int64_t own = std::min(options.length - (has_bos ? 1 : 0), total);
  if (own < kLeastTokens) {
    return Status::invalid_argument(
        "the calibration text has {} tokens and windows {}; both must be {} or more", total,
        options.length, kLeastTokens);
  }
  const int64_t count = std::min(options.samples, total / own);
  std::vector<std::vector<TokenId>> samples;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = count == 1 ? 0 : i * (total - own) / (count - 1);
    std::vector<TokenId>& sample = samples.emplace_back();
    if (has_bos) sample.push_back(*bos);
    sample.insert(sample.end(), ids.begin() + first, ids.begin() + first + own);
  }
  return samples;
}

}  // namespace ingot
