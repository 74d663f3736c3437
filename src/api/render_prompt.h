// SPDX-License-Identifier: Apache-2.0
// Messages become the text that a model is prompted with.
#pragma once

#include <string>
#include <string_view>

#include "api/text_side.h"
#include "base/json.h"
#include "base/status.h"
#include "tokenizer/chat_template.h"

namespace ingot {

bool has_role(const Json& message, std::string_view role);

// One prompt for `messages` (a system message may come first): the template's, or the plain form
// when `chat_template` is null. A template that refuses a system message gets it as part of the
// first user message instead.
Result<std::string> render_chat(const ChatTemplate* chat_template, const TextSide& text,
                                const Json& messages);

// As they come from outside, each JSON text; empty: none.
struct MessagesJson {
  std::string_view messages;
  std::string_view tools;
  std::string_view template_kwargs;
  bool add_generation_prompt = true;
  // The prompt ends with the last message's content, so that the answer goes on with it.
  bool continue_final_message = false;
};
// kInvalidArgument names the field that is no JSON; a template's refusal stays kRefused.
Result<std::string> render_messages(const ChatTemplate& chat_template, const TextSide& text,
                                    const MessagesJson& json);

}  // namespace ingot
