// SPDX-License-Identifier: Apache-2.0
#include "api/ollama_models.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "api/json_values.h"
#include "api/ollama_request.h"
#include "api/rfc3339.h"
#include "base/limits.h"
#include "blocks/layout.h"
#include "engine/page_key.h"

namespace ingot {
namespace {

constexpr size_t kInfoTextBytes = 4'096;  // longer texts of a GGUF file are licences and templates

// general.file_type of a GGUF file, the mixtures that people know by name.
constexpr std::array kFileTypes = std::to_array<std::pair<int64_t, std::string_view>>({
    {0, "F32"},
    {1, "F16"},
    {2, "Q4_0"},
    {3, "Q4_1"},
    {7, "Q8_0"},
    {8, "Q5_0"},
    {9, "Q5_1"},
    {10, "Q2_K"},
    {11, "Q3_K_S"},
    {12, "Q3_K_M"},
    {13, "Q3_K_L"},
    {14, "Q4_K_S"},
    {15, "Q4_K_M"},
    {16, "Q5_K_S"},
    {17, "Q5_K_M"},
    {18, "Q6_K"},
    {32, "BF16"},
});

// The file's own word for it, or the layout that most of its bytes have.
std::string quantization_of(const Checkpoint& checkpoint) {
  if (const GgufMetadata* metadata = checkpoint.gguf_metadata(); metadata != nullptr) {
    const Result<int64_t> type = metadata->integer("general.file_type");
    const auto name = std::ranges::find(kFileTypes, type.is_ok() ? *type : -1,
                                        [](const auto& pair) { return pair.first; });
    if (name != kFileTypes.end()) return std::string(name->second);
  }
  std::map<std::string_view, uint64_t> bytes;
  for (const TensorEntry* entry : checkpoint.tensors())
    bytes[info(entry->tensor.layout).name] += entry->tensor.bytes.size();
  const auto most =
      std::ranges::max_element(bytes, {}, [](const auto& pair) { return pair.second; });
  return most == bytes.end() ? "unknown" : std::string(most->first);
}

// Of names, shapes and places: tells models apart without reading their weights.
std::string digest_of(const Checkpoint& checkpoint) {
  std::string text = fmt::format("{}\n", checkpoint.size_bytes());
  for (const TensorEntry* entry : checkpoint.tensors()) {
    text += fmt::format("{} {} {} {}\n", entry->name, entry->tensor.shape.to_string(),
                        info(entry->tensor.layout).name, entry->file_offset);
  }
  std::string digest;
  for (const uint8_t byte : sha256(std::as_bytes(std::span(text))).bytes)
    digest += fmt::format("{:02x}", byte);
  return digest;
}

std::string options_of(const SamplingParams& sampling) {
  return fmt::format(
      "temperature {}\ntop_k {}\ntop_p {}\nmin_p {}\nrepeat_penalty {}\nrepeat_last_n {}",
      sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p,
      sampling.repetition_penalty, sampling.repeat_last_n);
}

// A value of a scalar key; null for lists and long texts.
Json info_value(const GgufMetadata& metadata, std::string_view key) {
  if (const auto text = metadata.string(key); text.is_ok())
    return text->size() <= kInfoTextBytes ? Json(std::string(*text)) : Json();
  if (const auto flag = metadata.boolean(key); flag.is_ok()) return *flag;
  if (const auto whole = metadata.integer(key); whole.is_ok()) return *whole;
  if (const auto number = metadata.number(key); number.is_ok()) return *number;
  return {};
}

Json info_of(const LoadedModel& model) {
  const ModelSpec& spec = model.model->spec();
  const std::string& arch = spec.architecture;
  Json values = {{"general.architecture", arch},
                 {"general.parameter_count", model.model->parameters()},
                 {arch + ".block_count", spec.layers.size()},
                 {arch + ".context_length", spec.context},
                 {arch + ".embedding_length", spec.hidden},
                 {arch + ".vocab_size", spec.vocab}};
  if (!spec.layers.empty()) {
    const auto& attention = std::get<AttentionSpec>(spec.layers.front().mixer);
    values[arch + ".attention.head_count"] = attention.heads;
    values[arch + ".attention.head_count_kv"] = attention.kv_heads;
  }
  const GgufMetadata* metadata = model.checkpoint->gguf_metadata();
  if (metadata == nullptr) return values;
  for (const std::string_view key : metadata->keys()) {
    if (key.starts_with("tokenizer.") || values.size() > limits::kRequestMessages) continue;
    if (Json value = info_value(*metadata, key); !value.is_null())
      values[std::string(key)] = std::move(value);
  }
  return values;
}

std::string size_text(int64_t parameters) {
  const auto count = static_cast<double>(parameters);
  if (count >= 1e9) return fmt::format("{:.1f}B", count / 1e9);
  if (count >= 1e6) return fmt::format("{:.2f}M", count / 1e6);
  return fmt::format("{:.2f}K", count / 1e3);
}

Json details(const OllamaModel& model) {
  return {{"parent_model", ""},
          {"format", model.format},
          {"family", model.family},
          {"families", Json::array({model.family})},
          {"parameter_size", size_text(model.parameters)},
          {"quantization_level", model.quantization}};
}

Json capabilities(const OllamaModel& model) {
  Json list = Json::array({"completion"});
  if (model.chat_template.find("tools") != std::string::npos) list.push_back("tools");
  return list;
}

Json entry_of(const OllamaModel& model) {
  return {{"name", model.name},
          {"model", model.name},
          {"modified_at", rfc3339(model.modified)},
          {"size", model.size_bytes},
          {"digest", model.digest},
          {"details", details(model)}};
}

}  // namespace

OllamaModel ollama_model(const LoadedModel& model, std::string_view served, int64_t context,
                         std::chrono::system_clock::time_point modified) {
  return {.name = ollama_name(served),
          .modified = modified,
          .size_bytes = model.checkpoint->size_bytes(),
          .digest = digest_of(*model.checkpoint),
          .format = model.checkpoint->gguf_metadata() != nullptr ? "gguf" : "safetensors",
          .family = model.model->spec().architecture,
          .parameters = model.model->parameters(),
          .quantization = quantization_of(*model.checkpoint),
          .context = context,
          .chat_template = model.text.chat_template ? model.text.chat_template->text : "",
          .options = options_of(model.sampling),
          .info = info_of(model)};
}

Json ollama_tags(std::span<const OllamaModel> models) {
  Json list = Json::array();
  for (const OllamaModel& model : models) {
    Json entry = entry_of(model);
    entry["capabilities"] = capabilities(model);
    list.push_back(std::move(entry));
  }
  return {{"models", std::move(list)}};
}

Json ollama_ps(std::span<const OllamaModel> models) {
  Json list = Json::array();
  for (const OllamaModel& model : models) {
    Json entry = entry_of(model);
    entry.erase("modified_at");
    entry["expires_at"] = "9999-12-31T23:59:59Z";  // it stays
    entry["size_vram"] = 0;
    entry["context_length"] = model.context;
    list.push_back(std::move(entry));
  }
  return {{"models", std::move(list)}};
}

Json ollama_show(const OllamaModel& model) {
  return {{"modelfile", fmt::format("FROM {}\n", model.name)},
          {"parameters", model.options},
          {"template", model.chat_template},
          {"details", details(model)},
          {"model_info", model.info},
          {"capabilities", capabilities(model)},
          {"modified_at", rfc3339(model.modified)}};
}

Result<std::string> ollama_show_name(const Json& body) {
  if (!body.is_object()) return Status::invalid_argument("the body is not an object");
  for (const char* key : {"model", "name"}) {
    const auto found = body.find(key);
    if (found == body.end() || found->is_null()) continue;
    const Result<std::string> name = text_of(*found, limits::kRequestNameBytes);
    if (!name.is_ok()) return Status::invalid_argument("{} {}", key, name.status().message());
    if (!name->empty()) return served_name(*name);
  }
  return Status::invalid_argument("model is missing");
}

}  // namespace ingot
