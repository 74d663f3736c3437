// SPDX-License-Identifier: Apache-2.0
// MMLU: questions with four answers, asked with letters; the model says which letter comes next.
// Examples come from the subject's dev file. The limit counts per subject, so that all take part.
#include <algorithm>

#include "base/limits.h"
#include "eval/tasks/task_file.h"
#include "eval/tasks/task_loaders.h"

namespace ingot {
namespace {

constexpr int64_t kSubjectShots = 5;
constexpr std::array<std::string_view, 5> kQuestionColumns = {"question", "choice0", "choice1",
                                                              "choice2", "choice3"};

struct Question {
  std::string text;  // with the answers and "Answer:"
  size_t right = 0;
};

Result<std::vector<Question>> read_questions(const std::filesystem::path& path, int64_t limit) {
  INGOT_TRY(const CsvTable table, read_csv(path));
  std::array<size_t, 6> at{};
  for (size_t i = 0; i < 6; ++i) {
    const std::string_view name = i < kQuestionColumns.size() ? kQuestionColumns[i] : "answer";
    const std::optional<size_t> column = table.column(name);
    if (!column) return Status::invalid_data("{}: has no column '{}'", path.string(), name);
    at[i] = *column;
  }
  std::vector<Question> questions;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    if (limit >= 0 && static_cast<int64_t>(questions.size()) >= limit) break;
    const std::vector<std::string>& row = table.rows[i];
    Question question{std::string(trim(row[at[0]])) + "\n"};
    for (size_t choice = 0; choice < 4; ++choice)
      question.text +=
          fmt::format("{}. {}\n", static_cast<char>('A' + choice), row[at[choice + 1]]);
    question.text += "Answer:";
    const std::string_view answer = trim(row[at[5]]);
    const bool is_digit = answer.size() == 1 && answer[0] >= '0' && answer[0] <= '3';
    const bool is_letter = answer.size() == 1 && answer[0] >= 'A' && answer[0] <= 'D';
    if (!is_digit && !is_letter)
      return Status::invalid_data("{}:{}: the answer is '{}' but must be 0 to 3 or A to D",
                                  path.string(), table.lines[i], answer);
    question.right = static_cast<size_t>(answer[0] - (is_digit ? '0' : 'A'));
    questions.push_back(std::move(question));
  }
  return questions;
}

// "high_school_physics_test.csv" -> "high_school_physics"
std::string subject_of(const std::filesystem::path& path) {
  std::string name = path.stem().string();
  for (const std::string_view end : {"_test", "_dev", "_val"}) {
    if (name.ends_with(end)) name.resize(name.size() - end.size());
  }
  return name;
}

Status add_subject(const TaskSpec& spec, const std::filesystem::path& file, Task& task) {
  const std::string subject = subject_of(file);
  std::string about = subject;
  std::ranges::replace(about, '_', ' ');
  std::string head = fmt::format(
      "The following are multiple choice questions (with answers) about {}.\n\n", about);
  const std::filesystem::path dev =
      file.parent_path().parent_path() / "dev" / (subject + "_dev.csv");
  std::error_code ignored;
  if (task.shots > 0 && std::filesystem::exists(dev, ignored)) {
    INGOT_TRY(const std::vector<Question> examples, read_questions(dev, task.shots));
    for (const Question& example : examples)
      head += fmt::format("{} {}\n\n", example.text, static_cast<char>('A' + example.right));
  } else if (task.shots > 0) {
    return Status::not_found("{}: the examples are missing; use --num-fewshot 0", dev.string());
  }
  INGOT_TRY(const std::vector<Question> questions, read_questions(file, spec.limit));
  for (const Question& question : questions) {
    ChoiceItem item{head + question.text, {"A", "B", "C", "D"}, std::vector<bool>(4)};
    item.is_right[question.right] = true;
    task.items.push_back({subject, std::move(item)});
  }
  return Status::ok();
}

}  // namespace

Result<Task> load_mmlu(const TaskSpec& spec) {
  Task task{.name = "mmlu"};
  task.shots = spec.shots < 0 ? kSubjectShots : spec.shots;
  std::error_code ignored;
  if (!std::filesystem::is_directory(spec.data, ignored)) {
    INGOT_TRY(add_subject(spec, spec.data, task));
    return task;
  }
  const std::filesystem::path folder =
      std::filesystem::is_directory(spec.data / "test", ignored) ? spec.data / "test" : spec.data;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".csv") files.push_back(entry.path());
    if (files.size() > limits::kTaskItems) break;
  }
  if (files.empty()) return Status::not_found("{}: has no .csv files", folder.string());
  std::ranges::sort(files);
  for (const std::filesystem::path& file : files) {
    INGOT_TRY(add_subject(spec, file, task));
  }
  return task;
}

}  // namespace ingot
