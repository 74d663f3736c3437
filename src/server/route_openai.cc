// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "server/error_reply.h"
#include "server/generation.h"
#include "server/routes.h"
#include "server/server.h"

namespace ingot {

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
