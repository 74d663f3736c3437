// SPDX-License-Identifier: Apache-2.0
// The benchmarks, one file each. A new one is a file here and a line in task_list.cc.
#pragma once

#include "base/status.h"
#include "eval/task.h"
#include "eval/tasks/task_file.h"

namespace ingot {

// spec.data is a file, or the folder of the benchmark. shots < 0: the usual number.
Result<Task> load_hellaswag(const TaskSpec& spec);
Result<Task> load_mmlu(const TaskSpec& spec);
Result<Task> load_arc(const TaskSpec& spec);
Result<Task> load_truthfulqa(const TaskSpec& spec);
Result<Task> load_gsm8k(const TaskSpec& spec);
Result<Task> load_ifeval(const TaskSpec& spec);
// What those share whose lines each hold one question with its answers: the first spec.shots of
// them stand before the others as examples and are not asked.
Result<Task> load_choices(std::string_view name, const std::filesystem::path& file,
                          const TaskSpec& spec, Result<ChoiceItem> (*parse)(const TaskObject&));
// A .jsonl of one's own (docs/evaluation.md).
Result<Task> load_custom_task(const TaskSpec& spec);

}  // namespace ingot
