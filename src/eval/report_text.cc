// SPDX-License-Identifier: Apache-2.0
// The report for a terminal: a block for each model, and one table for all when there are several.
#include <algorithm>

#include "eval/report.h"

namespace ingot {
namespace {

std::string size_text(uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= uint64_t{1} << 30) return fmt::format("{:.2f} GiB", value / 0x1p30);
  return fmt::format("{:.1f} MiB", value / 0x1p20);
}

// Columns as wide as their widest cell; the first stands left, the others right.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
                     : fmt::format("  {:>{}}", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string describe(const PerplexityEntry& entry) {
  const std::string stride =
      entry.stride > 0 ? fmt::format(", stride {}", entry.stride) : std::string();
  return fmt::format(
      "perplexity: {:.4f} +/- {:.5f} (95 %: {:.4f} to {:.4f}; {} tokens scored in {} windows of "
      "{}{}; {}, {})\n",
      entry.result.perplexity, entry.result.standard_error, entry.result.lower, entry.result.upper,
      entry.result.tokens, entry.result.windows, entry.context, stride, entry.protocol, entry.text);
}

std::string describe(const KlEntry& entry) {
  const KlStats& stats = entry.stats;
  std::string text =
      fmt::format("divergence from {} ({} tokens):\n", entry.reference, stats.tokens);
  text += table({
      {"  mean KL", fmt::format("{:.6f} +/- {:.6f}", stats.mean_kl, stats.mean_kl_error)},
      {"  median KL", fmt::format("{:.6f}", stats.median_kl)},
      {"  99 % KL", fmt::format("{:.6f}", stats.kl_99)},
      {"  99.9 % KL", fmt::format("{:.6f}", stats.kl_999)},
      {"  largest KL", fmt::format("{:.6f}", stats.max_kl)},
      {"  same top token", fmt::format("{:.3f} +/- {:.3f} %", 100 * stats.top1_agreement,
                                       100 * stats.top1_agreement_error)},
      {"  RMS of delta p",
       fmt::format("{:.3f} +/- {:.3f} %", 100 * stats.rms_delta_p, 100 * stats.rms_delta_p_error)},
      {"  mean delta p", fmt::format("{:+.3f} %", 100 * stats.mean_delta_p)},
      {"  perplexity ratio",
       fmt::format("{:.6f} +/- {:.6f}", stats.perplexity_ratio, stats.perplexity_ratio_error)},
  });
  return text;
}

std::string describe_tasks(const std::vector<TaskEntry>& tasks) {
  std::vector<std::vector<std::string>> rows = {
      {"task", "items", "shots", "measure", "value", "95 %"}};
  for (const TaskEntry& task : tasks) {
    for (size_t i = 0; i < task.metrics.size(); ++i) {
      const TaskMetric& metric = task.metrics[i];
      rows.push_back({i == 0 ? task.name : "", i == 0 ? fmt::format("{}", task.items) : "",
                      i == 0 ? fmt::format("{}", task.shots) : "", metric.name,
                      fmt::format("{:.4f}", metric.value),
                      fmt::format("{:.4f} to {:.4f}", metric.lower, metric.upper)});
    }
  }
  return table(rows);
}

// The texts behind the first, which the divergence is measured on, by the names of their files.
std::vector<std::string> further_texts(const EvalReport& report) {
  std::vector<std::string> names;
  for (const EvaluatedModel& model : report.models) {
    for (size_t i = names.size() + 1; i < model.perplexities.size(); ++i)
      names.push_back(std::filesystem::path(model.perplexities[i].text).filename().string());
  }
  return names;
}

// Ratios are to the first model of the table.
void add_further_texts(const EvalReport& report, const EvaluatedModel& model, size_t count,
                       std::vector<std::string>& row) {
  for (size_t i = 1; i <= count; ++i) {
    const EvaluatedModel& first = report.models.front();
    if (i >= model.perplexities.size() || i >= first.perplexities.size()) {
      row.insert(row.end(), {"-", "-", "-"});
      continue;
    }
    const PerplexityResult& result = model.perplexities[i].result;
    row.push_back(fmt::format("{:.4f}", result.perplexity));
    row.push_back(fmt::format("{:.4f}", result.standard_error));
    row.push_back(
        fmt::format("{:.5f}", result.perplexity / first.perplexities[i].result.perplexity));
  }
}

std::string overview_text(const EvalReport& report) {
  const auto any = [&](auto&& has) { return std::ranges::any_of(report.models, has); };
  const bool has_perplexity =
      any([](const EvaluatedModel& model) { return !model.perplexities.empty(); });
  const bool has_kl = any([](const EvaluatedModel& model) { return model.kl.has_value(); });
  std::vector<std::string> tasks;
  for (const EvaluatedModel& model : report.models) {
    for (const TaskEntry& task : model.tasks) {
      if (std::ranges::find(tasks, task.name) == tasks.end()) tasks.push_back(task.name);
    }
  }
  std::vector<std::vector<std::string>> rows(1);
  rows[0] = {"model", "size", "bits/weight"};
  if (has_perplexity) rows[0].insert(rows[0].end(), {"perplexity", "+/-"});
  const std::vector<std::string> texts = further_texts(report);
  for (const std::string& text : texts)
    rows[0].insert(rows[0].end(), {text, "+/-", "ratio"});
  if (has_kl) rows[0].insert(rows[0].end(), {"mean KL", "99 % KL", "same top", "ppl ratio"});
  rows[0].insert(rows[0].end(), tasks.begin(), tasks.end());
  for (const EvaluatedModel& model : report.models) {
    std::vector<std::string>& row = rows.emplace_back(std::vector<std::string>{
        model.name, size_text(model.bytes), fmt::format("{:.2f}", model.bits_per_weight)});
    if (!model.failure.empty()) {
      row = {model.name, "failed"};
      continue;
    }
    if (has_perplexity && !model.perplexities.empty()) {
      const PerplexityResult& result = model.perplexities.front().result;
      row.push_back(fmt::format("{:.4f}", result.perplexity));
      row.push_back(fmt::format("{:.4f}", result.standard_error));
    } else if (has_perplexity) {
      row.insert(row.end(), {"-", "-"});
    }
    add_further_texts(report, model, texts.size(), row);
    if (has_kl && model.kl) {
      const KlStats& stats = model.kl->stats;
      row.push_back(fmt::format("{:.6f}", stats.mean_kl));
      row.push_back(fmt::format("{:.5f}", stats.kl_99));
      row.push_back(fmt::format("{:.2f} %", 100 * stats.top1_agreement));
      row.push_back(fmt::format("{:.5f}", stats.perplexity_ratio));
    } else if (has_kl) {
      row.insert(row.end(), {"-", "-", "-", "-"});
    }
    for (const std::string& name : tasks) {
      const auto task = std::ranges::find(model.tasks, name, &TaskEntry::name);
      row.push_back(task == model.tasks.end() || task->metrics.empty()
                        ? "-"
                        : fmt::format("{:.4f}", task->metrics.front().value));
    }
  }
  return table(rows);
}

}  // namespace

std::string to_text(const EvalReport& report) {
  if (report.models.size() != 1) return overview_text(report);
  const EvaluatedModel& model = report.models.front();
  std::string text = fmt::format("{}: {}, {:.2f} bits per weight\n", model.name,
                                 size_text(model.bytes), model.bits_per_weight);
  for (const PerplexityEntry& entry : model.perplexities)
    text += describe(entry);
  if (model.kl) text += describe(*model.kl);
  if (!model.tasks.empty()) text += describe_tasks(model.tasks);
  return text;
}

}  // namespace ingot
