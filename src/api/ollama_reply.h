// SPDX-License-Identifier: Apache-2.0
// Answers and errors as clients of Ollama read them: one object, or one a line while the answer is
// made. The last says why it ended and how long everything took, in nanoseconds.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "api/answer_parts.h"
#include "api/answer_writer.h"
#include "api/ollama_request.h"
#include "base/json.h"
#include "tokenizer/tokenizer.h"

namespace ingot {

struct OllamaReplyInfo {
  const Tokenizer* tokenizer = nullptr;  // for log-probabilities; outlives the writer
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  std::function<std::chrono::system_clock::time_point()> now = std::chrono::system_clock::now;
};

// For the one answer of a request that is no is_load, streamed if it asks for that. `parts` may be
// null: the answer is text alone.
std::unique_ptr<AnswerWriter> ollama_writer(const OllamaRequest& request, OllamaReplyInfo info,
                                            std::unique_ptr<AnswerParts> parts);

// For a request with is_load: the model is there, that is all.
Json ollama_load_reply(const OllamaRequest& request, std::chrono::system_clock::time_point now);

// {"error": "..."}
Json ollama_error_body(const OpenAiError& error);

}  // namespace ingot
