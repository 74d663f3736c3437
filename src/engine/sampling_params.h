// SPDX-License-Identifier: Apache-2.0
// What SamplingParams (ingot/sampling.h) may hold, and the names of the stages. Text never gets
// here: words are token ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ingot/sampling.h"

namespace ingot {

// An out-of-range value is an error that names the field and its range.
Status validate(const SamplingParams& params);
// The same, and that every token id is in [0, vocab).
Status validate(const SamplingParams& params, int64_t vocab);

// Whether `id` ends an answer: a stop id, or one of the model's ends unless ignored.
bool is_stop(const SamplingParams& params, TokenId id);
// No randomness and no cuts: the most likely token.
bool is_greedy(const SamplingParams& params);

const std::vector<SamplerStage>& default_stages();
// "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature", any part in any order.
Result<std::vector<SamplerStage>> parse_stages(std::string_view names);
// The same in letters: e d s k y p m x t.
Result<std::vector<SamplerStage>> parse_stage_letters(std::string_view letters);
std::string to_string(const std::vector<SamplerStage>& stages);

}  // namespace ingot
