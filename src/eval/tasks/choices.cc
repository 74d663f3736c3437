// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "eval/tasks/task_loaders.h"

namespace ingot {

Result<Task> load_choices(std::string_view name, const std::filesystem::path& file,
                          const TaskSpec& spec, Result<ChoiceItem> (*parse)(const TaskObject&)) {
  Task task{.name = std::string(name)};
  task.shots = std::max<int64_t>(spec.shots, 0);
  std::string examples;
  int64_t examples_left = task.shots;
  INGOT_TRY(for_each_object(file, [&](const TaskObject& line) -> Result<bool> {
    INGOT_TRY(ChoiceItem item, parse(line));
    if (examples_left > 0) {
      const auto right =
          static_cast<size_t>(std::ranges::find(item.is_right, true) - item.is_right.begin());
      examples += item.context + " " + item.choices[right] + "\n\n";
      --examples_left;
      return true;
    }
    item.context = examples + item.context;
    task.items.push_back({"", std::move(item)});
    return spec.limit < 0 || static_cast<int64_t>(task.items.size()) < spec.limit;
  }));
  return task;
}

}  // namespace ingot
