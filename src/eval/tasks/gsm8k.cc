// SPDX-License-Identifier: Apache-2.0
// GSM8K: school mathematics with worked answers that end in "#### 18". Examples come from the
// train file where it stands beside the test file, else from the first questions, which are then
// not asked.
#include "eval/answer.h"
#include "eval/tasks/task_file.h"
#include "eval/tasks/task_loaders.h"

namespace ingot {
namespace {

constexpr int64_t kProblemShots = 5;
constexpr int64_t kSolutionTokens = 256;

struct Problem {
  std::string question, answer;
};

Result<Problem> parse_problem(const TaskObject& line) {
  Problem problem;
  INGOT_TRY(problem.question, line.string("question"));
  INGOT_TRY(problem.answer, line.string("answer"));
  if (!number_after_marks(problem.answer))
    return line.error("'answer' must end in '#### ' and a number");
  return problem;
}

std::string example_of(const Problem& problem) {
  return fmt::format("Question: {}\nAnswer: {}\n\n", problem.question, problem.answer);
}

}  // namespace

Result<Task> load_gsm8k(const TaskSpec& spec) {
  INGOT_TRY(const std::filesystem::path file, find_task_file(spec.data, {"test.jsonl"}));
  Task task{.name = "gsm8k"};
  task.shots = spec.shots < 0 ? kProblemShots : spec.shots;
  std::string examples;
  int64_t examples_left = task.shots;
  const std::filesystem::path train = file.parent_path() / "train.jsonl";
  std::error_code ignored;
  if (examples_left > 0 && std::filesystem::exists(train, ignored) && train != file) {
    INGOT_TRY(for_each_object(train, [&](const TaskObject& line) -> Result<bool> {
      INGOT_TRY(const Problem problem, parse_problem(line));
      examples += example_of(problem);
      return --examples_left > 0;
    }));
  }
  INGOT_TRY(for_each_object(file, [&](const TaskObject& line) -> Result<bool> {
    INGOT_TRY(const Problem problem, parse_problem(line));
    if (examples_left > 0) {
      examples += example_of(problem);
      --examples_left;
      return true;
    }
    AnswerItem item;
    item.is_chat = spec.uses_chat;
    item.prompt = examples + (item.is_chat && examples.empty()
                                  ? problem.question
                                  : fmt::format("Question: {}\nAnswer:", problem.question));
    item.stop = {"Question:"};
    item.max_tokens = spec.max_tokens < 0 ? kSolutionTokens : spec.max_tokens;
    item.expected = {problem.answer};
    item.extraction = Extraction::kNumber;
    task.items.push_back({"", std::move(item)});
    return spec.limit < 0 || static_cast<int64_t>(task.items.size()) < spec.limit;
  }));
  return task;
}

}  // namespace ingot
