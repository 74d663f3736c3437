// SPDX-License-Identifier: Apache-2.0
// The oracle's chat templates: every rendering byte-equal to what transformers printed, every
// refusal a refusal. Reads the committed copy, and the whole oracle where it has been unpacked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "tokenizer/chat_template.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = INGOT_SOURCE_DIR;

std::vector<fs::path> oracle_folders() {
  std::vector<fs::path> folders = {kSource / "tests/oracle/chat"};
  if (const fs::path whole = kSource / "build/oracle/chat"; fs::exists(whole))
    folders.push_back(whole);
  return folders;
}

// Now, as the goldens write it: 2024-07-26T12:34:56.
std::chrono::local_seconds parse_time(const std::string& text) {
  const auto number = [&](size_t at, size_t size) { return std::stoi(text.substr(at, size)); };
  const std::chrono::year_month_day date(std::chrono::year(number(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2))));
  return std::chrono::local_days(date) + std::chrono::hours(number(11, 2)) +
         std::chrono::minutes(number(14, 2)) + std::chrono::seconds(number(17, 2));
}

ChatInput input_of(const Json& test, const Json& goldens) {
  ChatInput input;
  input.messages = test["messages"];
  input.tools = test["tools"];
  input.kwargs = test["kwargs"];
  input.add_generation_prompt = test["add_generation_prompt"].get<bool>();
  input.bos_token = goldens["specials"]["bos_token"].get<std::string>();
  input.eos_token = goldens["specials"]["eos_token"].get<std::string>();
  input.now = parse_time(goldens["now"].get<std::string>());
  return input;
}

// raise_exception is a refusal with the template's words; anything else went wrong inside it.
void expect_refusal(const Json& test, const Status& status) {
  if (test["error_type"] == "TemplateError") {
    EXPECT_EQ(status.code(), StatusCode::kRefused);
    EXPECT_EQ(status.message(), test["error"].get<std::string>());
  } else {
    EXPECT_EQ(status.code(), StatusCode::kInvalidData);
    EXPECT_THAT(status.message(), testing::HasSubstr(test["error"].get<std::string>()));
  }
}

TEST(ChatOracle, RendersEveryGoldenToTheByte) {
  for (const fs::path& folder : oracle_folders()) {
    const Result<Json> templates = read_json_file(folder / "templates.json");
    ASSERT_TRUE(templates.is_ok()) << templates.status().message();
    const Result<Json> goldens = read_json_file(folder / "goldens.json");
    ASSERT_TRUE(goldens.is_ok()) << goldens.status().message();
    std::map<std::string, ChatTemplate> parsed;
    for (const auto& [name, text] : templates->items()) {
      Result<ChatTemplate> one = ChatTemplate::parse(text.get<std::string>(), name);
      ASSERT_TRUE(one.is_ok()) << one.status().message();
      parsed.emplace(name, *std::move(one));
    }
    size_t rendered = 0;
    size_t refused = 0;
    for (const Json& test : (*goldens)["cases"]) {
      SCOPED_TRACE(fmt::format("{} {} prompt={}", test["template"].get<std::string>(),
                               test["conversation"].get<std::string>(),
                               test["add_generation_prompt"].get<bool>()));
      const Result<std::string> text =
          parsed.at(test["template"].get<std::string>()).render(input_of(test, *goldens));
      if (test.contains("expected")) {
        ++rendered;
        ASSERT_TRUE(text.is_ok()) << text.status().message();
        EXPECT_EQ(*text, test["expected"].get<std::string>());
      } else {
        ++refused;
        ASSERT_FALSE(text.is_ok()) << *text;
        expect_refusal(test, text.status());
      }
    }
    EXPECT_GE(rendered, 374U) << folder;
    EXPECT_GE(refused, 46U) << folder;
  }
}

}  // namespace
}  // namespace ingot
