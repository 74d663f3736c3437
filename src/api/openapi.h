// SPDX-License-Identifier: Apache-2.0
// The server's interface as an OpenAPI 3.1 document, for /openapi.json. Bodies are described by the
// tables that read them, so a field's range stands in one place.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/json.h"

namespace ingot {

// What a route's body is; kNone: it has none.
enum class ApiBody : uint8_t {
  kNone,
  kChat,
  kCompletions,
  kEmbeddings,
  kMessages,
  kCountTokens,
  kOllamaChat,
  kOllamaGenerate,
  kOllamaEmbed,
  kOllamaEmbeddings,
  kOllamaShow,
  kTokenize,
  kDetokenize,
  kApplyTemplate,
};
// Whose shapes replies and errors have.
enum class ApiProtocol : uint8_t { kOpenAi, kAnthropic, kOllama, kServer };

struct ApiRoute {
  std::string_view method;
  std::string_view path;  // a part in braces is a parameter
  ApiProtocol protocol;
  ApiBody body;
  bool is_public;             // needs no key, also where there are keys
  std::string_view streamed;  // the content type of a streamed reply; empty: it is never one
  std::string_view summary;
};

// Every route that is documented.
std::span<const ApiRoute> api_routes();

// The schema of a body.
Json body_schema(ApiBody body);
std::string_view body_name(ApiBody body);  // "ChatRequest"

Json openapi_document(std::string_view version);

}  // namespace ingot
