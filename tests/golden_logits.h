// SPDX-License-Identifier: Apache-2.0
// The numbers of one oracle model, and how far a run of ours is from them.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/solo.h"

namespace ingot::testing {

// Both sides compute in float32 from the same weights, so they differ by the order of sums only.
// The oracle's own two orders (cached and uncached) differ by up to about 1e-5; a chain of L layers
// with dot products of length K in another order errs by about sqrt(K) * L * 2^-24 relative to the
// largest partial sums. The bound is ten times that for the sizes here (the worst seen is 4e-5),
// and a hundredth of what a bf16 run drifts (goldens' bf16_yardstick), so a wrong formula cannot
// hide in it.
inline constexpr double kLogitBound = 2e-4;
// A run whose linear layers take their inputs in bf16 stays within what the oracle's own run in
// bf16 drifts from its float32, which rounds more: everything between the layers as well.
inline double bf16_bound(const Json& goldens) {
  return goldens["bf16_yardstick"]["max_abs_diff"].get<double>();
}

struct Agreement {
  double worst = 0;        // difference over all positions
  size_t first_exact = 0;  // positions from the first on that agree within kLogitBound
};

class Goldens {
 public:
  // A folder with goldens.json and goldens.safetensors.
  static Result<Goldens> open(const std::filesystem::path& folder);

  const Json& json() const { return json_; }
  size_t prompts() const { return json_["prompts"].size(); }
  std::vector<TokenId> ids(size_t prompt) const;
  // The largest difference over all positions: best eight logits, log-probability of the next
  // token where the oracle has it, and every logit of the last position.
  Result<double> worst_difference(Solo& solo, size_t prompt) const;
  // The same of one of the oracle's runs: "" or, with rounded inputs, "act.".
  Result<Agreement> compare(Solo& solo, size_t prompt, const std::string& run) const;
  const std::map<std::string, std::vector<float>>& arrays() const { return values_; }

 private:
  Json json_;
  std::map<std::string, std::vector<float>> values_;
};

}  // namespace ingot::testing
