// SPDX-License-Identifier: Apache-2.0
// What `ingot quantize` does, apart from the command line: `ingot eval --sweep` does it too.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "base/status.h"
#include "cli/quantize_flags.h"
#include "cli/quantize_gguf_flags.h"
#include "compress/recipe.h"

namespace ingot {

struct QuantizeJob {
  std::string model;
  std::string output;
  QuantizeFlags flags;
  QuantizeGgufFlags gguf;
  MixTarget target;
  std::string recipe;        // a file
  std::string saved_recipe;  // empty: OUT.recipe.json
  int threads = 0;
  bool overwrites = false;
};

// NOLINTNEXTLINE(bugprone-exception-escape): the library's own move of a Json does not throw
struct QuantizeOutcome {
  std::string text;  // for people
  Json json;
};

// With progress bars where there is a terminal.
Result<QuantizeOutcome> run_quantize(const QuantizeJob& job);

// "q4_k_m", "gptq4", "awq", "rtn8", "fp8", "mix4.25": what a name in a sweep stands for, and how
// its file is called.
Result<QuantizeJob> job_of_recipe(const std::string& recipe);

}  // namespace ingot
