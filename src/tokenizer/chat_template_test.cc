// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace ingot {
namespace {

using testing::HasSubstr;

ChatTemplate parsed(const std::string& source) {
  Result<ChatTemplate> result = ChatTemplate::parse(source, "model");
  EXPECT_TRUE(result.is_ok()) << result.status().message();
  return *std::move(result);
}

TEST(ChatTemplate, GivesTheTemplateItsVariables) {
  ChatInput input;
  input.messages = Json::array({{{"role", "user"}, {"content", "Hi"}}});
  input.bos_token = "<s>";
  input.add_generation_prompt = false;
  input.kwargs = {{"mood", "good"}};
  EXPECT_EQ(*parsed("{{ bos_token }}{{ messages[0].content }}{{ add_generation_prompt }}{{ tools "
                    "}}{{ documents is none }}{{ mood }}{{ other is defined }}")
                 .render(input),
            "<s>HiFalseNoneTruegoodFalse");
}

TEST(ChatTemplate, TellsRefusalsFromMistakesAndBudgets) {
  const Status refused = parsed("\n{{ raise_exception('no {} here') }}").render({}).status();
  EXPECT_EQ(refused.code(), StatusCode::kRefused);
  EXPECT_EQ(refused.message(), "no {} here");
  const Status wrong = parsed("\n{{ 1 + 'a' }}").render({}).status();
  EXPECT_EQ(wrong.code(), StatusCode::kInvalidData);
  EXPECT_THAT(wrong.message(), HasSubstr("model: line 2: "));
  const Status endless =
      parsed("{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}")
          .render({})
          .status();
  EXPECT_EQ(endless.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(ChatTemplate::parse("{% if %}", "model").status().code(), StatusCode::kInvalidData);
}

TEST(ChatTemplate, RefusesReservedNamesInKwargs) {
  for (const std::string name : {"messages", "tools", "tokenize", "chat_template", "bos_token",
                                 "raise_exception", "add_generation_prompt"}) {
    ChatInput input;
    input.kwargs = {{name, true}};
    const Status status = parsed("x").render(input).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(status.message(), HasSubstr(name));
  }
  ChatInput input;
  input.kwargs = Json::array();
  EXPECT_EQ(parsed("x").render(input).status().code(), StatusCode::kInvalidArgument);
}

TEST(ChatTemplate, OutputMayGrowWithItsInput) {
  ChatInput input;
  input.messages = Json::array({{{"role", "user"}, {"content", std::string(8 << 20, 'x')}}});
  const Result<std::string> text = parsed("{{ '<' + messages[0].content + '>' }}").render(input);
  ASSERT_TRUE(text.is_ok()) << text.status().message();
  EXPECT_EQ(text->size(), (8U << 20) + 2);
  EXPECT_EQ(
      parsed("{{ messages[0].content }}{{ messages[0].content }}").render(input).status().code(),
      StatusCode::kResourceExhausted);
}

TEST(ChatTemplate, LongConversationsStayWithinTheirBudget) {
  ChatInput input;
  for (int i = 0; i < 20'000; ++i) {
    input.messages.push_back(
        {{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", "message " + std::to_string(i)}});
  }
  const Result<std::string> text = parsed(
                                       "{% for m in messages %}{% if m.role == 'user' or (m.role "
                                       "== 'assistant' and not m.tool_calls) %}"
                                       "{{ '<|im_start|>' + m.role + '\n' + m.content | trim + "
                                       "'<|im_end|>' + '\n' }}{% endif %}{% endfor %}")
                                       .render(input);
  ASSERT_TRUE(text.is_ok()) << text.status().message();
  EXPECT_THAT(*text, HasSubstr("message 19999"));
}

TEST(ChatTemplate, ReplacesInvalidUtf8OfTheInput) {
  ChatInput input;
  input.messages = Json::array({{{"role", "user"}, {"content", "a\xFFz"}}});
  EXPECT_EQ(*parsed("{{ messages[0].content[1:] }}").render(input), "\uFFFDz");
  EXPECT_EQ(ChatTemplate::parse("a\xFF", "model").status().code(), StatusCode::kInvalidData);
}

TEST(ChatTemplate, RendersOnManyThreadsAtOnce) {
  const ChatTemplate shared =
      parsed("{% for m in messages %}{{ m.content | upper }}{{ 'é' * 3 }}{% endfor %}");
  std::vector<std::string> texts(8);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < texts.size(); ++i) {
      threads.emplace_back([&, i] {
        ChatInput input;
        input.messages = Json::array({{{"role", "user"}, {"content", std::string(i, 'a')}}});
        for (int round = 0; round < 50; ++round)
          texts[i] = *shared.render(input);
      });
    }
  }
  for (size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(texts[i], std::string(i, 'A') + "ééé");
}

}  // namespace
}  // namespace ingot
