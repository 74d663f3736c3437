// SPDX-License-Identifier: Apache-2.0
// `ingot eval --sweep`: the model, then each recipe of it, against the model itself.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/calibration.h"
#include "cli/model_flags.h"
#include "eval/evaluate.h"
#include "eval/report.h"

namespace ingot {

struct SweepFlags {
  std::string recipes = {};  // "q8_0,q4_k_m"; empty: no sweep
  std::string folder = {};   // where the files go; empty: the system's folder for temporary ones
  bool keeps_files = false;
  CalibrationFlags calibration;
};

// Quantizes by a recipe into `folder`; the path of what it made.
Result<std::filesystem::path> quantize_for_sweep(const ModelFlags& model, const SweepFlags& sweep,
                                                 const std::string& recipe,
                                                 const std::filesystem::path& folder);

// The report's models: MODEL first, then the recipes.
Result<std::vector<EvaluatedModel>> run_eval_sweep(const SweepFlags& sweep, const ModelFlags& model,
                                                   EvalRequest request);

}  // namespace ingot
