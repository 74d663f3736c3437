// SPDX-License-Identifier: Apache-2.0
#include "engine/sampler_stages.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace ingot {
namespace {

constexpr double kLeastTemperature = 1e-5;

// In nats, of the distribution as it stands.
double entropy(const WeightSums& sums) {
  return std::log(sums.weight) - sums.exponent / sums.weight;
}

}  // namespace

bool is_cut(SamplerStage stage) {
  return stage != SamplerStage::kPenalties && stage != SamplerStage::kDry;
}

void cut_top_n_sigma(float sigmas, Candidates& candidates) {
  if (sigmas <= 0 || candidates.size() < 2) return;
  const LogitMoments about_top = candidates.moments(candidates.top());
  const auto count = static_cast<double>(about_top.count);
  const auto mean =
      static_cast<float>(static_cast<double>(candidates.top()) + about_top.sum / count);
  const double variance = candidates.moments(mean).squares / count;
  const double reach = static_cast<double>(sigmas) * std::sqrt(variance);
  candidates.keep_from(static_cast<float>(static_cast<double>(candidates.top()) - reach));
}

void cut_top_k(int32_t count, Candidates& candidates) {
  if (count > 0) candidates.keep_best(static_cast<size_t>(count));
}

void cut_typical_p(float share, std::vector<float>& keys, Candidates& candidates) {
  if (share >= 1 || candidates.size() < 2) return;
  const WeightSums sums = candidates.total();
  // -log p - H is log(sum) - a - H, with H = log(sum) - E[a].
  const float expected =
      std::clamp(static_cast<float>(sums.exponent / sums.weight), kLowestExponent, 0.0F);
  if (keys.size() < candidates.size()) keys.resize(candidates.size());
  const std::span<const float> logits = candidates.logits();
  const float top = candidates.top();
  const float scale = candidates.scale();
  for (size_t i = 0; i < logits.size(); ++i) {
    const float exponent = std::max((logits[i] - top) * scale, kLowestExponent);
    keys[i] = -std::fabs(expected - exponent);
  }
  candidates.keep_by_keys(std::span(keys).first(logits.size()), kLowestExponent,
                          static_cast<double>(share));
}

void cut_top_p(float share, Candidates& candidates) {
  if (share < 1) candidates.keep_nucleus(static_cast<double>(share));
}

void cut_min_p(float share, Candidates& candidates) {
  if (share <= 0) return;
  const double reach =
      std::log(static_cast<double>(share)) / static_cast<double>(candidates.scale());
  candidates.keep_from(static_cast<float>(static_cast<double>(candidates.top()) + reach));
}

void cut_xtc(float threshold, Candidates& candidates) {
  if (threshold > 0.5F || candidates.size() < 2) return;
  const double least = candidates.total().weight * static_cast<double>(threshold);
  const std::span<const float> weights = candidates.weights();
  const std::span<const float> logits = candidates.logits();
  Cut cut{kInfinity, 0};
  size_t likely = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0 || static_cast<double>(weights[i]) < least) continue;
    ++likely;
    if (logits[i] < cut.key) cut = {logits[i], 0};
    if (logits[i] == cut.key) ++cut.ties;
  }
  if (likely > 1) candidates.remove_above(cut);
}

void apply_temperature(const SamplingParams& params, Candidates& candidates) {
  auto temperature = static_cast<double>(params.temperature);
  if (params.dynatemp_range > 0) {
    if (candidates.size() < 2) return;
    const auto range = static_cast<double>(params.dynatemp_range);
    const double low = std::max(0.0, temperature - range);
    const double high = temperature + range;
    const double largest = std::log(static_cast<double>(candidates.size()));
    const double share = std::clamp(entropy(candidates.total()) / largest, 0.0, 1.0);
    temperature =
        low + (high - low) * std::pow(share, static_cast<double>(params.dynatemp_exponent));
  }
  if (temperature < kLeastTemperature) {
    candidates.keep({candidates.top(), 1});
  } else if (temperature != 1) {
    candidates.multiply_scale(1 / temperature);
  }
}

void cut_mirostat(double mu, Candidates& candidates) {
  const double lowest_log_p = -mu * std::numbers::ln2;
  const double floor =
      static_cast<double>(candidates.top()) + (std::log(candidates.total().weight) + lowest_log_p) /
                                                  static_cast<double>(candidates.scale());
  if (floor > static_cast<double>(candidates.top())) {
    candidates.keep({candidates.top(), 1});
  } else {
    candidates.keep_from(static_cast<float>(floor));
  }
}

}  // namespace ingot
