// SPDX-License-Identifier: Apache-2.0
#include "engine/sampling_logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ingot {

PositionLogprobs position_logprobs(std::span<const float> logits, TokenId id, int best,
                                   Candidates& scratch) {
  PositionLogprobs result{id, std::numeric_limits<float>::quiet_NaN(), {}};
  if (!scratch.start(logits)) return result;
  const double log_sum = std::log(scratch.total().weight) + static_cast<double>(scratch.top());
  const auto logprob = [&](float logit) {
    return static_cast<float>(static_cast<double>(logit) - log_sum);
  };
  result.logprob = logprob(logits[static_cast<size_t>(id)]);
  if (best <= 0) return result;
  scratch.keep_best(static_cast<size_t>(best));
  result.top.reserve(scratch.size());
  for (size_t i = 0; i < scratch.size(); ++i)
    result.top.push_back({scratch.id(i), scratch.logits()[i]});
  std::ranges::sort(result.top, [](const TokenLogprob& a, const TokenLogprob& b) {
    return a.logprob != b.logprob ? a.logprob > b.logprob : a.id < b.id;
  });
  for (TokenLogprob& token : result.top)
    token.logprob = logprob(token.logprob);
  return result;
}

PositionLogprobs position_logprobs(std::span<const float> logits, TokenId id, int best) {
  Candidates scratch;
  return position_logprobs(logits, id, best, scratch);
}

std::optional<TokenId> argmax(std::span<const float> logits) {
  Candidates scratch;
  if (!scratch.start(logits) || scratch.top() == -std::numeric_limits<float>::infinity())
    return std::nullopt;
  return scratch.best();
}

}  // namespace ingot
