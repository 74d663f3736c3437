// SPDX-License-Identifier: Apache-2.0
#include "bench/serve_prompt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ingot {
namespace {

Conversation conversation_of(std::vector<Turn> turns) {
  return {.turns = std::move(turns)};
}

Json body(const RequestForm& form, const Conversation& conversation,
          const std::vector<std::string>& answers = {}) {
  return *parse_json(body_of(form, conversation, answers), "body");
}

RequestForm form_of(PromptForm kind) {
  RequestForm form;
  form.form = kind;
  form.model = "m";
  return form;
}

TEST(ServePrompt, SendsIdsFromTheFirstOn) {
  RequestForm form = form_of(PromptForm::kIds);
  form.first_id = 100;
  const Json sent = body(form, conversation_of({{{0, 5, 7}, 4}}));
  EXPECT_EQ(sent["prompt"], Json({100, 105, 107}));
  EXPECT_EQ(sent["max_tokens"], 4);
  EXPECT_EQ(sent["min_tokens"], 4);
  EXPECT_EQ(sent["ignore_eos"], true);
  EXPECT_EQ(sent["stream_options"]["include_usage"], true);
  EXPECT_EQ(sent["model"], "m");
}

TEST(ServePrompt, LeavesOutWhatTheServerRefuses) {
  RequestForm form = form_of(PromptForm::kIds);
  form.sends_ignore_eos = form.sends_min_tokens = form.sends_usage = false;
  form.extra = std::make_shared<const Json>(
      Json{{"top_p", 0.5}, {"temperature", nullptr}, {"model", "other"}});
  const Json sent = body(form, conversation_of({{{0}, 4}}));
  for (const char* name : {"min_tokens", "ignore_eos", "stream_options", "temperature"})
    EXPECT_FALSE(sent.contains(name)) << name;
  EXPECT_EQ(sent["top_p"], 0.5);
  EXPECT_EQ(sent["model"], "other");
}

TEST(ServePrompt, ReplaysAConversationWithItsRealAnswers) {
  const Conversation talk = conversation_of({{{1, 2, 3, 4, 5}, 8, 3}, {{6, 7}, 8}, {{8}, 8}});
  const Json sent = body(form_of(PromptForm::kMessages), talk, {"first", "second"});
  std::vector<std::string> roles;
  for (const Json& message : sent["messages"])
    roles.push_back(message["role"]);
  EXPECT_EQ(roles,
            (std::vector<std::string>{"system", "user", "assistant", "user", "assistant", "user"}));
  EXPECT_EQ(sent["messages"][2]["content"], "first");
  EXPECT_EQ(sent["messages"][4]["content"], "second");
  EXPECT_FALSE(sent.contains("prompt"));

  // As text, a turn begins with all that was said before.
  const std::string before = body(form_of(PromptForm::kText), talk)["prompt"];
  const std::string after = body(form_of(PromptForm::kText), talk, {" first"})["prompt"];
  EXPECT_TRUE(after.starts_with(before + " first "));
}

TEST(ServePrompt, MakesAsManyWordsAsTheServersCountCallsFor) {
  RequestForm form = form_of(PromptForm::kText);
  form.tokens_per_word = 2;
  const Conversation talk = conversation_of({{std::vector<TokenId>(40, 3), 8}});
  const std::string text = body(form, talk)["prompt"];
  EXPECT_EQ(std::ranges::count(text, ' ') + 1, 20);
  form.tokens_per_word = 1000;
  EXPECT_FALSE(body(form, talk)["prompt"].get<std::string>().empty());
}

TEST(ServePrompt, SharesThePrefixToTheLetter) {
  WorkloadOptions options = default_workload(WorkloadKind::kSharedPrefix);
  options.vocab = 1000;
  const Workload workload = make_workload(options);
  const RequestForm form = form_of(PromptForm::kMessages);
  const Json first = body(form, workload.conversations[0]);
  const Json second = body(form, workload.conversations[1]);
  EXPECT_EQ(first["messages"][0], second["messages"][0]);
  EXPECT_NE(first["messages"][1], second["messages"][1]);
  const Json ids_a = body(form_of(PromptForm::kIds), workload.conversations[0])["prompt"];
  const Json ids_b = body(form_of(PromptForm::kIds), workload.conversations[1])["prompt"];
  ASSERT_EQ(ids_a.size(), static_cast<size_t>(512 + 32));
  EXPECT_TRUE(std::equal(ids_a.begin(), ids_a.begin() + 512, ids_b.begin()));
}

}  // namespace
}  // namespace ingot
