// SPDX-License-Identifier: Apache-2.0
// The body of POST /v1/embeddings (OpenAI), /api/embed or /api/embeddings (Ollama): what to embed
// and how the vectors are to be told. Pooling and computing are the engine's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/openai_error.h"
#include "base/json.h"
#include "base/limits.h"
#include "ingot/sampling.h"

namespace ingot {

namespace limits {
inline constexpr size_t kEmbeddingInputs = 2'048;  // OpenAI's
}  // namespace limits

enum class EmbeddingsEndpoint : uint8_t {
  kOpenAi,
  kOllama,     // /api/embed
  kOllamaOne,  // /api/embeddings: one text, one vector
};

// An input is a text or token ids: one of the lists is empty, the other is not.
struct EmbeddingsRequest {
  EmbeddingsEndpoint endpoint = EmbeddingsEndpoint::kOpenAi;
  std::string model = {};  // as asked for
  std::vector<std::string> texts = {};
  std::vector<std::vector<TokenId>> ids = {};
  int64_t dimensions = 0;  // of the vectors told; 0: all
  bool is_base64 = false;
  bool truncates = false;  // inputs past the context lose their end; else they are refused
  std::vector<std::string> warnings = {};

  size_t inputs() const { return texts.size() + ids.size(); }
};

// What a body is read against.
struct EmbeddingsLimits {
  int64_t vocab = 0;
  int64_t dimensions = 0;  // of the model's vectors
};

std::variant<EmbeddingsRequest, OpenAiError> parse_embeddings(EmbeddingsEndpoint endpoint,
                                                              const Json& body,
                                                              const EmbeddingsLimits& model);
std::variant<EmbeddingsRequest, OpenAiError> parse_embeddings_text(EmbeddingsEndpoint endpoint,
                                                                   std::string_view body,
                                                                   const EmbeddingsLimits& model);

}  // namespace ingot
