// SPDX-License-Identifier: Apache-2.0
#include "eval/task_score.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ingot {
namespace {

TaskItem choice_item(std::vector<std::string> choices, std::vector<bool> is_right) {
  return {"", ChoiceItem{"context", std::move(choices), std::move(is_right)}};
}

double metric_of(const TaskEntry& entry, std::string_view name) {
  for (const TaskMetric& metric : entry.metrics) {
    if (metric.name == name) return metric.value;
  }
  ADD_FAILURE() << "no " << name;
  return -1;
}

TEST(TaskScore, TakesTheLikeliestChoiceAlsoByItsLength) {
  const Task task;
  TaskTally tally;
  // Right is the long one: less likely as a whole, likelier by the letter.
  tally.add(task, choice_item({"ab", "abcdefgh"}, {false, true}), {.logprobs = {-4, -6}});
  tally.add(task, choice_item({"ab", "abcd"}, {true, false}), {.logprobs = {-1, -6}});
  const TaskEntry entry = tally.entry(task);
  EXPECT_EQ(entry.items, 2);
  EXPECT_DOUBLE_EQ(metric_of(entry, "acc"), 0.5);
  EXPECT_DOUBLE_EQ(metric_of(entry, "acc_norm"), 1);
  EXPECT_GT(entry.metrics[0].lower, 0);
  EXPECT_LT(entry.metrics[0].upper, 1);
}

TEST(TaskScore, MeasuresTruthfulAnswersInBothWays) {
  Task task;
  task.has_mc2 = true;
  TaskTally tally;
  // exp: 1/2, 1/4 true; 1/4 false.
  tally.add(task, choice_item({"best", "also", "wrong"}, {true, true, false}),
            {.logprobs = {std::log(0.5), std::log(0.25), std::log(0.25)}});
  const TaskEntry entry = tally.entry(task);
  EXPECT_DOUBLE_EQ(metric_of(entry, "mc1"), 1);
  EXPECT_DOUBLE_EQ(metric_of(entry, "mc2"), 0.75);
  TaskTally far;  // nothing is lost where all are very unlikely
  far.add(task, choice_item({"best", "wrong"}, {true, false}), {.logprobs = {-2000, -2000}});
  EXPECT_DOUBLE_EQ(metric_of(far.entry(task), "mc2"), 0.5);
  EXPECT_DOUBLE_EQ(metric_of(far.entry(task), "mc1"), 0) << "a tie is not won";
}

TEST(TaskScore, CountsInstructionsByPromptAndOneByOne) {
  const Task task;
  Instruction no_comma{.kind = InstructionKind::kNoComma, .id = "punctuation:no_comma"};
  Instruction quoted{.kind = InstructionKind::kQuotation, .id = "startend:quotation"};
  TaskTally tally;
  tally.add(task, {"", InstructionItem{"p", 10, {no_comma, quoted}}}, {.answer = "\"all good\""});
  tally.add(task, {"", InstructionItem{"p", 10, {no_comma, quoted}}}, {.answer = "not quoted"});
  tally.add(task, {"", InstructionItem{"p", 10, {no_comma}}}, {.answer = "a, b\nno sign"});
  const TaskEntry entry = tally.entry(task);
  EXPECT_DOUBLE_EQ(metric_of(entry, "prompt_strict"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(metric_of(entry, "prompt_loose"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(metric_of(entry, "instruction_strict"), 3.0 / 5);
  EXPECT_DOUBLE_EQ(metric_of(entry, "instruction_loose"), 4.0 / 5);
  ASSERT_EQ(entry.groups.size(), 2u);
  EXPECT_EQ(entry.groups[0].first, "punctuation:no_comma");
  EXPECT_DOUBLE_EQ(entry.groups[0].second.value, 2.0 / 3);
}

TEST(TaskScore, MeasuresTextsInBitsPerByte) {
  const Task task;
  TaskTally tally;
  tally.add(task, {"", TextItem{"12345678"}}, {.logprobs = {-4 * std::log(2.0)}, .tokens = 4});
  EXPECT_DOUBLE_EQ(metric_of(tally.entry(task), "bits_per_byte"), 0.5);
  EXPECT_DOUBLE_EQ(metric_of(tally.entry(task), "nats_per_token"), std::log(2.0));
}

TEST(TaskScore, KeepsGroupsApart) {
  const Task task;
  TaskTally tally;
  TaskItem item = choice_item({"a", "b"}, {true, false});
  item.group = "law";
  tally.add(task, item, {.logprobs = {-1, -2}});
  item.group = "physics";
  tally.add(task, item, {.logprobs = {-2, -1}});
  const TaskEntry entry = tally.entry(task);
  ASSERT_EQ(entry.groups.size(), 2u);
  EXPECT_EQ(entry.groups[0].second.value, 1);
  EXPECT_EQ(entry.groups[1].second.value, 0);
}

}  // namespace
}  // namespace ingot
