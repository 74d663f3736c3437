// SPDX-License-Identifier: Apache-2.0
#include "api/openai_prompts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/render_prompt.h"

namespace ingot {
namespace {

using testing::HasSubstr;
using Ids = std::vector<TokenId>;

TEST(TruncatePrompt, KeepsTheLastTokensOrTheFirst) {
  OpenAiRequest request;
  TextRequest text;
  const auto truncated = [&](int64_t context) {
    Ids ids = {1, 2, 3, 4, 5};
    truncate_prompt(request, text, context, ids);
    return ids;
  };
  EXPECT_EQ(truncated(3), (Ids{1, 2, 3, 4, 5}));  // not asked for
  request.truncate_prompt_tokens = 2;
  EXPECT_EQ(truncated(100), (Ids{4, 5}));
  request.truncates_right = true;
  EXPECT_EQ(truncated(100), (Ids{1, 2}));
  request.truncate_prompt_tokens = 7;
  EXPECT_EQ(truncated(100), (Ids{1, 2, 3, 4, 5}));
}

TEST(TruncatePrompt, LeavesRoomForTheAnswerWhenAsManyAsFitAreWanted) {
  OpenAiRequest request{.truncate_prompt_tokens = -1};
  TextRequest text;
  for (const auto& [most, kept] : {std::pair{-1, 3U}, {0, 4U}, {1, 3U}, {3, 1U}, {9, 1U}}) {
    text.max_tokens = most;
    Ids ids = {1, 2, 3, 4, 5};
    EXPECT_TRUE(truncate_prompt(request, text, 4, ids));
    EXPECT_EQ(ids.size(), kept) << most;
    EXPECT_EQ(ids.back(), 5);
  }
}

Result<std::string> rendered(MessagesJson json) {
  static const ChatTemplate kTemplate =
      ChatTemplate::parse(
          "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}</s>{% endfor %}"
          "{% if add_generation_prompt %}<assistant>{% endif %}",
          "test")
          .value();
  return render_messages(kTemplate, TextSide{}, json);
}

TEST(RenderMessages, OpensTheAnswersTurnUnlessToldOtherwise) {
  constexpr std::string_view kMessages = R"([{"role":"user","content":"hi"}])";
  EXPECT_EQ(rendered({.messages = kMessages, .tools = {}, .template_kwargs = {}}).value(),
            "<user>hi</s><assistant>");
  EXPECT_EQ(rendered({.messages = kMessages,
                      .tools = {},
                      .template_kwargs = {},
                      .add_generation_prompt = false})
                .value(),
            "<user>hi</s>");
}

TEST(RenderMessages, TheLastMessageCanBeContinued) {
  const auto continued = [](std::string_view messages) {
    return rendered(
        {.messages = messages, .tools = {}, .template_kwargs = {}, .continue_final_message = true});
  };
  EXPECT_EQ(
      continued(R"([{"role":"user","content":"hi"},{"role":"assistant","content":"Well, hi"}])")
          .value(),
      "<user>hi</s><assistant>Well, hi");
  EXPECT_EQ(continued(R"([{"role":"assistant","content":"Well, "}])").value(), "<assistant>Well,");
  EXPECT_THAT(continued(R"([{"role":"assistant","content":" "}])").status().message(),
              HasSubstr("continue_final_message"));
}

}  // namespace
}  // namespace ingot
