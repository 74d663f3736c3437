// SPDX-License-Identifier: Apache-2.0
#include "engine/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/random.h"

namespace ingot {
namespace {

template <class T>
Status check_range(const char* field, T value, T low, T high) {
  if (value >= low && value <= high) return Status::ok();  // false for NaN too
  return Status::invalid_argument("{} is {} but must be in [{}, {}]", field, value, low, high);
}

}  // namespace

Status validate(const SamplingParams& params) {
  INGOT_TRY(check_range("temperature", params.temperature, 0.0F, 100.0F));
  INGOT_TRY(check_range("top_k", params.top_k, 0, std::numeric_limits<int32_t>::max()));
  INGOT_TRY(check_range("top_p", params.top_p, 0.0F, 1.0F));
  INGOT_TRY(check_range("min_p", params.min_p, 0.0F, 1.0F));
  INGOT_TRY(check_range("repetition_penalty", params.repetition_penalty, 1e-3F, 1e3F));
  INGOT_TRY(
      check_range("repeat_last_n", params.repeat_last_n, -1, std::numeric_limits<int32_t>::max()));
  INGOT_TRY(check_range("presence_penalty", params.presence_penalty, -100.0F, 100.0F));
  return check_range("frequency_penalty", params.frequency_penalty, -100.0F, 100.0F);
}

std::optional<TokenId> argmax(std::span<const float> logits) {
  size_t best = 0;
  bool is_finite = !logits.empty();
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) is_finite = false;
    if (logits[i] > logits[best]) best = i;
  }
  if (!is_finite) return std::nullopt;
  return static_cast<TokenId>(best);
}

PositionLogprobs position_logprobs(std::span<const float> logits, TokenId id, int best) {
  const float top = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits)
    sum += std::exp(static_cast<double>(logit - top));
  const double log_sum = std::log(sum) + top;
  const auto logprob = [&](TokenId token) {
    return static_cast<float>(logits[static_cast<size_t>(token)] - log_sum);
  };
  PositionLogprobs result{id, logprob(id), {}};
  const size_t count = std::min(static_cast<size_t>(std::max(best, 0)), logits.size());
  if (count == 0) return result;
  std::vector<TokenId> order(logits.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<TokenId>(i);
  const auto is_better = [&](TokenId a, TokenId b) {
    const float left = logits[static_cast<size_t>(a)];
    const float right = logits[static_cast<size_t>(b)];
    return left != right ? left > right : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(),
                    is_better);
  for (size_t i = 0; i < count; ++i)
    result.top.push_back({order[i], logprob(order[i])});
  return result;
}

void Sampler::penalize(std::span<const TokenId> history) {
  const bool is_off = params_.repetition_penalty == 1 && params_.presence_penalty == 0 &&
                      params_.frequency_penalty == 0;
  if (is_off || params_.repeat_last_n == 0) return;
  if (params_.repeat_last_n > 0 && history.size() > static_cast<size_t>(params_.repeat_last_n)) {
    history = history.last(static_cast<size_t>(params_.repeat_last_n));
  }
  std::vector<TokenId> seen(history.begin(), history.end());
  std::ranges::sort(seen);
  for (size_t i = 0; i < seen.size();) {
    size_t end = i;
    while (end < seen.size() && seen[end] == seen[i])
      ++end;
    float& logit = logits_[static_cast<size_t>(seen[i])];
    logit = logit > 0 ? logit / params_.repetition_penalty : logit * params_.repetition_penalty;
    logit -= params_.presence_penalty + params_.frequency_penalty * static_cast<float>(end - i);
    i = end;
  }
}

Result<TokenId> Sampler::sample(std::span<const float> logits, std::span<const TokenId> history,
                                uint64_t position) {
  const auto not_finite = [] {
    return Status::internal("the model produced logits that are not numbers");
  };
  logits_.assign(logits.begin(), logits.end());
  penalize(history);
  const std::optional<TokenId> greedy = argmax(logits_);
  if (!greedy) return not_finite();
  if (params_.temperature == 0 || params_.top_k == 1) return *greedy;

  candidates_.clear();
  for (size_t i = 0; i < logits_.size(); ++i)
    candidates_.push_back({logits_[i], static_cast<TokenId>(i)});
  const auto is_better = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  if (params_.top_k > 0 && candidates_.size() > static_cast<size_t>(params_.top_k)) {
    std::ranges::nth_element(candidates_, candidates_.begin() + params_.top_k, is_better);
    candidates_.resize(static_cast<size_t>(params_.top_k));
  }
  std::ranges::sort(candidates_, is_better);

  const float top = candidates_.front().logit;
  if (!std::isfinite(top)) return not_finite();
  double total = 0;
  for (const Candidate& candidate : candidates_)
    total += std::exp(static_cast<double>(candidate.logit - top));
  size_t kept = 0;
  double cumulated = 0;
  for (const Candidate& candidate : candidates_) {
    const double weight = std::exp(static_cast<double>(candidate.logit - top));
    if (kept > 0 && (weight < params_.min_p || cumulated >= params_.top_p * total)) break;
    cumulated += weight;
    ++kept;
  }
  candidates_.resize(kept);

  total = 0;
  for (const Candidate& candidate : candidates_) {
    total += std::exp(static_cast<double>(candidate.logit - top) / params_.temperature);
  }
  double left = uniform(params_.seed, position) * total;
  for (const Candidate& candidate : candidates_) {
    left -= std::exp(static_cast<double>(candidate.logit - top) / params_.temperature);
    if (left < 0) return candidate.id;
  }
  return candidates_.back().id;
}

}  // namespace ingot
