// SPDX-License-Identifier: Apache-2.0
// What the routes that generate text have in common: the model is ours, the prompts become ids, and
// the request goes on as a Generation.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "api/answer_parts.h"
#include "api/answer_writer.h"
#include "api/openai_request.h"
#include "server/admission.h"
#include "server/http_message.h"
#include "server/reply_source.h"

namespace ingot {

class Server;

OpenAiError no_such_model(const Server& server, std::string_view name);

// Checks the model's name and turns the prompts into ids, or says why not.
std::optional<OpenAiError> prepare(Server& server, const HttpRequest& http, OpenAiRequest& request);

// What tells thoughts and calls apart in the answer to a prepared request.
std::unique_ptr<AnswerParts> answer_parts(Server& server, const OpenAiRequest& request);

// `request` has been prepared; the writer may read it (or what it is a part of).
std::unique_ptr<ReplySource> start_generation(Server& server, const HttpRequest& http,
                                              std::unique_ptr<Admission::Permit> permit,
                                              std::shared_ptr<const OpenAiRequest> request,
                                              std::unique_ptr<AnswerWriter> writer);

}  // namespace ingot
