// SPDX-License-Identifier: Apache-2.0
#include "engine/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/random.h"
#include "engine/sampler_stages.h"

namespace ingot {
namespace {

template <class T>
void sort_unique(std::vector<T>& list) {
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

std::shared_ptr<const SamplingParams> prepare(SamplingParams params) {
  sort_unique(params.allowed_token_ids);
  sort_unique(params.dry_breakers);
  if (params.stages.empty()) params.stages = default_stages();
  return std::make_shared<const SamplingParams>(std::move(params));
}

// Greedy and mirostat choose in their own way: of the stages, only those before the cuts matter.
}  // namespace

Sampler::Sampler(SamplingParams params, uint32_t choice)
    : params_(prepare(std::move(params))),
      choice_(choice),
      state_{.mirostat_mu = 2 * static_cast<double>(params_->mirostat_tau)} {}

Sampler Sampler::with_choice(uint32_t choice) const {
  Sampler fork = *this;
  fork.choice_ = choice;
  return fork;
}

void Sampler::run_stage(SamplerStage stage, const SequenceView& sequence, uint64_t position,
                        SamplerScratch& scratch) const {
  const SamplingParams& params = *params_;
  Candidates& candidates = scratch.candidates;
  switch (stage) {
    case SamplerStage::kPenalties:
      return apply_penalties(params, sequence, scratch.penalties, candidates);
    case SamplerStage::kDry:
      return apply_dry(params, sequence, scratch.penalties, candidates);
    case SamplerStage::kTopNSigma:
      return cut_top_n_sigma(params.top_n_sigma, candidates);
    case SamplerStage::kTopK:
      return cut_top_k(params.top_k, candidates);
    case SamplerStage::kTypicalP:
      return cut_typical_p(params.typical_p, scratch.keys, candidates);
    case SamplerStage::kTopP:
      return cut_top_p(params.top_p, candidates);
    case SamplerStage::kMinP:
      return cut_min_p(params.min_p, candidates);
    case SamplerStage::kXtc: {
      if (params.xtc_probability <= 0) return;
      const uint64_t seed = stream_seed(params.seed, choice_, RandomUse::kXtc);
      const bool is_on = uniform(seed, position) < static_cast<double>(params.xtc_probability);
      if (is_on) cut_xtc(params.xtc_threshold, candidates);
      return;
    }
    case SamplerStage::kTemperature:
      return apply_temperature(params, candidates);
  }
}

// Leaves the candidates to draw from; greedy leaves one.
Status Sampler::run_chain(std::span<const float> logits, const SequenceView& sequence,
                          uint64_t position, SamplerScratch& scratch,
                          std::span<const uint32_t> allowed_mask) const {
  Candidates& candidates = scratch.candidates;
  if (!candidates.start(logits) || candidates.top() == -kInfinity)
    return Status::internal("the model produced logits that are not finite numbers");
  if (!allowed_mask.empty()) {
    if (allowed_mask.size() * 32 < logits.size())
      return Status::internal("the token mask is shorter than the vocabulary");
    candidates.keep_allowed(allowed_mask);
  }
  apply_bans(*params_, sequence, candidates);
  if (!params_->allowed_token_ids.empty()) candidates.keep_ids(params_->allowed_token_ids);
  if (candidates.top() == -kInfinity) {
    return Status::invalid_argument(
        "no token is left to choose: biases, bad words, min_tokens or the grammar ban them all");
  }
  const bool is_own_way = is_greedy(*params_) || params_->mirostat != 0;
  for (const SamplerStage stage : params_->stages)
    if (!is_own_way || !is_cut(stage)) run_stage(stage, sequence, position, scratch);
  if (is_greedy(*params_)) return Status::ok();
  if (params_->mirostat != 0) {
    apply_temperature(*params_, candidates);
    cut_mirostat(state_.mirostat_mu, candidates);
  }
  return Status::ok();
}

double Sampler::number_for(uint64_t position) const {
  return uniform(stream_seed(params_->seed, choice_, RandomUse::kDraw), position);
}

Result<TokenId> Sampler::sample(std::span<const float> logits, const SequenceView& sequence,
                                uint64_t position, SamplerScratch& scratch,
                                std::span<const uint32_t> allowed_mask) {
  INGOT_TRY(run_chain(logits, sequence, position, scratch, allowed_mask));
  if (is_greedy(*params_)) return scratch.candidates.best();
  const Candidates::Drawn drawn = scratch.candidates.draw(number_for(position));
  if (params_->mirostat != 0) {
    const double error = -std::log2(drawn.probability) - static_cast<double>(params_->mirostat_tau);
    state_.mirostat_mu -= static_cast<double>(params_->mirostat_eta) * error;
  }
  return drawn.id;
}

Result<std::vector<Sampler::TokenProbability>> Sampler::distribution(
    std::span<const float> logits, const SequenceView& sequence, uint64_t position,
    SamplerScratch& scratch, std::span<const uint32_t> allowed_mask) const {
  INGOT_TRY(run_chain(logits, sequence, position, scratch, allowed_mask));
  Candidates& candidates = scratch.candidates;
  if (is_greedy(*params_)) return std::vector<TokenProbability>{{candidates.best(), 1.0}};
  const double total = candidates.total().weight;
  const std::span<const float> weights = candidates.weights();
  std::vector<TokenProbability> list;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0) list.push_back({candidates.id(i), static_cast<double>(weights[i]) / total});
  }
  return list;
}

}  // namespace ingot
