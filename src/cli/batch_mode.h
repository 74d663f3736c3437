// SPDX-License-Identifier: Apache-2.0
// `ingot generate --input --output`: a batch file with a progress bar, and a summary at the end.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/status.h"
#include "cli/engine_flags.h"
#include "cli/model_flags.h"

namespace ingot {

struct BatchFlags {
  std::string input;
  std::string output;
  bool overwrites = false;
  bool is_wanted() const { return !input.empty() || !output.empty(); }
};

void add_batch_flags(CLI::App& command, BatchFlags& flags);
// kCancelled on Ctrl-C, with a sentence on how to go on.
Status run_batch(const BatchFlags& batch, const ModelFlags& model, const EngineCliFlags& engine);

}  // namespace ingot
