// SPDX-License-Identifier: Apache-2.0
// From what the model said to a task's numbers. Pure arithmetic: no model runs here.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/interval.h"
#include "eval/report.h"
#include "eval/task.h"

namespace ingot {

// What came back for one item.
struct ItemResult {
  std::vector<double> logprobs = {};  // choices: of each; a text: its sum
  int64_t tokens = 0;                 // a text's, those scored
  std::string answer = {};
};

// The measures of one item, in the order they are reported.
struct ItemScore {
  std::string_view metric = {};
  Weighted score = {};
};
std::vector<ItemScore> score_item(const Task& task, const TaskItem& item, const ItemResult& result);

// Collects items. Shares of yes and no get Wilson's interval, all others a bootstrap over items.
class TaskTally {
 public:
  void add(const Task& task, const TaskItem& item, const ItemResult& result);
  TaskEntry entry(const Task& task) const;

 private:
  struct Metric {
    std::string name;
    std::vector<Weighted> items;
  };
  static TaskMetric summarize(const Metric& metric);
  std::vector<Metric> metrics_;
  std::vector<std::pair<std::string, Metric>> groups_;  // the first measure, by group
  std::map<std::string, size_t> group_index_;
  int64_t items_ = 0;
};

}  // namespace ingot
