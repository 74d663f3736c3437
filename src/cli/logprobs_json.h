// SPDX-License-Identifier: Apache-2.0
// Log-probabilities as `generate --json` prints them.
#pragma once

#include <optional>
#include <span>

#include "base/json.h"
#include "engine/sampling.h"

namespace ingot {

// {"id", "logprob", "top": [{"id", "logprob"}, ...]}; numbers survive a round trip.
Json to_json(const PositionLogprobs& position);
Json to_json(std::span<const PositionLogprobs> positions);
// An empty position (the first of a prompt) is null.
Json to_json(std::span<const std::optional<PositionLogprobs>> positions);

}  // namespace ingot
