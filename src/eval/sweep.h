// SPDX-License-Identifier: Apache-2.0
// One model in many formats: each recipe is quantized, measured and (unless kept) deleted before
// the next, so that disk and memory hold one at a time. The report draws quality against size.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "eval/report.h"

namespace ingot {

struct SweepHooks {
  // Makes the file or folder of a recipe ("q4_k_m", "gptq4"). What it returns is deleted after.
  std::function<Result<std::filesystem::path>(const std::string& recipe)> quantize = {};
  std::function<Result<EvaluatedModel>(const std::filesystem::path& path)> evaluate = {};
  std::function<void(const std::string& recipe, size_t done, size_t all)>
      on_recipe;  // may be empty
};

struct SweepOptions {
  std::vector<std::string> recipes = {};
  bool keeps_files = false;
};

// "q8_0,q6_k, q4_k_m" as a list; kInvalidArgument for an empty or doubled one.
Result<std::vector<std::string>> parse_recipes(std::string_view list);

// Models in the order of the recipes. One that fails is listed with its reason and the sweep goes
// on; kCancelled and running out of disk end it. Files are deleted in all cases.
Result<std::vector<EvaluatedModel>> run_sweep(const SweepOptions& options, const SweepHooks& hooks);

}  // namespace ingot
