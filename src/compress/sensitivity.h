// SPDX-License-Identifier: Apache-2.0
// How much a model's answers change when one of its matrices is quantized: the KL divergence from
// the original, measured on calibration samples by quantizing each matrix alone to a coarse type,
// and estimated for every other type from its squared error, to which the divergence is
// proportional while it is small.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "calibrate/importance.h"
#include "calibrate/layer_walk.h"
#include "compress/allocate.h"
#include "convert/source_tensor.h"

namespace ingot {

struct TensorSensitivity {
  std::string name;    // in GGUF
  std::string module;  // in the input
  int layer = -1;
  double probe_kl = 0;  // measured, with this matrix alone in the probing type
  TensorChoices choices;
};

struct SensitivityReport {
  Layout probe = Layout::kQ3_K;
  int64_t tokens = 0;
  std::vector<TensorSensitivity> tensors;
};

struct SensitivityOptions {
  std::vector<Layout> candidates;  // of the allocation
  Layout probe = Layout::kQ3_K;
  std::function<void(std::string_view what, double fraction)> progress;
};

// The walk must stand before the first layer; it ends behind the last.
Result<SensitivityReport> measure_sensitivity(const GgufPlan& gguf,
                                              std::shared_ptr<const Checkpoint> input,
                                              const ModelPlan& plan, LayerWalk& walk,
                                              const ImportanceMatrix& importance,
                                              const SensitivityOptions& options);

// Mean KL divergence of the whole model from the original when all these tensors have these types.
Result<double> measure_divergence(const GgufPlan& gguf, std::shared_ptr<const Checkpoint> input,
                                  const ModelPlan& plan,
                                  const std::vector<std::vector<TokenId>>& samples,
                                  const WalkOptions& options, const ImportanceMatrix& importance,
                                  const std::map<std::string, Layout, std::less<>>& types);

}  // namespace ingot
