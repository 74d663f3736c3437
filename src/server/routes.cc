// SPDX-License-Identifier: Apache-2.0
// Every path that is answered, and by what. All but the public ones need a key where there are
// keys; metrics unless the operator opens them.
#include "server/routes.h"

#include <array>

#include "server/server.h"

namespace ingot {
namespace {

using enum Route::Access;

constexpr std::array kRoutes = std::to_array<Route>({
    // method, path, access, quick, generation
    {"POST", "/v1/chat/completions", kKey, false, true, chat_completions},
    {"POST", "/v1/completions", kKey, false, true, completions},
    {"GET", "/v1/models", kKey, true, false, list_models},
    {"GET", "/v1/models/*", kKey, true, false, show_model},
    {"POST", "/v1/embeddings", kKey, false, true, embeddings},
    {"POST", "/v1/messages", kKey, false, true, messages},
    {"POST", "/v1/messages/count_tokens", kKey, false, false, count_message_tokens},
    {"POST", "/api/chat", kKey, false, true, ollama_chat},
    {"POST", "/api/generate", kKey, false, true, ollama_generate},
    {"POST", "/api/embed", kKey, false, true, ollama_embed},
    {"POST", "/api/embeddings", kKey, false, true, ollama_embeddings},
    {"GET", "/api/tags", kKey, false, false, ollama_tags},
    {"GET", "/api/ps", kKey, false, false, ollama_ps},
    {"POST", "/api/show", kKey, false, false, ollama_show},
    {"GET", "/api/version", kKey, true, false, ollama_version},
    {"POST", "/tokenize", kKey, false, false, tokenize},
    {"POST", "/detokenize", kKey, false, false, detokenize},
    {"POST", "/apply-template", kKey, false, false, apply_template},
    {"GET", "/tokenizer_info", kKey, false, false, tokenizer_info},
    {"GET", "/props", kKey, false, false, props},
    {"GET", "/openapi.json", kKey, false, false, openapi},
    {"GET", "/", kPublic, true, false, page},
    {"GET", "/health", kPublic, true, false, health},
    {"GET", "/livez", kPublic, true, false, health},
    {"GET", "/readyz", kPublic, true, false, readiness},
    {"GET", "/version", kKey, true, false, version},
    {"GET", "/metrics", kMetrics, true, false, metrics},
});

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

std::string_view to_string(Route::Access access) {
  switch (access) {
    case kPublic:
      return "public";
    case kKey:
      return "key";
    case kMetrics:
      return "metrics";
  }
  return "";
}

}  // namespace ingot
