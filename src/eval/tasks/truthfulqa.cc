// SPDX-License-Identifier: Apache-2.0
// TruthfulQA as multiple choice, from its own table: MC1 (is the best answer likelier than every
// wrong one?) and MC2 (the share of likelihood on true answers).
#include <algorithm>

#include "base/limits.h"
#include "eval/response_text.h"
#include "eval/tasks/task_file.h"
#include "eval/tasks/task_loaders.h"

namespace ingot {
namespace {

// "a; b; c", without what was there before.
void add_answers(std::string_view list, bool is_right, ChoiceItem& item) {
  for (const std::string_view part : split(list, ";")) {
    const std::string answer(trim(part));
    if (answer.empty() || std::ranges::find(item.choices, answer) != item.choices.end()) continue;
    item.choices.push_back(answer);
    item.is_right.push_back(is_right);
  }
}

}  // namespace

Result<Task> load_truthfulqa(const TaskSpec& spec) {
  INGOT_TRY(const std::filesystem::path file, find_task_file(spec.data, {"TruthfulQA.csv"}));
  INGOT_TRY(const CsvTable table, read_csv(file));
  std::array<size_t, 5> at{};
  constexpr std::array<std::string_view, 5> kColumns = {"Category", "Question", "Best Answer",
                                                        "Correct Answers", "Incorrect Answers"};
  for (size_t i = 0; i < kColumns.size(); ++i) {
    const std::optional<size_t> column = table.column(kColumns[i]);
    if (!column) return Status::invalid_data("{}: has no column '{}'", file.string(), kColumns[i]);
    at[i] = *column;
  }
  Task task{.name = "truthfulqa", .has_mc2 = true};
  task.shots = std::max<int64_t>(spec.shots, 0);
  std::string examples;
  int64_t examples_left = task.shots;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    if (spec.limit >= 0 && static_cast<int64_t>(task.items.size()) >= spec.limit) break;
    const std::vector<std::string>& row = table.rows[i];
    ChoiceItem item{fmt::format("Q: {}\nA:", trim(row[at[1]])), {}, {}};
    add_answers(row[at[2]], true, item);  // the best one first
    if (item.choices.size() > 1) {        // it may have a semicolon inside
      item.choices = {std::string(trim(row[at[2]]))};
      item.is_right = {true};
    }
    add_answers(row[at[3]], true, item);
    add_answers(row[at[4]], false, item);
    if (item.choices.size() > limits::kTaskChoices || item.is_right.empty() ||
        std::ranges::find(item.is_right, false) == item.is_right.end())
      return Status::invalid_data("{}:{}: needs a right and a wrong answer, at most {} in all",
                                  file.string(), table.lines[i], limits::kTaskChoices);
    if (examples_left > 0) {
      examples += item.context + " " + item.choices[0] + "\n\n";
      --examples_left;
      continue;
    }
    item.context = examples + item.context;
    task.items.push_back({row[at[0]], std::move(item)});
  }
  return task;
}

}  // namespace ingot
