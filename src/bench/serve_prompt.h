// SPDX-License-Identifier: Apache-2.0
// Turns a turn of the workload into the body of a request. Token ids where the server takes them,
// for then lengths are exact; else words, as many as the server's own count calls for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "bench/workload.h"

namespace ingot {

enum class PromptForm : uint8_t {
  kIds,       // /v1/completions with a list of ids; one turn only
  kText,      // /v1/completions with words
  kMessages,  // /v1/chat/completions; the shared prefix is the system message
};

// How this server wants to be asked. Immutable while a run lasts.
struct RequestForm {
  PromptForm form = PromptForm::kIds;
  std::string model;
  TokenId first_id = 0;        // added to the workload's ids, which begin at 0
  double tokens_per_word = 1;  // of words_of(), as the server counts
  bool sends_ignore_eos = true;
  bool sends_min_tokens = true;
  bool sends_usage = true;            // stream_options
  std::shared_ptr<const Json> extra;  // an object that is merged into every body; may be null
};

// The body that asks for turn answers.size(), with the turns before it and their answers.
std::string body_of(const RequestForm& form, const Conversation& conversation,
                    const std::vector<std::string>& answers);

// Common words, one per id, separated by spaces.
std::string words_of(const TokenId* ids, size_t count);

}  // namespace ingot
