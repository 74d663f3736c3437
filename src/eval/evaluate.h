// SPDX-License-Identifier: Apache-2.0
// One model through all that was asked of it: perplexity, divergence, tasks. What a sweep calls for
// each of its models.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/loaded_model.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "eval/reference_logits.h"
#include "eval/report.h"
#include "eval/score_windows.h"
#include "eval/task.h"
#include "ingot/engine.h"

namespace ingot {

struct EvalText {
  std::string name = {};
  std::string content = {};
};

// Told of every stage; false stops (kCancelled). The fraction is the stage's.
using EvalProgress = std::function<bool(std::string_view label, double fraction)>;

struct EvalRequest {
  std::vector<EvalText> texts = {};  // perplexity of each
  WindowOptions windows = {};        // context 0: 512, for "hf" the model's own; bos is the model's
  std::string save_reference = {};   // a file for the logits of the first text; empty: none
  std::shared_ptr<const ReferenceLogits> reference_file = {};  // compared with, or null
  std::shared_ptr<const LoadedModel> reference_model =
      {};  // compared with on the first text, or null
  std::string reference_name = {};
  std::vector<TaskSpec> tasks = {};

  EngineFlags engine = {};  // for tasks
  ThreadOptions threads = {};
  std::string cache_dtype = "auto";
  int64_t batch_tokens = 2048;
  EvalProgress progress = {};
};

// Needs the model's tokenizer unless saved logits are all there is to compare.
Result<EvaluatedModel> evaluate(const LoadedModel& model, const EvalRequest& request);

}  // namespace ingot
