// SPDX-License-Identifier: Apache-2.0
// An error as the protocol of its path spells it: OpenAI's object, Anthropic's under /v1/messages,
// Ollama's under /api.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "api/openai_error.h"
#include "server/reply_source.h"

namespace ingot {

std::string error_text(std::string_view path, const OpenAiError& error);
std::unique_ptr<ReplySource> error_reply(std::string_view path, const OpenAiError& error,
                                         HttpHeaders headers = {});

std::unique_ptr<ReplySource> json_reply(const Json& body, int status = 200);

}  // namespace ingot
