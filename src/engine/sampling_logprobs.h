// SPDX-License-Identifier: Apache-2.0
// Log-probabilities of a position, from the model's own logits before any sampling parameter.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/sampler_candidates.h"
#include "ingot/sampling.h"

namespace ingot {

// log softmax of the logits at `id`, and the `best` best. `scratch` holds buffers between calls.
PositionLogprobs position_logprobs(std::span<const float> logits, TokenId id, int best,
                                   Candidates& scratch);
PositionLogprobs position_logprobs(std::span<const float> logits, TokenId id, int best);

// Highest logit; the lowest id wins a tie. NaN, infinity or none: nothing.
std::optional<TokenId> argmax(std::span<const float> logits);

}  // namespace ingot
