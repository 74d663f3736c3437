// SPDX-License-Identifier: Apache-2.0
// Calibration text becomes samples: windows of tokens, spread evenly over the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/tokenizer.h"

namespace ingot {

struct SampleOptions {
  int64_t samples = 128;  // at most
  int64_t length = 512;   // tokens of each, bos included
};

// Prose, dialogue, code, tables and a few languages: what is used where nobody gives a text.
std::string_view default_calibration_text();

// The documents of a file: one text, or of .jsonl what each line has under "text" (or "prompt" and
// "completion", or the contents of "messages"), blank lines aside. `name` is for messages.
Result<std::vector<std::string>> calibration_documents(std::string_view content,
                                                       std::string_view name);

// Fewer than asked where the text is short; an error where it does not fill one window of at least
// eight tokens.
Result<std::vector<std::vector<TokenId>>> make_samples(const Tokenizer& tokenizer,
                                                       const std::vector<std::string>& documents,
                                                       const SampleOptions& options);

}  // namespace ingot
