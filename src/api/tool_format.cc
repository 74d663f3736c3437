// SPDX-License-Identifier: Apache-2.0
#include "api/tool_format.h"

#include <array>
#include <random>

namespace ingot {
namespace {

constexpr std::array<std::string_view, 2> kHermesMarks = {"<tool_call>", "</tool_call>"};
constexpr std::array<std::string_view, 1> kLlamaMarks = {"<|python_tag|>"};
constexpr std::array<std::string_view, 3> kPythonicMarks = {"<|python_start|>", "<|python_end|>",
                                                            "<|python_tag|>"};
constexpr std::array<std::string_view, 3> kMistralMarks = {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"};

struct Named {
  std::string_view name;
  ToolFormat format;
};
constexpr std::array kNames = std::to_array<Named>({
    {"hermes", ToolFormat::kHermes},
    {"llama3_json", ToolFormat::kLlamaJson},
    {"pythonic", ToolFormat::kPythonic},
    {"mistral", ToolFormat::kMistral},
    {"none", ToolFormat::kNone},
});

}  // namespace

ToolFormat detect_tool_format(std::string_view chat_template) {
  const auto has = [&](std::string_view part) {
    return chat_template.find(part) != std::string_view::npos;
  };
  if (has("[TOOL_CALLS]")) return ToolFormat::kMistral;
  if (has("<tool_call>")) return ToolFormat::kHermes;
  if (has("<|python_start|>") || has("func_name1(params_name1=params_value1"))
    return ToolFormat::kPythonic;
  const bool is_llama = has("<|python_tag|>") || has("<|start_header_id|>");
  if (is_llama && has("\"parameters\": ")) return ToolFormat::kLlamaJson;
  return ToolFormat::kNone;
}

Result<ToolFormat> parse_tool_format(std::string_view name, std::string_view chat_template) {
  if (name == "auto") return detect_tool_format(chat_template);
  for (const Named& named : kNames) {
    if (named.name == name) return named.format;
  }
  return Status::invalid_argument(
      "'{}' is no format of tool calls; use hermes, llama3_json, pythonic, mistral, none or auto",
      name);
}

std::span<const std::string_view> tool_marks(ToolFormat format) {
  switch (format) {
    case ToolFormat::kNone:
      return {};
    case ToolFormat::kHermes:
      return kHermesMarks;
    case ToolFormat::kLlamaJson:
      return kLlamaMarks;
    case ToolFormat::kPythonic:
      return kPythonicMarks;
    case ToolFormat::kMistral:
      return kMistralMarks;
  }
  return {};
}

std::string new_call_id(ToolFormat format) {
  constexpr std::string_view kDigits =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const bool is_short = format == ToolFormat::kMistral;
  std::string id = is_short ? "" : "call_";
  std::random_device random;
  std::uniform_int_distribution<size_t> digit(0, is_short ? kDigits.size() - 1 : 15);
  for (int i = 0; i < (is_short ? 9 : 24); ++i)
    id += kDigits[digit(random)];
  return id;
}

}  // namespace ingot
