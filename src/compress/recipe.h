// SPDX-License-Identifier: Apache-2.0
// A recipe: which type every matrix of a GGUF file gets, with what was measured to choose it. A
// file for people to read, edit and replay.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/status.h"
#include "blocks/layout_id.h"
#include "compress/allocate.h"
#include "compress/sensitivity.h"

namespace ingot {

using RecipeTypes = std::map<std::string, Layout, std::less<>>;  // by the tensor's name

struct RecipeFacts {
  std::string model;
  std::string calibration;
  double bits_per_weight = 0;
  double predicted_kl = 0;
  double measured_kl = 0;
};

// Types of the chosen.
RecipeTypes recipe_types(const SensitivityReport& report, const Allocation& allocation);

Status write_recipe(const std::filesystem::path& path, const RecipeFacts& facts,
                    const SensitivityReport& report, const Allocation& allocation);
Result<RecipeTypes> read_recipe(const std::filesystem::path& path);

// What the allocation is to meet: one of them.
struct MixTarget {
  std::optional<double> bits_per_weight;  // of all matrices
  std::optional<uint64_t> bytes;          // of the whole file
  std::optional<double> kl;
};
// Bytes that the matrices may take where the target says so; else 0.
uint64_t matrix_budget(const MixTarget& target, const GgufPlan& gguf,
                       const SensitivityReport& report);

}  // namespace ingot
