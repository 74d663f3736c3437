// SPDX-License-Identifier: Apache-2.0
// HellaSwag: which of four endings goes on with a text? Captions and how-to steps carry marks such
// as "[step]", which are taken out as is usual, so that scores compare.
#include "base/limits.h"
#include "eval/response_text.h"
#include "eval/tasks/task_file.h"
#include "eval/tasks/task_loaders.h"

namespace ingot {
namespace {

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string clean(std::string_view text) {
  std::string cleaned = replace_all(std::string(trim(text)), " [title]", ". ");
  for (size_t at = cleaned.find('['); at != std::string::npos; at = cleaned.find('[', at)) {
    const size_t end = cleaned.find(']', at);
    if (end == std::string::npos) break;
    cleaned.erase(at, end - at + 1);
  }
  return replace_all(std::move(cleaned), "  ", " ");
}

// The first letter large, the others small.
std::string capitalized(std::string_view text) {
  std::string lower = to_lower(text);
  if (!lower.empty() && lower[0] >= 'a' && lower[0] <= 'z')
    lower[0] = static_cast<char>(lower[0] - 'a' + 'A');
  return lower;
}

Result<ChoiceItem> parse_ending(const TaskObject& line) {
  ChoiceItem item;
  INGOT_TRY(const std::string label, line.string("activity_label"));
  INGOT_TRY(const std::string first, line.string("ctx_a"));
  INGOT_TRY(const std::string second, line.string_or("ctx_b", ""));
  INGOT_TRY(const std::vector<std::string> endings, line.strings("endings", limits::kTaskChoices));
  if (endings.size() < 2) return line.error("'endings' must have at least two entries");
  const auto last = static_cast<int64_t>(endings.size()) - 1;
  int64_t right = 0;
  if (const Json* label_value = line.find("label"); label_value && label_value->is_string()) {
    const auto text = label_value->get<std::string>();
    if (text.size() != 1 || text[0] < '0' || text[0] - '0' > last)
      return line.error(fmt::format("'label' must be from 0 to {}", last));
    right = text[0] - '0';
  } else {
    INGOT_TRY(right, line.integer("label", 0, last));
  }
  item.context = clean(label + ": " + first + " " + capitalized(second));
  for (const std::string& ending : endings)
    item.choices.push_back(clean(ending));
  item.is_right.resize(endings.size());
  item.is_right[static_cast<size_t>(right)] = true;
  return item;
}

}  // namespace

Result<Task> load_hellaswag(const TaskSpec& spec) {
  INGOT_TRY(const std::filesystem::path file,
            find_task_file(spec.data, {"hellaswag_val.jsonl", "hellaswag_subset.jsonl"}));
  return load_choices("hellaswag", file, spec, parse_ending);
}

}  // namespace ingot
