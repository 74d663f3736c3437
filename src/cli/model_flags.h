// SPDX-License-Identifier: Apache-2.0
// The flags that every command which runs a model shares, and the loading they ask for.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "api/loaded_model.h"
#include "base/status.h"
#include "engine/solo.h"

namespace ingot {

struct ModelFlags {
  std::string model = "default";
  int threads = 0;
  int threads_batch = 0;
  std::string numa = "auto";
  std::string kernels = "auto";
  std::string dtype = "auto";
  int64_t context = 0;
  std::string cache_dtype = "auto";
  int64_t block_size = kDefaultPageTokens;
  bool skips_tensor_check = false;
  std::string device = "auto";
  std::string gpu_layers = "auto";
  bool is_batch_invariant = false;
  std::string random;  // "8B:q4_k_m": no model of a file; empty: the model
};

// The positional MODEL alone, for commands that touch no weights.
void add_model_argument(CLI::App& command, std::string& model);
void add_log_level(CLI::App& command, std::string_view default_level = "warning");
void add_model_flags(CLI::App& command, ModelFlags& flags,
                     std::string_view default_log_level = "warning");

// --random, for benchmarks: see bench/random_model.h.
void add_random_flag(CLI::App& command, ModelFlags& flags);

Result<ThreadOptions> thread_options(const ModelFlags& flags);
// With a progress bar where it takes longer than a blink.
Result<LoadedModel> load_model(const ModelFlags& flags);
// `context` 0: the flag's, or the model's own.
Result<std::unique_ptr<Solo>> start_solo(const LoadedModel& model, const ModelFlags& flags,
                                         int64_t context = 0);

}  // namespace ingot
