// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "api/anthropic_reply.h"
#include "api/anthropic_request.h"
#include "server/error_reply.h"
#include "server/routes.h"
#include "server/server.h"
#include "server/start_generation.h"

namespace ingot {

Reply messages(Server& server, HttpRequest http) {
  auto permit = server.admission().enter(server.key_of(http));
  if (permit == nullptr) return server.too_busy(http.path);
  auto parsed = parse_anthropic_text(server.parser(), AnthropicEndpoint::kMessages, http.body);
  if (const auto* error = std::get_if<OpenAiError>(&parsed)) return error_reply(http.path, *error);
  auto request = std::make_shared<OpenAiRequest>(std::get<OpenAiRequest>(std::move(parsed)));
  if (const auto error = prepare(server, http, *request)) return error_reply(http.path, *error);
  auto writer = anthropic_writer(*request, {.id = "msg_" + http.id, .model = server.model_name()},
                                 answer_parts(server, *request));
  return start_generation(server, http, std::move(permit), std::move(request), std::move(writer));
}

Reply count_message_tokens(Server& server, HttpRequest http) {
  auto parsed = parse_anthropic_text(server.parser(), AnthropicEndpoint::kCountTokens, http.body);
  if (const auto* error = std::get_if<OpenAiError>(&parsed)) return error_reply(http.path, *error);
  const Result<Json> count =
      anthropic_count(server.engine(), std::get<OpenAiRequest>(std::move(parsed)));
  if (!count.is_ok()) return error_reply(http.path, to_openai_error(count.status(), "messages"));
  return json_reply(*count);
}

}  // namespace ingot
