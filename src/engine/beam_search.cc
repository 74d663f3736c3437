// SPDX-License-Identifier: Apache-2.0
#include "engine/beam_search.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/limits.h"

namespace ingot {

Status validate(const BeamParams& params) {
  if (params.width < 1 || params.width > limits::kBeams) {
    return Status::invalid_argument("beam_width is {} but must be in [1, {}]", params.width,
                                    limits::kBeams);
  }
  if (!(std::fabs(params.length_penalty) <= 100)) {
    return Status::invalid_argument("length_penalty is {} but must be in [-100, 100]",
                                    params.length_penalty);
  }
  if (params.max_tokens < 1 || params.prompt_tokens < 0)
    return Status::invalid_argument("max_tokens is {} but must be at least 1", params.max_tokens);
  if (params.stop_ids.size() > limits::kSamplingWords) {
    return Status::invalid_argument("stop_ids has {} entries but may have {}",
                                    params.stop_ids.size(), limits::kSamplingWords);
  }
  return Status::ok();
}

BeamSearch::BeamSearch(BeamParams params) : params_(std::move(params)), live_(1) {}

// Even if all stop ids come first, enough are left to fill the beam.
size_t BeamSearch::tokens_per_beam() const {
  const auto width = static_cast<size_t>(params_.width);
  return width + std::max(width, params_.stop_ids.size());
}

double BeamSearch::score(double logprob, size_t tokens) const {
  const double length = static_cast<double>(params_.prompt_tokens) + static_cast<double>(tokens);
  return logprob / std::pow(std::max(length, 1.0), params_.length_penalty);
}

void BeamSearch::finish(BeamHypothesis hypothesis) {
  const auto place = std::ranges::upper_bound(finished_, hypothesis.score, std::ranges::greater{},
                                              &BeamHypothesis::score);
  if (place - finished_.begin() >= params_.width) return;
  finished_.insert(place, std::move(hypothesis));
  if (std::ssize(finished_) > params_.width) finished_.pop_back();
}

// Sums only fall from here on, so the best a beam can reach is its present sum, at the length that
// is kindest to it.
bool BeamSearch::can_improve(const BeamHypothesis& beam) const {
  if (std::ssize(finished_) < params_.width) return true;
  if (params_.early_stopping) return false;
  const size_t length =
      params_.length_penalty > 0 ? static_cast<size_t>(params_.max_tokens) : beam.ids.size();
  return score(beam.logprob, length) > finished_.back().score;
}

std::vector<BeamChoice> BeamSearch::advance(std::span<const BeamInput> inputs) {
  INGOT_CHECK(inputs.size() == live_.size());
  struct Candidate {
    double logprob;
    BeamChoice choice;
  };
  std::vector<Candidate> candidates;
  for (size_t parent = 0; parent < inputs.size(); ++parent) {
    const BeamHypothesis& beam = live_[parent];
    for (const TokenLogprob& next : inputs[parent]) {
      if (!std::isfinite(next.logprob)) continue;  // banned
      const double logprob = beam.logprob + static_cast<double>(next.logprob);
      if (std::ranges::find(params_.stop_ids, next.id) == params_.stop_ids.end()) {
        candidates.push_back({logprob, {parent, next.id}});
        continue;
      }
      BeamHypothesis ended{beam.ids, logprob, score(logprob, beam.ids.size()), true};
      ended.ids.push_back(next.id);
      finish(std::move(ended));
    }
  }
  const size_t kept = std::min(candidates.size(), static_cast<size_t>(params_.width));
  std::ranges::partial_sort(candidates, candidates.begin() + static_cast<ptrdiff_t>(kept),
                            [](const Candidate& a, const Candidate& b) {
                              if (a.logprob != b.logprob) return a.logprob > b.logprob;
                              if (a.choice.parent != b.choice.parent)
                                return a.choice.parent < b.choice.parent;
                              return a.choice.token < b.choice.token;
                            });
  std::vector<BeamHypothesis> next;
  std::vector<BeamChoice> choices;
  for (size_t i = 0; i < kept; ++i) {
    const auto& [logprob, choice] = candidates[i];
    BeamHypothesis beam{live_[choice.parent].ids, logprob, 0, false};
    beam.ids.push_back(choice.token);
    beam.score = score(logprob, beam.ids.size());
    if (std::ssize(beam.ids) >= params_.max_tokens) {
      finish(std::move(beam));
    } else {
      next.push_back(std::move(beam));
      choices.push_back(choice);
    }
  }
  live_ = std::move(next);
  // Beams come best first and have one length: if the first cannot improve, none can.
  if (!live_.empty() && !can_improve(live_.front())) {
    live_.clear();
    choices.clear();
  }
  return choices;
}

}  // namespace ingot
