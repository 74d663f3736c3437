// SPDX-License-Identifier: Apache-2.0
// ARC and what has its form: a question, answers with labels, the label of the right one. Both the
// original nesting and the flat one of data hubs.
#include "base/limits.h"
#include "eval/tasks/task_file.h"
#include "eval/tasks/task_loaders.h"

namespace ingot {
namespace {

struct Choices {
  std::vector<std::string> texts, labels;
};

// [{"text", "label"}, ...] or {"text": [...], "label": [...]}.
Result<Choices> parse_choices(const TaskObject& object, const TaskObject& line) {
  const Json* value = object.find("choices");
  Choices choices;
  if (value != nullptr && value->is_object()) {
    INGOT_TRY(const TaskObject lists, object.object("choices"));
    INGOT_TRY(choices.texts, lists.strings("text", limits::kTaskChoices));
    INGOT_TRY(choices.labels, lists.strings("label", limits::kTaskChoices));
  } else if (value != nullptr && value->is_array() && value->size() <= limits::kTaskChoices) {
    for (const Json& entry : *value) {
      if (!entry.is_object() || !entry.contains("text") || !entry["text"].is_string() ||
          !entry.contains("label") || !entry["label"].is_string())
        return line.error("each of 'choices' must have the strings 'text' and 'label'");
      choices.texts.push_back(entry["text"].get<std::string>());
      choices.labels.push_back(entry["label"].get<std::string>());
    }
  } else {
    return line.error(fmt::format("'choices' must be a list of at most {}", limits::kTaskChoices));
  }
  if (choices.texts.size() < 2 || choices.texts.size() != choices.labels.size())
    return line.error("'choices' must have at least two texts, each with its label");
  return choices;
}

Result<ChoiceItem> parse_arc(const TaskObject& line) {
  ChoiceItem item;
  Choices choices;
  const Json* question = line.find("question");
  if (question != nullptr && question->is_object()) {
    INGOT_TRY(const TaskObject nested, line.object("question"));
    INGOT_TRY(const std::string stem, nested.string("stem"));
    INGOT_TRY(choices, parse_choices(nested, line));
    item.context = stem;
  } else {
    INGOT_TRY(item.context, line.string("question"));
    INGOT_TRY(choices, parse_choices(line, line));
  }
  INGOT_TRY(const std::string key, line.string("answerKey"));
  item.context = "Question: " + item.context + "\nAnswer:";
  for (const std::string& label : choices.labels)
    item.is_right.push_back(label == key);
  if (std::ranges::find(item.is_right, true) == item.is_right.end())
    return line.error(fmt::format("'answerKey' is '{}', which is no choice's label", key));
  item.choices = std::move(choices.texts);
  return item;
}

}  // namespace

Result<Task> load_arc(const TaskSpec& spec) {
  INGOT_TRY(const std::filesystem::path file,
            find_task_file(spec.data, {"test.jsonl", "ARC-Challenge-Test.jsonl",
                                       "ARC-Easy-Test.jsonl", "validation.jsonl"}));
  return load_choices("arc", file, spec, parse_arc);
}

}  // namespace ingot
