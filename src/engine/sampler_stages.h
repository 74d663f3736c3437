// SPDX-License-Identifier: Apache-2.0
// The stages that cut: each takes tokens away by one rule (docs/sampling.md has the formulas) and
// leaves at least one. Temperature stands among them, as its place in the order matters.
#pragma once

#include "engine/sampler_candidates.h"
#include "engine/sampling_params.h"

namespace ingot {

// Whether greedy rows can go without it: all but those that change which token is the likeliest.
bool is_cut(SamplerStage stage);

void cut_top_n_sigma(float sigmas, Candidates& candidates);
void cut_top_k(int32_t count, Candidates& candidates);
void cut_typical_p(float share, std::vector<float>& keys, Candidates& candidates);
void cut_top_p(float share, Candidates& candidates);
void cut_min_p(float share, Candidates& candidates);
// Takes away all tokens of at least `threshold` but the least likely of them.
void cut_xtc(float threshold, Candidates& candidates);
void apply_temperature(const SamplingParams& params, Candidates& candidates);
// Takes away tokens more surprising than `mu` bits.
void cut_mirostat(double mu, Candidates& candidates);

}  // namespace ingot
