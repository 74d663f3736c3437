// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "api/openai_prompts.h"
#include "api/openai_writer.h"
#include "api/text_engine.h"
#include "server/error_reply.h"
#include "server/generation.h"
#include "server/routes.h"
#include "server/server.h"

namespace ingot {
namespace {

OpenAiError no_such_model(const Server& server, std::string_view name) {
  return {.http_status = 404,
          .message = fmt::format("the model '{}' is not served here; this server has '{}'",
                                 name.substr(0, 64), server.model_name()),
          .param = "model",
          .code = "model_not_found"};
}

Reply generate_openai(Server& server, HttpRequest http, OpenAiEndpoint endpoint) {
  std::unique_ptr<Admission::Permit> permit = server.admission().enter(server.key_of(http));
  if (permit == nullptr) return server.too_busy(http.path);
  auto parsed = server.parser().parse_text(endpoint, http.body);
  if (const auto* error = std::get_if<OpenAiError>(&parsed)) return error_reply(http.path, *error);
  auto request = std::make_unique<OpenAiRequest>(std::get<OpenAiRequest>(std::move(parsed)));
  if (!server.has_model(request->model))
    return error_reply(http.path, no_such_model(server, request->model));
  server.apply_key(http, *request);
  if (const auto error = encode_prompts(server.engine(), *request))
    return error_reply(http.path, *error);
  const bool is_chat = endpoint == OpenAiEndpoint::kChat;
  ReplyInfo info{.id = (is_chat ? "chatcmpl-" : "cmpl-") + http.id,
                 .created = unix_seconds(),
                 .model = server.model_name(),
                 .tokenizer = server.engine().model().text.tokenizer.get()};
  auto writer = make_openai_writer(*request, std::move(info));
  return std::make_unique<Generation>(GenerationParts{.engine = server.engine(),
                                                      .metrics = server.metrics(),
                                                      .request = std::move(request),
                                                      .writer = std::move(writer),
                                                      .permit = std::move(permit),
                                                      .path = http.path});
}

}  // namespace

Reply chat_completions(Server& server, HttpRequest request) {
  return generate_openai(server, std::move(request), OpenAiEndpoint::kChat);
}

Reply completions(Server& server, HttpRequest request) {
  return generate_openai(server, std::move(request), OpenAiEndpoint::kCompletions);
}

Reply list_models(Server& server, HttpRequest /*request*/) {
  Json data = Json::array();
  for (const std::string& name : server.options().model_names) {
    data.push_back({{"id", name},
                    {"object", "model"},
                    {"created", server.created()},
                    {"owned_by", "ingot"},
                    {"root", server.model_name()},
                    {"parent", nullptr},
                    {"max_model_len", server.engine().context()},
                    {"permission", Json::array()}});
  }
  return json_reply({{"object", "list"}, {"data", std::move(data)}});
}

}  // namespace ingot
