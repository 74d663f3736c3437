// SPDX-License-Identifier: Apache-2.0
#include "server/start_generation.h"

#include <fmt/core.h>

#include <utility>

#include "api/answer_splitter.h"
#include "api/loaded_model.h"
#include "api/openai_prompts.h"
#include "server/generation.h"
#include "server/server.h"

namespace ingot {

OpenAiError no_such_model(const Server& server, std::string_view name) {
  constexpr size_t kShownBytes = 64;
  return {.http_status = 404,
          .message = fmt::format("the model '{}' is not served here; this server has '{}'",
                                 name.substr(0, kShownBytes), server.model_name()),
          .param = "model",
          .code = "model_not_found"};
}

std::optional<OpenAiError> prepare(Server& server, const HttpRequest& http,
                                   OpenAiRequest& request) {
  if (!server.has_model(request.model)) return no_such_model(server, request.model);
  server.apply_key(http, request);
  return encode_prompts(server.engine(), request);
}

std::unique_ptr<AnswerParts> answer_parts(Server& server, const OpenAiRequest& request) {
  return std::make_unique<AnswerSplitter>(
      request.format, server.engine().model().text.tokenizer.get(), !request.streams);
}

std::unique_ptr<ReplySource> start_generation(Server& server, const HttpRequest& http,
                                              std::unique_ptr<Admission::Permit> permit,
                                              std::shared_ptr<const OpenAiRequest> request,
                                              std::unique_ptr<AnswerWriter> writer) {
  return std::make_unique<Generation>(
      GenerationParts{.engine = server.engine(),
                      .metrics = server.metrics(),
                      .request = std::move(request),
                      .writer = std::move(writer),
                      .permit = std::move(permit),
                      .path = http.path,
                      .model = server.model_name(),
                      .keeps_content = server.options().logs_content});
}

}  // namespace ingot
