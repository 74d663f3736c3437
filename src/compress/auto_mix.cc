// SPDX-License-Identifier: Apache-2.0
#include "compress/auto_mix.h"

#include <algorithm>

#include "blocks/layout.h"
#include "quant/feedback_rows.h"

namespace ingot {
namespace {

constexpr int kTries = 4;  // to meet a divergence that is measured
// What error feedback leaves of a type's loss; of 1, 0.8 and 0.55 the best for texts that were not
// calibrated on (docs/quantization.md).
constexpr double kLeftByFeedback = 0.55;

std::vector<Layout> all_candidates() {
  return {Layout::kIQ2_XS, Layout::kQ2_K, Layout::kIQ3_XXS, Layout::kQ3_K, Layout::kIQ4_XS,
          Layout::kQ4_K,   Layout::kQ5_K, Layout::kQ6_K,    Layout::kQ8_0, Layout::kF16};
}

std::vector<std::vector<TokenId>> first_tokens(const std::vector<std::vector<TokenId>>& samples,
                                               int64_t tokens) {
  std::vector<std::vector<TokenId>> result;
  for (const std::vector<TokenId>& sample : samples) {
    if (tokens <= 0) break;
    result.push_back(sample);
    tokens -= std::ssize(sample);
  }
  return result;
}

double bits_of(const SensitivityReport& report, const Allocation& allocation) {
  double weights = 0;
  for (size_t i = 0; i < report.tensors.size(); ++i) {
    const TypeChoice& choice = report.tensors[i].choices[allocation.chosen[i]];
    const LayoutInfo& facts = info(choice.layout);
    weights += static_cast<double>(choice.bytes / facts.block_bytes * facts.block_elements);
  }
  return weights > 0 ? 8 * static_cast<double>(allocation.bytes) / weights : 0;
}

// Losses are measured without feedback; this is what they will be.
std::vector<TensorChoices> choices_of(const SensitivityReport& report, bool has_feedback) {
  std::vector<TensorChoices> all;
  for (const TensorSensitivity& tensor : report.tensors) {
    TensorChoices& choices = all.emplace_back(tensor.choices);
    if (!has_feedback || tensor.layer < 0) continue;
    for (TypeChoice& choice : choices)
      if (takes_feedback(choice.layout)) choice.loss *= kLeftByFeedback;
  }
  return all;
}

// As they were measured.
double loss_of(const SensitivityReport& report, const Allocation& allocation) {
  double loss = 0;
  for (size_t i = 0; i < report.tensors.size(); ++i)
    loss += report.tensors[i].choices[allocation.chosen[i]].loss;
  return loss;
}

}  // namespace

Result<AutoMix> choose_mix(std::shared_ptr<const Checkpoint> input, const AutoMixOptions& options) {
  AutoMix mix;
  const auto tell = [&](std::string_view what, double fraction) {
    if (options.progress) options.progress(what, fraction);
  };
  INGOT_TRY(const ModelPlan plan, plan_model(*input));
  INGOT_TRY(const GgufPlan gguf, plan_gguf(input));
  {
    INGOT_TRY(LayerWalk walk, LayerWalk::create(input, plan, options.samples, options.walk));
    INGOT_TRY(mix.importance, gather_importance(walk, plan, [&](double fraction) {
                tell("measuring importance", 0.2 * fraction);
              }));
  }
  const std::vector<std::vector<TokenId>> probes =
      first_tokens(options.samples, options.probe_tokens);
  SensitivityOptions sensitivity;
  sensitivity.candidates = options.candidates.empty() ? all_candidates() : options.candidates;
  sensitivity.progress = [&](std::string_view what, double fraction) {
    tell(fmt::format("measuring sensitivity, {}", what), 0.2 + 0.6 * fraction);
  };
  INGOT_TRY(LayerWalk walk, LayerWalk::create(input, plan, probes, options.walk));
  INGOT_TRY(mix.sensitivity,
            measure_sensitivity(gguf, input, plan, walk, mix.importance, sensitivity));
  const std::vector<TensorChoices> choices = choices_of(mix.sensitivity, options.has_feedback);

  const auto measure = [&]() -> Status {
    INGOT_TRY(mix.measured_kl,
              measure_divergence(gguf, input, plan, probes, options.walk, mix.importance,
                                 recipe_types(mix.sensitivity, mix.allocation)));
    return Status::ok();
  };
  if (!options.target.kl) {
    const uint64_t budget = matrix_budget(options.target, gguf, mix.sensitivity);
    mix.allocation = allocate_bytes(choices, budget);
    if (mix.allocation.bytes > budget) {
      return Status::invalid_argument(
          "even the smallest types take {:.1f} MiB where the target leaves {:.1f}; ask for more",
          static_cast<double>(mix.allocation.bytes) / (1 << 20),
          static_cast<double>(budget) / (1 << 20));
    }
    tell("checking the choice", 0.8);
    INGOT_TRY(measure());
  } else {
    // Single matrices' losses do not add up exactly: what was measured corrects the next try.
    double predicted = *options.target.kl;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      mix.allocation = allocate_loss(choices, predicted);
      tell("checking the choice", 0.8 + 0.05 * attempt);
      INGOT_TRY(measure());
      if (mix.measured_kl <= *options.target.kl) break;
      predicted = mix.allocation.loss * *options.target.kl / mix.measured_kl * 0.95;
    }
    if (mix.measured_kl > *options.target.kl) {
      return Status::invalid_argument(
          "a KL divergence of {} cannot be met: the best of {} tries has {:.5f}",
          *options.target.kl, kTries, mix.measured_kl);
    }
  }
  mix.allocation.loss = loss_of(mix.sensitivity, mix.allocation);
  mix.bits_per_weight = bits_of(mix.sensitivity, mix.allocation);
  return mix;
}

}  // namespace ingot
