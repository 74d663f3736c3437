// SPDX-License-Identifier: Apache-2.0
// One subcommand of `ingot`: declares its flags, then runs. A new one is a new file and a line in
// the list of app.cc.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "base/status.h"

namespace ingot {

// Main thread only.
class Command {
 public:
  virtual ~Command() = default;
  // Adds itself with flags bound to its own members; `app` outlives it.
  virtual CLI::App* add_to(CLI::App& app) = 0;
  // After parsing. The Status becomes message and exit code (app.h).
  virtual Status run() = 0;
};

std::unique_ptr<Command> make_run_command();
std::unique_ptr<Command> make_serve_command();
std::unique_ptr<Command> make_generate_command();
std::unique_ptr<Command> make_inspect_command();
std::unique_ptr<Command> make_tokenize_command();
std::unique_ptr<Command> make_detokenize_command();
std::unique_ptr<Command> make_template_command();
std::unique_ptr<Command> make_eval_command();
std::unique_ptr<Command> make_perplexity_command();
std::unique_ptr<Command> make_quantize_command();
std::unique_ptr<Command> make_imatrix_command();
std::unique_ptr<Command> make_convert_command();
std::unique_ptr<Command> make_verify_command();
std::unique_ptr<Command> make_bench_command();
std::unique_ptr<Command> make_bench_throughput_command();
std::unique_ptr<Command> make_bench_serve_command();
std::unique_ptr<Command> make_bench_latency_command();
std::unique_ptr<Command> make_bench_kernels_command();
std::unique_ptr<Command> make_completion_command();

}  // namespace ingot
