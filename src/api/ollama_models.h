// SPDX-License-Identifier: Apache-2.0
// A loaded model as Ollama's clients see it: the bodies of /api/tags, /api/ps and /api/show. No
// path of the server is told.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "api/loaded_model.h"
#include "base/json.h"
#include "base/status.h"

namespace ingot {

struct OllamaModel {
  std::string name;  // "name:tag"
  std::chrono::system_clock::time_point modified;
  uint64_t size_bytes = 0;
  std::string digest;  // 64 hex digits
  std::string format;  // "gguf" or "safetensors"
  std::string family;
  int64_t parameters = 0;
  std::string quantization;  // "Q4_K_M"
  int64_t context = 0;       // tokens that one request can have here
  std::string chat_template;
  std::string options;  // "temperature 0.8\n..."
  Json info;            // GGUF's keys, without those of the tokenizer
};

// `served` is the name that requests ask for, `modified` when the model came here.
OllamaModel ollama_model(const LoadedModel& model, std::string_view served, int64_t context,
                         std::chrono::system_clock::time_point modified);

Json ollama_tags(std::span<const OllamaModel> models);
Json ollama_ps(std::span<const OllamaModel> models);
Json ollama_show(const OllamaModel& model);
// The name that the body of POST /api/show asks for, as served.
Result<std::string> ollama_show_name(const Json& body);

}  // namespace ingot
