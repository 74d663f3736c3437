// SPDX-License-Identifier: Apache-2.0
// Runs an OpenAI batch file: each line of the input is a request, each line of the output an
// answer, in the order in which they finish. A run that was killed goes on where it was: nothing is
// lost and nothing done twice (docs/batch.md). Memory holds what is in flight, and the input's
// custom_ids.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/batch_output.h"
#include "base/status.h"
#include "ingot/engine.h"

namespace ingot {

struct BatchPaths {
  std::filesystem::path input;
  std::filesystem::path output;
  bool overwrites = false;  // an output that exists
};

struct BatchProgress {
  int64_t requests = 0;  // lines of the input that are not blank
  int64_t resumed = 0;   // answered by an earlier run
  int64_t answered = 0;  // by this one
  int64_t failed = 0;    // of these, with an error
  int64_t prompt_tokens = 0;
  int64_t reused_tokens = 0;  // of these, found in the cache
  int64_t answer_tokens = 0;
};

struct BatchOptions {
  int64_t most_in_flight = 128;  // prompts handed to the engine and not answered yet
  // Told after every answer and many times a second; false stops the run, to be resumed later.
  std::function<bool(const BatchProgress&)> goes_on;
};

// Single thread.
class BatchFile {
 public:
  // Reads the custom_ids of the input and the answers that are there already.
  static Result<BatchFile> open(const BatchPaths& paths);

  // Answers the rest and gives the output its final name. kCancelled when stopped.
  Status run(TextEngine& engine, const BatchOptions& options);
  // The same when nothing is left to answer: needs no model.
  bool is_answered() const { return progress_.resumed == progress_.requests; }
  Status finish() { return output_.commit(); }

  const BatchProgress& progress() const { return progress_; }
  const std::filesystem::path& partial() const { return output_.partial(); }
  // Fields that requests had and nobody knows, and other names of the model, each told once.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  enum class LineState : uint8_t { kBlank, kOpen, kBad, kDuplicate, kAnswered };
  class Runner;
  struct Lines {
    std::vector<LineState> states;  // [line number - 1]
    int64_t requests = 0;
    int64_t resumed = 0;
  };

  BatchFile(std::filesystem::path input, BatchOutput output, Lines lines);

  std::filesystem::path input_;
  BatchOutput output_;
  std::vector<LineState> states_;  // [line number - 1]
  BatchProgress progress_;
  std::vector<std::string> warnings_;
};

}  // namespace ingot
