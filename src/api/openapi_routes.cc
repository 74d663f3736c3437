// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "api/openapi.h"

namespace ingot {
namespace {

using enum ApiProtocol;

constexpr std::string_view kEvents = "text/event-stream";
constexpr std::string_view kLines = "application/x-ndjson";

// clang-format off
constexpr std::array kRoutes = std::to_array<ApiRoute>({
    {"POST", "/v1/chat/completions", kOpenAi, ApiBody::kChat, false, kEvents, "Answer a conversation"},
    {"POST", "/v1/completions", kOpenAi, ApiBody::kCompletions, false, kEvents, "Continue a text"},
    {"POST", "/v1/embeddings", kOpenAi, ApiBody::kEmbeddings, false, "", "Turn texts into vectors"},
    {"GET", "/v1/models", kOpenAi, ApiBody::kNone, false, "", "List the models"},
    {"GET", "/v1/models/{model}", kOpenAi, ApiBody::kNone, false, "", "Describe a model"},
    {"POST", "/v1/messages", kAnthropic, ApiBody::kMessages, false, kEvents, "Answer a conversation, Anthropic's form"},
    {"POST", "/v1/messages/count_tokens", kAnthropic, ApiBody::kCountTokens, false, "", "Count the tokens of a conversation"},
    {"POST", "/api/chat", kOllama, ApiBody::kOllamaChat, false, kLines, "Answer a conversation, Ollama's form"},
    {"POST", "/api/generate", kOllama, ApiBody::kOllamaGenerate, false, kLines, "Answer a prompt, Ollama's form"},
    {"POST", "/api/embed", kOllama, ApiBody::kOllamaEmbed, false, "", "Turn texts into vectors, Ollama's form"},
    {"POST", "/api/embeddings", kOllama, ApiBody::kOllamaEmbeddings, false, "", "Turn a text into a vector, Ollama's old form"},
    {"GET", "/api/tags", kOllama, ApiBody::kNone, false, "", "List the models, Ollama's form"},
    {"GET", "/api/ps", kOllama, ApiBody::kNone, false, "", "List the loaded models, Ollama's form"},
    {"POST", "/api/show", kOllama, ApiBody::kOllamaShow, false, "", "Describe a model, Ollama's form"},
    {"GET", "/api/version", kOllama, ApiBody::kNone, false, "", "The version, Ollama's form"},
    {"POST", "/tokenize", kOpenAi, ApiBody::kTokenize, false, "", "Turn text into token ids"},
    {"POST", "/detokenize", kOpenAi, ApiBody::kDetokenize, false, "", "Turn token ids into text"},
    {"POST", "/apply-template", kOpenAi, ApiBody::kApplyTemplate, false, "", "Turn messages into a prompt"},
    {"GET", "/tokenizer_info", kOpenAi, ApiBody::kNone, false, "", "Describe the tokenizer"},
    {"GET", "/props", kOpenAi, ApiBody::kNone, false, "", "The server's properties, llama-server's form"},
    {"GET", "/health", kServer, ApiBody::kNone, true, "", "Whether the engine moves"},
    {"GET", "/livez", kServer, ApiBody::kNone, true, "", "Whether the engine moves"},
    {"GET", "/readyz", kServer, ApiBody::kNone, true, "", "Whether requests are taken"},
    {"GET", "/metrics", kServer, ApiBody::kNone, false, "", "Metrics for Prometheus"},
    {"GET", "/version", kServer, ApiBody::kNone, false, "", "The version"},
    {"GET", "/openapi.json", kServer, ApiBody::kNone, false, "", "This document"},
});
// clang-format on

}  // namespace

std::span<const ApiRoute> api_routes() {
  return kRoutes;
}

}  // namespace ingot
