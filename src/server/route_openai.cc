// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "api/loaded_model.h"
#include "api/openai_writer.h"
#include "server/error_reply.h"
#include "server/routes.h"
#include "server/server.h"
#include "server/start_generation.h"

namespace ingot {
namespace {

Reply generate(Server& server, const HttpRequest& http, OpenAiEndpoint endpoint) {
  auto permit = server.admission().enter(server.key_of(http));
  if (permit == nullptr) return server.too_busy(http.path);
  auto parsed = server.parser().parse_text(endpoint, http.body);
  if (const auto* error = std::get_if<OpenAiError>(&parsed)) return error_reply(http.path, *error);
  auto request = std::make_shared<OpenAiRequest>(std::get<OpenAiRequest>(std::move(parsed)));
  if (const auto error = prepare(server, http, *request)) return error_reply(http.path, *error);
  ReplyInfo info{.id = (endpoint == OpenAiEndpoint::kChat ? "chatcmpl-" : "cmpl-") + http.id,
                 .created = unix_seconds(),
                 .model = server.model_name(),
                 .tokenizer = server.engine().model().text.tokenizer.get()};
  auto writer = make_openai_writer(*request, std::move(info));
  return start_generation(server, http, std::move(permit), std::move(request), std::move(writer));
}

Json model_object(Server& server, const std::string& name) {
  return {{"id", name},
          {"object", "model"},
          {"created", server.created()},
          {"owned_by", "ingot"},
          {"root", server.model_name()},
          {"parent", nullptr},
          {"max_model_len", server.engine().context()},
          {"permission", Json::array()},
          {"meta", {{"n_vocab", server.parser().defaults().vocab}}}};
}

}  // namespace

Reply chat_completions(Server& server, HttpRequest request) {
  return generate(server, request, OpenAiEndpoint::kChat);
}

Reply completions(Server& server, HttpRequest request) {
  return generate(server, request, OpenAiEndpoint::kCompletions);
}

Reply list_models(Server& server, HttpRequest /*request*/) {
  Json data = Json::array();
  for (const std::string& name : server.options().model_names)
    data.push_back(model_object(server, name));
  return json_reply({{"object", "list"}, {"data", std::move(data)}});
}

Reply show_model(Server& server, HttpRequest request) {
  const std::string name = request.path.substr(std::string_view("/v1/models/").size());
  if (server.has_model(name)) return json_reply(model_object(server, name));
  return error_reply(request.path, no_such_model(server, name));
}

}  // namespace ingot
