// SPDX-License-Identifier: Apache-2.0
// Where models keep their chat templates. A folder may have several places; the newer ones win.
#include <fstream>
#include <sstream>

#include "base/mapped_file.h"
#include "tokenizer/chat_template.h"

namespace ingot {
namespace {

constexpr std::string_view kToolTemplate = "tool_use";

Result<ChatTemplateSource> read_template(const std::filesystem::path& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return Status::io("{}: {}", path.string(), error.message());
  if (size > limits::kTemplateBytes) {
    return Status::resource_exhausted("{}: {} bytes; a template has at most {}", path.string(),
                                      size, limits::kTemplateBytes);
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return Status::io("{}: cannot be read", path.string());
  return ChatTemplateSource{.text = text.str(), .origin = path.string()};
}

// One template, or a list of {"name", "template"}. Null where the value is neither.
const std::string* pick_template(const Json& value, bool with_tools) {
  if (value.is_string()) return &value.get_ref<const std::string&>();
  if (!value.is_array()) return nullptr;
  const std::string* standard = nullptr;
  const std::string* first = nullptr;
  for (const Json& entry : value) {
    if (!entry.is_object() || !entry.contains("template") || !entry["template"].is_string())
      continue;
    const std::string* text = &entry["template"].get_ref<const std::string&>();
    const std::string name =
        entry.contains("name") && entry["name"].is_string() ? entry["name"].get<std::string>() : "";
    if (with_tools && name == kToolTemplate) return text;
    if (name == "default") standard = text;
    if (first == nullptr) first = text;
  }
  return standard != nullptr ? standard : first;
}

Result<ChatTemplateSource> template_of_config(const std::filesystem::path& path, bool with_tools) {
  INGOT_TRY(const Json config, read_json_file(path));
  const std::string* text = nullptr;
  if (config.is_object() && config.contains("chat_template"))
    text = pick_template(config["chat_template"], with_tools);
  if (text == nullptr) return Status::not_found("{}: no chat_template", path.string());
  return ChatTemplateSource{.text = *text, .origin = path.string()};
}

}  // namespace

Result<ChatTemplateSource> find_chat_template(const std::filesystem::path& folder,
                                              bool with_tools) {
  std::error_code ignored;
  const auto exists = [&](const std::filesystem::path& path) {
    return std::filesystem::is_regular_file(path, ignored);
  };
  if (with_tools) {
    const std::filesystem::path path = folder / "additional_chat_templates" / "tool_use.jinja";
    if (exists(path)) return read_template(path);
  }
  if (const std::filesystem::path path = folder / "chat_template.jinja"; exists(path))
    return read_template(path);
  for (const char* name : {"chat_template.json", "tokenizer_config.json"}) {
    const std::filesystem::path path = folder / name;
    if (!exists(path)) continue;
    Result<ChatTemplateSource> found = template_of_config(path, with_tools);
    if (found.is_ok() || found.status().code() != StatusCode::kNotFound) return found;
  }
  return Status::not_found("{}: the model has no chat template; give one with --chat-template",
                           folder.string());
}

Result<ChatTemplateSource> find_chat_template(const GgufMetadata& metadata, bool with_tools) {
  const std::string standard = "tokenizer.chat_template";
  const std::string for_tools = fmt::format("{}.{}", standard, kToolTemplate);
  for (const std::string& key : {for_tools, standard}) {
    if ((key == for_tools && !with_tools) || !metadata.has(key)) continue;
    INGOT_TRY(const std::string_view text, metadata.string(key));
    return ChatTemplateSource{.text = std::string(text), .origin = key};
  }
  return Status::not_found("the file has no {}; give a template with --chat-template", standard);
}

}  // namespace ingot
