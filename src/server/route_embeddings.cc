// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "api/embeddings_writer.h"
#include "api/loaded_model.h"
#include "api/ollama_request.h"
#include "server/error_reply.h"
#include "server/routes.h"
#include "server/server.h"
#include "server/start_generation.h"

namespace ingot {
namespace {

// Both live until the reply has been made.
struct Embeddings {
  EmbeddingsRequest asked;
  OpenAiRequest prompts;
};

Reply embed(Server& server, const HttpRequest& http, EmbeddingsEndpoint endpoint) {
  auto permit = server.admission().enter(server.key_of(http));
  if (permit == nullptr) return server.too_busy(http.path);
  const ModelSpec& spec = server.engine().model().model->spec();
  auto parsed =
      parse_embeddings_text(endpoint, http.body, {.vocab = spec.vocab, .dimensions = spec.hidden});
  if (const auto* error = std::get_if<OpenAiError>(&parsed)) return error_reply(http.path, *error);
  auto both = std::make_shared<Embeddings>();
  both->asked = std::get<EmbeddingsRequest>(std::move(parsed));
  const std::string model =
      endpoint == EmbeddingsEndpoint::kOpenAi ? both->asked.model : served_name(both->asked.model);
  if (!server.has_model(model)) return error_reply(http.path, no_such_model(server, model));
  if (const auto error = embedding_prompts(server.engine(), both->asked, server.options().pooling,
                                           both->prompts)) {
    return error_reply(http.path, *error);
  }
  server.apply_key(http, both->prompts);
  auto writer = embeddings_writer(both->asked, server.model_name());
  const std::shared_ptr<const OpenAiRequest> prompts(both, &both->prompts);
  return start_generation(server, http, std::move(permit), prompts, std::move(writer));
}

}  // namespace

Reply embeddings(Server& server, HttpRequest http) {
  return embed(server, http, EmbeddingsEndpoint::kOpenAi);
}

Reply ollama_embed(Server& server, HttpRequest http) {
  return embed(server, http, EmbeddingsEndpoint::kOllama);
}

Reply ollama_embeddings(Server& server, HttpRequest http) {
  return embed(server, http, EmbeddingsEndpoint::kOllamaOne);
}

}  // namespace ingot
