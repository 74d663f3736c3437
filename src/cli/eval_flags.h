// SPDX-License-Identifier: Apache-2.0
// What `eval` and `perplexity` share: flags of scored texts, and the request they make.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/model_flags.h"
#include "cli/progress_bar.h"
#include "eval/evaluate.h"

namespace ingot {

struct EvalTextFlags {
  std::string protocol = "llama";
  int64_t stride = 0;
  int64_t chunks = -1;
  int64_t batch_tokens = 2048;
};
void add_text_flags(CLI::App& command, EvalTextFlags& flags);

// Threads, cache and windows of a request, from the flags; nothing to measure yet.
Result<EvalRequest> make_eval_request(const ModelFlags& model, const EvalTextFlags& text);
// "-" is standard input. Its name in reports is the file's own.
Result<EvalText> read_eval_text(const std::string& path);

// Shows every stage with its share and an estimate, and stops at Ctrl-C.
class EvalProgressBar {
 public:
  bool update(std::string_view label, double fraction);

 private:
  std::unique_ptr<ProgressBar> bar_;
  std::string stage_;
};

}  // namespace ingot
