// SPDX-License-Identifier: Apache-2.0
// The sampling parameters by name: as flags of a command and as `/set` inside a chat, from one
// table.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/sampling_params.h"
#include "tokenizer/tokenizer.h"

namespace ingot {

// What the user gave; everything else stays as the model's makers say.
struct SamplingFlags {
  std::vector<std::pair<std::string, std::string>> given;  // parameter, value
  std::vector<std::string> bad_words;
  std::vector<std::string> dry_breakers;  // "none" alone: no breakers
};

void add_sampling_flags(CLI::App& command, SamplingFlags& flags);
// The model's `defaults` with the given values over them. Without a given seed, a fresh one. Words
// need the tokenizer, which may be null otherwise.
Result<SamplingParams> sampling_of(const SamplingFlags& flags, const SamplingParams& defaults,
                                   const Tokenizer* tokenizer);

// `name` with dashes or underscores ("top_k", "top-k"), or a short form ("temp"). Lists grow.
Status set_sampling(SamplingParams& params, std::string_view name, std::string_view value);
// Every parameter and its value, for `/show`.
std::vector<std::pair<std::string, std::string>> list_sampling(const SamplingParams& params);

}  // namespace ingot
