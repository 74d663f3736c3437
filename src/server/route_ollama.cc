// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "api/loaded_model.h"
#include "api/ollama_models.h"
#include "api/ollama_reply.h"
#include "api/ollama_request.h"
#include "server/error_reply.h"
#include "server/routes.h"
#include "server/server.h"
#include "server/start_generation.h"

namespace ingot {
namespace {

Reply generate(Server& server, const HttpRequest& http, OllamaEndpoint endpoint) {
  auto permit = server.admission().enter(server.key_of(http));
  if (permit == nullptr) return server.too_busy(http.path);
  const LoadedModel& model = server.engine().model();
  auto parsed =
      parse_ollama_text(server.parser(), endpoint, http.body, model.text.chat_template.has_value());
  if (const auto* error = std::get_if<OpenAiError>(&parsed)) return error_reply(http.path, *error);
  auto request = std::make_shared<OllamaRequest>(std::get<OllamaRequest>(std::move(parsed)));
  if (const auto error = prepare(server, http, request->chat))
    return error_reply(http.path, *error);
  if (request->is_load)
    return json_reply(ollama_load_reply(*request, std::chrono::system_clock::now()));
  auto writer = ollama_writer(*request, {.tokenizer = model.text.tokenizer.get()},
                              answer_parts(server, request->chat));
  const std::shared_ptr<const OpenAiRequest> chat(request, &request->chat);
  return start_generation(server, http, std::move(permit), chat, std::move(writer));
}

std::vector<OllamaModel> models(Server& server) {
  std::vector<OllamaModel> found;
  const std::chrono::system_clock::time_point since{std::chrono::seconds(server.created())};
  for (const std::string& name : server.options().model_names)
    found.push_back(ollama_model(server.engine().model(), name, server.engine().context(), since));
  return found;
}

}  // namespace

Reply ollama_chat(Server& server, HttpRequest http) {
  return generate(server, http, OllamaEndpoint::kChat);
}

Reply ollama_generate(Server& server, HttpRequest http) {
  return generate(server, http, OllamaEndpoint::kGenerate);
}

Reply ollama_tags(Server& server, HttpRequest /*http*/) {
  return json_reply(ollama_tags(models(server)));
}

Reply ollama_ps(Server& server, HttpRequest /*http*/) {
  return json_reply(ollama_ps(models(server)));
}

Reply ollama_show(Server& server, HttpRequest http) {
  const Result<Json> body = parse_json(http.body, "the body");
  if (!body.is_ok()) return error_reply(http.path, to_openai_error(body.status()));
  const Result<std::string> name = ollama_show_name(*body);
  if (!name.is_ok()) return error_reply(http.path, to_openai_error(name.status()));
  for (const OllamaModel& model : models(server)) {
    if (served_name(model.name) == *name) return json_reply(ollama_show(model));
  }
  return error_reply(http.path,
                     {.http_status = 404,
                      .message = fmt::format("model '{}' not found", name->substr(0, 64)),
                      .param = {},
                      .code = {}});
}

Reply ollama_version(Server& server, HttpRequest /*http*/) {
  return json_reply({{"version", server.options().version}});
}

}  // namespace ingot
