// SPDX-License-Identifier: Apache-2.0
// From logits to a token: grammar mask, biases and bans, then the stages in the order asked for,
// then a draw. Randomness is keyed by (seed, choice, position) and everything else is a function of
// the history or lies in SamplerState, so a token never depends on what else ran, on the kernels,
// or on whether the sequence was preempted.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/sampler_candidates.h"
#include "engine/sampler_penalties.h"
#include "engine/sampling_logprobs.h"
#include "engine/sampling_params.h"

namespace ingot {

// Buffers of one row at a time; one for all sequences of an engine. Engine thread only.
struct SamplerScratch {
  explicit SamplerScratch(TargetSet targets = TargetSet::of_this_machine()) : candidates(targets) {}
  Candidates candidates;
  PenaltyScratch penalties;
  std::vector<float> keys;
};

// All that a sequence carries from token to token. Kept over a preemption, copied at a fork.
struct SamplerState {
  double mirostat_mu = 0;
};

// One per sequence; a copy is a fork and costs a pointer. Engine thread only.
class Sampler {
 public:
  // `params` have passed validate(). `choice` numbers the answers of n > 1.
  explicit Sampler(SamplingParams params, uint32_t choice = 0);

  // The token for `position` of a sequence of `history` (the first `prompt_size` of it the prompt).
  // `allowed_mask` has a bit per token, or is empty. kInternal when the logits hold NaN or plus
  // infinity, kInvalidArgument when nothing is left to draw: that request ends, others go on.
  Result<TokenId> sample(std::span<const float> logits, const SequenceView& sequence,
                         uint64_t position, SamplerScratch& scratch,
                         std::span<const uint32_t> allowed_mask = {});

  struct TokenProbability {
    TokenId id;
    double probability;
  };
  // What sample() would draw from, in the order of the ids; changes no state.
  Result<std::vector<TokenProbability>> distribution(
      std::span<const float> logits, const SequenceView& sequence, uint64_t position,
      SamplerScratch& scratch, std::span<const uint32_t> allowed_mask = {}) const;

  // The number in [0, 1) that the token for `position` is drawn with.
  double number_for(uint64_t position) const;
  bool is_stop(TokenId id) const { return ingot::is_stop(*params_, id); }
  const SamplingParams& params() const { return *params_; }
  Sampler with_choice(uint32_t choice) const;  // a fork that draws its own tokens from here on
  const SamplerState& state() const { return state_; }
  void set_state(const SamplerState& state) { state_ = state; }

 private:
  Status run_chain(std::span<const float> logits, const SequenceView& sequence, uint64_t position,
                   SamplerScratch& scratch, std::span<const uint32_t> allowed_mask) const;
  void run_stage(SamplerStage stage, const SequenceView& sequence, uint64_t position,
                 SamplerScratch& scratch) const;

  std::shared_ptr<const SamplingParams> params_;  // immutable, shared by all forks
  uint32_t choice_;
  SamplerState state_;
};

}  // namespace ingot
