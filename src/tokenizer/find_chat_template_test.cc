// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "formats/gguf.h"
#include "formats/gguf_writer.h"
#include "tokenizer/chat_template.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

class FindChatTemplate : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  std::string found(bool with_tools = false) const {
    const Result<ChatTemplateSource> source = find_chat_template(folder_, with_tools);
    return source.is_ok() ? source->text : std::string(to_string(source.status().code()));
  }
  fs::path folder_;
};

TEST_F(FindChatTemplate, PrefersTheFileOfItsOwn) {
  EXPECT_EQ(found(), std::string(to_string(StatusCode::kNotFound)));
  write("tokenizer_config.json", R"({"chat_template": "config"})");
  EXPECT_EQ(found(), "config");
  write("chat_template.json", R"({"chat_template": "json"})");
  EXPECT_EQ(found(), "json");
  write("chat_template.jinja", "jinja");
  EXPECT_EQ(found(), "jinja");
  write("additional_chat_templates/tool_use.jinja", "tools");
  EXPECT_EQ(found(false), "jinja");
  EXPECT_EQ(found(true), "tools");
}

TEST_F(FindChatTemplate, PicksFromAListByName) {
  write(
      "tokenizer_config.json",
      R"({"chat_template": [{"name": "rag", "template": "r"}, {"name": "default", "template": "d"},
                                                       {"name": "tool_use", "template": "t"}]})");
  EXPECT_EQ(found(false), "d");
  EXPECT_EQ(found(true), "t");
}

TEST_F(FindChatTemplate, SaysWhatIsWrongWithABrokenFile) {
  write("tokenizer_config.json", "{");
  EXPECT_EQ(find_chat_template(folder_, false).status().code(), StatusCode::kInvalidData);
  write("tokenizer_config.json", R"({"chat_template": 3})");
  EXPECT_EQ(found(), std::string(to_string(StatusCode::kNotFound)));
  write("chat_template.jinja", std::string(limits::kTemplateBytes + 1, 'x'));
  EXPECT_EQ(find_chat_template(folder_, false).status().code(), StatusCode::kResourceExhausted);
}

TEST(FindChatTemplateInGguf, PicksTheOneForToolsWhereItIsThere) {
  const fs::path path = fs::path(testing::TempDir()) / "find_chat_template_test.gguf";
  const auto found = [&](const GgufWriter& writer, bool with_tools) {
    EXPECT_TRUE(writer.write(path));
    const auto file = GgufFile::open(path);
    EXPECT_TRUE(file) << file.status().message();
    return find_chat_template((*file)->metadata(), with_tools);
  };
  GgufWriter writer;
  EXPECT_EQ(found(writer, true).status().code(), StatusCode::kNotFound);
  writer.set("tokenizer.chat_template", "plain");
  EXPECT_EQ(found(writer, false)->text, "plain");
  EXPECT_EQ(found(writer, true)->text, "plain");
  EXPECT_EQ(found(writer, true)->origin, "tokenizer.chat_template");
  writer.set("tokenizer.chat_template.tool_use", "tools");
  EXPECT_EQ(found(writer, false)->text, "plain");
  EXPECT_EQ(found(writer, true)->text, "tools");
  EXPECT_EQ(found(writer, true)->origin, "tokenizer.chat_template.tool_use");
  GgufWriter wrong;
  wrong.set("tokenizer.chat_template", uint32_t{3});
  EXPECT_EQ(found(wrong, false).status().code(), StatusCode::kInvalidData);
  fs::remove(path);
}

}  // namespace
}  // namespace ingot
