// SPDX-License-Identifier: Apache-2.0
// A model's chat template (Jinja, from a stranger's file), rendered by our own interpreter: closed
// list of filters, tests and methods, no I/O, bounded by fuel, depth and output size.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"
#include "formats/gguf.h"

namespace ingot {

struct ChatInput {
  Json messages = Json::array();
  Json tools;                    // null: the template sees none
  Json documents;                // null: none
  Json kwargs = Json::object();  // further template variables; reserved names are refused
  bool add_generation_prompt = true;
  std::string bos_token;
  std::string eos_token;
  std::optional<std::chrono::local_seconds> now;  // strftime_now's clock; the real one when unset
};

// Immutable; thread-safe.
class ChatTemplate {
 public:
  static Result<ChatTemplate> parse(std::string source, std::string_view name);
  // Refusals of the template itself (raise_exception) are kRefused; everything else that goes wrong
  // in it is kInvalidData with the line; running out of fuel, depth or output is
  // kResourceExhausted.
  Result<std::string> render(const ChatInput& input) const;
  const std::string& source() const { return *source_; }

 private:
  struct Program;
  std::shared_ptr<const std::string> source_;
  std::shared_ptr<const Program> program_;
  std::string name_;
};

// Where a model keeps its template: chat_template.jinja, tokenizer_config.json (one template or a
// list of named ones: "default", "tool_use"), chat_template.json, or tokenizer.chat_template in
// GGUF. not_found when it has none. `with_tools` prefers a template named "tool_use" where there
// are several.
struct ChatTemplateSource {
  std::string text;
  std::string origin;  // for messages
};
Result<ChatTemplateSource> find_chat_template(const std::filesystem::path& folder, bool with_tools);
Result<ChatTemplateSource> find_chat_template(const GgufMetadata& metadata, bool with_tools);

}  // namespace ingot
