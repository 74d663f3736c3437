// SPDX-License-Identifier: Apache-2.0
// Runs a text through a model and compares every scored row with a reference: saved logits, or
// another model that runs beside it in step, so that no logits are kept.
#pragma once

#include "base/status.h"
#include "base/thread_pool.h"
#include "eval/kl_divergence.h"
#include "eval/perplexity.h"
#include "eval/reference_logits.h"
#include "eval/score_model.h"

namespace ingot {

// kInvalidArgument when the vocabularies differ; kInternal when logits are not finite.
Result<KlDivergence> diverge_from_file(const ReferenceLogits& reference, ScoreModel& model,
                                       ThreadPool& pool, const GoesOn& goes_on);
Result<KlDivergence> diverge_from_model(ScoreModel& reference, ScoreModel& model, ThreadPool& pool,
                                        const ScoredText& text, const GoesOn& goes_on);

}  // namespace ingot
