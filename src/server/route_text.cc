// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <utility>

#include "api/tokenize_api.h"
#include "server/error_reply.h"
#include "server/routes.h"
#include "server/server.h"

namespace ingot {
namespace {

Reply told(const HttpRequest& http, const Result<Json>& body) {
  return body.is_ok() ? json_reply(*body) : error_reply(http.path, to_openai_error(body.status()));
}

// The body as JSON, then what `answer` makes of it.
template <class Answer>
Reply answered(const HttpRequest& http, Answer&& answer) {
  const Result<Json> body = parse_json(http.body, "the body");
  return told(http, body.is_ok() ? answer(*body) : body);
}

}  // namespace

Reply tokenize(Server& server, HttpRequest http) {
  return answered(http, [&](const Json& body) { return server.text().tokenize(body); });
}

Reply detokenize(Server& server, HttpRequest http) {
  return answered(http, [&](const Json& body) { return server.text().detokenize(body); });
}

Reply apply_template(Server& server, HttpRequest http) {
  return answered(http, [&](const Json& body) { return server.text().apply_template(body); });
}

Reply tokenizer_info(Server& server, HttpRequest http) {
  return told(http, server.text().tokenizer_info());
}

Reply props(Server& server, HttpRequest /*http*/) {
  return json_reply(server.text().props());
}

}  // namespace ingot
