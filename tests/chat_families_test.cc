// SPDX-License-Identifier: Apache-2.0
// Templates in the styles of today's model families (tests/chat_families/*.jinja), over
// conversations with tools, images, documents and thoughts: byte-equal to Jinja2
// (tests/make_chat_families.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "base/json.h"
#include "tokenizer/chat_template.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(INGOT_SOURCE_DIR) / "tests/chat_families";

std::map<std::string, ChatTemplate> parse_templates() {
  std::map<std::string, ChatTemplate> parsed;
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".jinja") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    Result<ChatTemplate> one = ChatTemplate::parse(text.str(), entry.path().stem().string());
    EXPECT_TRUE(one.is_ok()) << one.status().message();
    if (one.is_ok()) parsed.emplace(entry.path().stem().string(), *std::move(one));
  }
  return parsed;
}

ChatInput input_of(const Json& document, const Json& test) {
  const Json& setting = document["settings"][test["setting"].get<size_t>()];
  ChatInput input;
  input.messages = document["conversations"][test["conversation"].get<std::string>()];
  if (setting.value("tools", false)) input.tools = document["tools"];
  if (setting.value("documents", false)) input.documents = document["documents"];
  input.kwargs = setting.value("kwargs", Json::object());
  input.add_generation_prompt = setting["prompt"].get<bool>();
  input.bos_token = "<s>";
  input.eos_token = "</s>";
  input.now = std::chrono::local_days(std::chrono::year(2024) / 7 / 26) + std::chrono::hours(12) +
              std::chrono::minutes(34) + std::chrono::seconds(56);
  return input;
}

TEST(ChatFamilies, RenderAsJinja2Does) {
  const Result<Json> document = read_json_file(kFolder / "expected.json");
  ASSERT_TRUE(document.is_ok()) << document.status().message();
  const std::map<std::string, ChatTemplate> templates = parse_templates();
  ASSERT_GE(templates.size(), 20U);
  for (const Json& test : (*document)["cases"]) {
    SCOPED_TRACE(dump_json({test["template"], test["conversation"], test["setting"]}));
    const Result<std::string> text =
        templates.at(test["template"].get<std::string>()).render(input_of(*document, test));
    if (test.contains("expected")) {
      ASSERT_TRUE(text.is_ok()) << text.status().message();
      EXPECT_EQ(*text, test["expected"].get<std::string>());
    } else if (test["refused"].get<bool>()) {
      EXPECT_EQ(text.status().code(), StatusCode::kRefused);
      EXPECT_EQ(text.status().message(), test["error"].get<std::string>());
    } else {
      EXPECT_EQ(text.status().code(), StatusCode::kInvalidData);
      EXPECT_THAT(text.status().message(), testing::HasSubstr(test["error"].get<std::string>()));
    }
  }
}

}  // namespace
}  // namespace ingot
