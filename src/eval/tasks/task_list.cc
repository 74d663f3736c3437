// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "base/limits.h"
#include "eval/tasks/task_loaders.h"

namespace ingot {
namespace {

struct Entry {
  std::string_view name;
  Result<Task> (*load)(const TaskSpec& spec);
};
constexpr std::array kTasks = {
    Entry{"hellaswag", load_hellaswag},   Entry{"mmlu", load_mmlu},   Entry{"arc", load_arc},
    Entry{"truthfulqa", load_truthfulqa}, Entry{"gsm8k", load_gsm8k}, Entry{"ifeval", load_ifeval},
};

}  // namespace

std::string task_names() {
  std::string names;
  for (const Entry& entry : kTasks)
    names += std::string(entry.name) + ", ";
  return names + "or a .jsonl file";
}

Result<Task> load_task(const TaskSpec& spec) {
  if (spec.shots > static_cast<int64_t>(limits::kTaskShots))
    return Status::invalid_argument("--num-fewshot is {} but may be {}", spec.shots,
                                    limits::kTaskShots);
  Result<Task> task =
      Status::not_found("there is no task '{}'; known are {}", spec.name, task_names());
  if (spec.name.ends_with(".jsonl")) {
    task = load_custom_task(spec);
  } else {
    for (const Entry& entry : kTasks) {
      if (entry.name != spec.name) continue;
      if (spec.data.empty())
        return Status::invalid_argument("the task '{}' needs its files; name them with --data PATH",
                                        spec.name);
      task = entry.load(spec);
    }
  }
  INGOT_TRY(Task loaded, std::move(task));
  if (loaded.items.empty())
    return Status::invalid_data("the task '{}' has no items to ask", spec.name);
  return loaded;
}

}  // namespace ingot
