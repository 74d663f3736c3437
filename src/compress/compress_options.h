// SPDX-License-Identifier: Apache-2.0
// What `ingot quantize` was asked for, in values: the same for the command line, a recipe and a
// sweep.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compress/weight_format.h"
#include "ingot/sampling.h"
#include "kernels/target.h"

namespace ingot {

enum class CompressMethod : uint8_t { kRtn, kGptq, kAwq, kSmoothQuant };

// A module whose name contains a match of the pattern (a regular expression) is kept as it is, or
// has other bits or groups than the rest.
struct ModuleRule {
  std::string pattern;
  bool keeps = false;
  std::optional<int> bits;
  std::optional<int64_t> group_columns;
};

struct CompressOptions {
  CompressMethod method = CompressMethod::kRtn;
  WeightFormat format;
  bool orders_columns = false;  // GPTQ's act-order
  double damping = 0.01;
  bool is_sequential = true;  // GPTQ: inputs behind weights that are quantized already
  std::vector<ModuleRule> rules;
  std::vector<std::vector<TokenId>> samples;  // of methods that calibrate
  uint64_t shard_bytes = 5'000'000'000;
  bool overwrites = false;
  int threads = 0;
  TargetSet targets = TargetSet::of_this_machine();
  // Told what is done and how far the whole is, from 0 to 1.
  std::function<void(std::string_view what, double fraction)> progress;

  bool calibrates() const { return method != CompressMethod::kRtn || format.has_static_inputs; }
};

struct CompressReport {
  int64_t quantized_weights = 0;
  int64_t kept_weights = 0;       // of matrices in layers
  uint64_t bytes = 0;             // of all tensors written
  double bits_per_weight = 0;     // of the quantized ones
  std::vector<std::string> kept;  // "name: why"
  bool was_resumed = false;
  bool was_quantized = false;  // the input was
};

}  // namespace ingot
