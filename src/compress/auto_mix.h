// SPDX-License-Identifier: Apache-2.0
// Automatic mixed precision: measure what each matrix costs, choose types that meet a target with
// the least loss, check the choice by measuring the whole.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "compress/recipe.h"

namespace ingot {

struct AutoMixOptions {
  MixTarget target;
  std::vector<Layout> candidates;  // empty: every type worth having
  std::vector<std::vector<TokenId>> samples;
  int64_t probe_tokens = 2048;  // of the samples, for the sensitivities
  bool has_feedback = false;    // types that take error feedback will have it
  WalkOptions walk;
  std::function<void(std::string_view what, double fraction)> progress;
};

struct AutoMix {
  ImportanceMatrix importance;
  SensitivityReport sensitivity;
  Allocation allocation;
  double bits_per_weight = 0;
  double measured_kl = 0;  // of the whole, on the probing samples
};

Result<AutoMix> choose_mix(std::shared_ptr<const Checkpoint> input, const AutoMixOptions& options);

}  // namespace ingot
