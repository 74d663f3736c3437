// SPDX-License-Identifier: Apache-2.0
#include "eval/task_score.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/utf8.h"
#include "eval/answer.h"

namespace ingot {
namespace {

double as_number(bool value) {
  return value ? 1 : 0;
}

std::vector<ItemScore> score_choices(const Task& task, const ChoiceItem& item,
                                     const ItemResult& result) {
  INGOT_CHECK(result.logprobs.size() == item.choices.size());
  std::vector<double> per_character;
  for (size_t i = 0; i < item.choices.size(); ++i) {
    const std::string& choice = item.choices[i];
    const size_t length = utf8::count(utf8::replace_invalid(choice));
    per_character.push_back(result.logprobs[i] / static_cast<double>(std::max<size_t>(length, 1)));
  }
  const auto best_is_right = [&](const std::vector<double>& scores) {
    const auto best = static_cast<size_t>(std::ranges::max_element(scores) - scores.begin());
    return as_number(item.is_right[best]);
  };
  std::vector<ItemScore> scores;
  if (!task.has_mc2) {
    scores.push_back({"acc", {best_is_right(result.logprobs)}});
    scores.push_back({"acc_norm", {best_is_right(per_character)}});
    return scores;
  }
  // MC1 leaves out all true answers but the best, which stands first. MC2: likelihoods relative to
  // the largest, so that none is lost to underflow.
  bool is_best = true;
  double right = 0;
  double all = 0;
  const double top = *std::ranges::max_element(result.logprobs);
  for (size_t i = 0; i < item.choices.size(); ++i) {
    if (!item.is_right[i] && result.logprobs[i] >= result.logprobs[0]) is_best = false;
    const double weight = std::exp(result.logprobs[i] - top);
    all += weight;
    if (item.is_right[i]) right += weight;
  }
  scores.push_back({"mc1", {as_number(is_best)}});
  scores.push_back({"mc2", {right / all}});
  return scores;
}

std::vector<ItemScore> score_answer(const AnswerItem& item, const ItemResult& result) {
  if (item.is_contained) return {{"contains", {as_number(is_right_answer(item, result.answer))}}};
  std::vector<ItemScore> scores = {
      {"exact_match", {as_number(is_right_answer(item, result.answer))}}};
  if (item.extraction == Extraction::kNumber)
    scores.push_back({"strict_match", {as_number(is_strictly_right(item, result.answer))}});
  return scores;
}

std::vector<ItemScore> score_instructions(const InstructionItem& item, const ItemResult& result) {
  double strict = 0;
  double loose = 0;
  for (const Instruction& instruction : item.instructions) {
    strict += as_number(is_followed(instruction, result.answer));
    loose += as_number(is_followed_loosely(instruction, result.answer));
  }
  const auto all = static_cast<double>(item.instructions.size());
  return {{"prompt_strict", {as_number(strict == all)}},
          {"prompt_loose", {as_number(loose == all)}},
          {"instruction_strict", {strict, all}},
          {"instruction_loose", {loose, all}}};
}

std::vector<ItemScore> score_text(const TextItem& item, const ItemResult& result) {
  const double nll = -result.logprobs.front();
  return {{"bits_per_byte", {nll / std::log(2.0), static_cast<double>(item.text.size())}},
          {"nats_per_token", {nll, static_cast<double>(result.tokens)}}};
}

}  // namespace

std::vector<ItemScore> score_item(const Task& task, const TaskItem& item,
                                  const ItemResult& result) {
  if (const auto* choices = std::get_if<ChoiceItem>(&item.what))
    return score_choices(task, *choices, result);
  if (const auto* answer = std::get_if<AnswerItem>(&item.what))
    return score_answer(*answer, result);
  if (const auto* instructions = std::get_if<InstructionItem>(&item.what))
    return score_instructions(*instructions, result);
  return score_text(std::get<TextItem>(item.what), result);
}

void TaskTally::add(const Task& task, const TaskItem& item, const ItemResult& result) {
  ++items_;
  const std::vector<ItemScore> scores = score_item(task, item, result);
  for (const ItemScore& score : scores) {
    auto metric = std::ranges::find(metrics_, score.metric, &Metric::name);
    if (metric == metrics_.end())
      metric = metrics_.insert(metrics_.end(), Metric{std::string(score.metric), {}});
    metric->items.push_back(score.score);
  }
  const auto add_to_group = [&](const std::string& name, const ItemScore& score) {
    const auto [found, is_new] = group_index_.emplace(name, groups_.size());
    if (is_new) groups_.push_back({name, {std::string(score.metric), {}}});
    groups_[found->second].second.items.push_back(score.score);
  };
  if (!item.group.empty()) add_to_group(item.group, scores.front());
  if (const auto* instructions = std::get_if<InstructionItem>(&item.what)) {
    for (const Instruction& instruction : instructions->instructions)
      add_to_group(instruction.id,
                   {"instruction_strict", {as_number(is_followed(instruction, result.answer))}});
  }
}

TaskMetric TaskTally::summarize(const Metric& metric) {
  TaskMetric summary{.name = metric.name};
  double value = 0;
  double weight = 0;
  bool is_yes_or_no = true;
  for (const Weighted& item : metric.items) {
    value += item.value;
    weight += item.weight;
    is_yes_or_no = is_yes_or_no && item.weight == 1 && (item.value == 0 || item.value == 1);
  }
  if (weight <= 0) return summary;
  summary.value = value / weight;
  const Interval interval =
      is_yes_or_no ? wilson_interval(value, weight) : bootstrap_interval(metric.items);
  summary.lower = interval.lower;
  summary.upper = interval.upper;
  return summary;
}

TaskEntry TaskTally::entry(const Task& task) const {
  TaskEntry entry{.name = task.name, .items = items_, .shots = task.shots};
  for (const Metric& metric : metrics_)
    entry.metrics.push_back(summarize(metric));
  for (const auto& [name, metric] : groups_)
    entry.groups.emplace_back(name, summarize(metric));
  return entry;
}

}  // namespace ingot
