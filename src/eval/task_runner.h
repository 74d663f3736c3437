// SPDX-License-Identifier: Apache-2.0
// Asks a model a task's items through the engine, many at once. The choices of a question share
// its beginning in the prefix tree, and so do examples shared by many questions.
#pragma once

#include <cstdint>
#include <functional>

#include "base/status.h"
#include "eval/report.h"
#include "eval/task.h"
#include "ingot/engine.h"

namespace ingot {

struct TaskProgress {
  int64_t done = 0;  // requests
  int64_t all = 0;
};

struct TaskRunOptions {
  int64_t most_in_flight = 128;
  int64_t block_items = 32;  // whose first choices go before their second ones
  std::function<bool(const TaskProgress&)> goes_on = {};  // false: kCancelled; may be empty
};

Result<TaskEntry> run_task(TextEngine& engine, const Task& task, const TaskRunOptions& options);

}  // namespace ingot
