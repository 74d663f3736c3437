// SPDX-License-Identifier: Apache-2.0
// Renders templates for tests/jinja_differential.py: one JSON object a line in (template and the
// fields of ChatInput), one out ("text", or "code" and "message").
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "tokenizer/chat_template.h"

namespace {

using ingot::Json;

ingot::Result<std::string> render(const Json& request) {
  ingot::ChatInput input;
  input.messages = request.value("messages", Json::array());
  input.tools = request.value("tools", Json());
  input.documents = request.value("documents", Json());
  input.kwargs = request.value("kwargs", Json::object());
  input.add_generation_prompt = request.value("add_generation_prompt", true);
  input.bos_token = "<s>";
  input.eos_token = "</s>";
  input.now = std::chrono::local_days(std::chrono::year(2024) / 7 / 26) + std::chrono::hours(12) +
              std::chrono::minutes(34) + std::chrono::seconds(56);
  INGOT_TRY(const ingot::ChatTemplate chat,
            ingot::ChatTemplate::parse(request.at("template").get<std::string>(), "template"));
  return chat.render(input);
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const ingot::Result<Json> request = ingot::parse_json(line, "request");
    Json answer = Json::object();
    if (!request.is_ok()) {
      answer["code"] = "request";
      answer["message"] = request.status().message();
    } else if (const ingot::Result<std::string> text = render(*request); text.is_ok()) {
      answer["text"] = *text;
    } else {
      answer["code"] = to_string(text.status().code());
      answer["message"] = text.status().message();
    }
    std::cout << ingot::dump_json(answer) << '\n';
  }
  return 0;
}
