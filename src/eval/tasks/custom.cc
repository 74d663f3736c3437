// SPDX-License-Identifier: Apache-2.0
// Tasks of one's own: a line of JSON for each item, whose "kind" says what it is
// (docs/evaluation.md). Kinds may be mixed; each has its own measures.
#include "base/limits.h"
#include "eval/response_text.h"
#include "eval/tasks/task_file.h"
#include "eval/tasks/task_loaders.h"

namespace ingot {
namespace {

constexpr int64_t kMostTokens = 1 << 20;

// A number from 0, a letter, the right choice itself, or a list of these.
Status mark_right(const TaskObject& line, const Json& answer, ChoiceItem& item) {
  const auto mark = [&](const Json& value) -> Status {
    size_t index = item.choices.size();
    if (value.is_number_integer()) {  // one below 0 becomes a very large one
      index = static_cast<size_t>(std::min<uint64_t>(value.get<uint64_t>(), index));
    } else if (value.is_string()) {
      const auto text = value.get<std::string>();
      index = static_cast<size_t>(std::ranges::find(item.choices, text) - item.choices.begin());
      if (index == item.choices.size() && text.size() == 1 && text[0] >= 'A' && text[0] <= 'Z')
        index = static_cast<size_t>(text[0] - 'A');
    }
    if (index >= item.choices.size())
      return line.error("'answer' must be a choice: its number from 0, its letter, or its text");
    item.is_right[index] = true;
    return Status::ok();
  };
  if (!answer.is_array()) return mark(answer);
  if (answer.empty()) return line.error("'answer' is empty");
  for (const Json& value : answer) {
    INGOT_TRY(mark(value));
  }
  return Status::ok();
}

Result<ChoiceItem> parse_choices(const TaskObject& line) {
  ChoiceItem item;
  INGOT_TRY(item.context, line.string("context"));
  INGOT_TRY(item.choices, line.strings("choices", limits::kTaskChoices));
  if (item.choices.size() < 2) return line.error("'choices' must have at least two entries");
  for (const std::string& choice : item.choices) {
    if (trim(choice).empty()) return line.error("a choice is empty");
  }
  item.is_right.resize(item.choices.size());
  const Json* answer = line.find("answer");
  if (answer == nullptr) return line.error("'answer' is missing");
  INGOT_TRY(mark_right(line, *answer, item));
  return item;
}

Result<AnswerItem> parse_answer(const TaskObject& line, const TaskSpec& spec) {
  AnswerItem item;
  INGOT_TRY(item.prompt, line.string("prompt"));
  INGOT_TRY(item.expected, line.string_or_strings("answer", limits::kTaskChoices));
  if (item.expected.empty()) return line.error("'answer' is empty");
  if (line.has("stop")) {
    INGOT_TRY(item.stop, line.string_or_strings("stop", limits::kRequestStrings));
  }
  if (line.has("max_tokens")) {
    INGOT_TRY(item.max_tokens, line.integer("max_tokens", 1, kMostTokens));
  }
  if (spec.max_tokens >= 0) item.max_tokens = spec.max_tokens;
  INGOT_TRY(item.ignores_case, line.boolean_or("ignore_case", false));
  INGOT_TRY(item.is_chat, line.boolean_or("chat", spec.uses_chat));
  INGOT_TRY(const std::string extract, line.string_or("extract", "all"));
  if (extract == "first_line") {
    item.extraction = Extraction::kFirstLine;
  } else if (extract == "number") {
    item.extraction = Extraction::kNumber;
  } else if (extract != "all") {
    return line.error(
        fmt::format("'extract' is '{}' but must be all, first_line or number", extract));
  }
  return item;
}

Result<TaskItem> parse_item(const TaskObject& line, const TaskSpec& spec) {
  TaskItem item;
  INGOT_TRY(item.group, line.string_or("group", ""));
  INGOT_TRY(const std::string kind, line.string("kind"));
  if (kind == "multiple_choice") {
    INGOT_TRY(item.what, parse_choices(line));
  } else if (kind == "exact_match" || kind == "contains") {
    INGOT_TRY(AnswerItem answer, parse_answer(line, spec));
    answer.is_contained = kind == "contains";
    item.what = std::move(answer);
  } else if (kind == "perplexity") {
    TextItem text;
    INGOT_TRY(text.text, line.string("text"));
    if (text.text.empty()) return line.error("'text' is empty");
    item.what = std::move(text);
  } else {
    return line.error(fmt::format(
        "'kind' is '{}' but must be multiple_choice, exact_match, contains or perplexity", kind));
  }
  return item;
}

}  // namespace

Result<Task> load_custom_task(const TaskSpec& spec) {
  const std::filesystem::path file =
      spec.data.empty() ? std::filesystem::path(spec.name) : spec.data;
  Task task{.name = file.stem().string()};
  INGOT_TRY(for_each_object(file, [&](const TaskObject& line) -> Result<bool> {
    INGOT_TRY(TaskItem item, parse_item(line, spec));
    task.items.push_back(std::move(item));
    return spec.limit < 0 || static_cast<int64_t>(task.items.size()) < spec.limit;
  }));
  return task;
}

}  // namespace ingot
