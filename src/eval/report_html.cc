// SPDX-License-Identifier: Apache-2.0
// The report as one HTML file: style and drawings are inside, nothing is fetched and nothing runs.
#include <algorithm>

#include "eval/report.h"
#include "eval/svg_plot.h"

namespace ingot {
namespace {

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
:root{color-scheme:light dark;--page:#f9f9f7;--card:#fcfcfb;--ink:#0b0b0b;--soft:#52514e;--grid:#e1e0d9;--accent:#2a78d6;--line:#c3c2b7}
@media (prefers-color-scheme:dark){:root{--page:#0d0d0d;--card:#1a1a19;--ink:#fff;--soft:#c3c2b7;--grid:#2c2c2a;--accent:#3987e5;--line:#383835}}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:960px;margin:0 auto;padding:24px 16px 64px}
h1{font-size:24px;margin:8px 0 0}h2{font-size:18px;margin:32px 0 8px}h3{font-size:15px;margin:20px 0 4px}
p{margin:4px 0;color:var(--soft)}
section{background:var(--card);border:1px solid var(--grid);border-radius:8px;padding:8px 16px 16px;margin-top:16px;overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:4px 10px;text-align:right;border-bottom:1px solid var(--grid);white-space:nowrap}
th:first-child,td:first-child{text-align:left}th{color:var(--soft);font-weight:600}
svg{max-width:100%;height:auto;display:block}
svg text{font:12px system-ui,sans-serif;fill:var(--soft)}svg .label{fill:var(--ink)}svg .name{fill:var(--ink)}
.grid{stroke:var(--grid)}.axis{stroke:var(--line)}.bar,.dot{fill:var(--accent)}.dot{stroke:var(--card);stroke-width:2}
.frontier{fill:none;stroke:var(--accent);stroke-width:2;opacity:.6}.whisker{stroke:var(--ink);stroke-width:1.5;opacity:.7}
.chance{stroke:var(--soft);stroke-dasharray:4 4}
.cell{fill:color-mix(in oklab,var(--accent) var(--heat),var(--card))}
code{overflow-wrap:anywhere}
</style>
)";

std::string row(const std::vector<std::string>& cells, bool is_head = false) {
  std::string html = "<tr>";
  for (const std::string& cell : cells)
    html += fmt::format("<{0}>{1}</{0}>", is_head ? "th" : "td", escape_html(cell));
  return html + "</tr>\n";
}

std::string section(std::string_view title, std::string_view note, std::string_view body) {
  if (body.empty()) return "";
  const std::string under = note.empty() ? "" : fmt::format("<p>{}</p>\n", escape_html(note));
  return fmt::format("<section><h2>{}</h2>\n{}{}</section>\n", escape_html(title), under, body);
}

std::string overview_html(const EvalReport& report) {
  std::string html = "<table>\n" + row({"model", "MiB", "bits/weight", "perplexity", "mean KL",
                                        "99 % KL", "same top", "RMS delta p", "ppl ratio"},
                                       true);
  for (const EvaluatedModel& model : report.models) {
    if (!model.failure.empty()) {
      html +=
          fmt::format("<tr><td>{}</td><td colspan=\"8\" style=\"text-align:left\">{}</td></tr>\n",
                      escape_html(model.name), escape_html(model.failure));
      continue;
    }
    std::vector<std::string> cells = {
        model.name, fmt::format("{:.1f}", static_cast<double>(model.bytes) / 0x1p20),
        fmt::format("{:.2f}", model.bits_per_weight)};
    if (model.perplexities.empty()) {
      cells.push_back("\u2013");
    } else {
      const PerplexityResult& result = model.perplexities.front().result;
      cells.push_back(
          fmt::format("{:.4f} \u00b1 {:.4f}", result.perplexity, result.standard_error));
    }
    if (model.kl) {
      const KlStats& stats = model.kl->stats;
      cells.push_back(fmt::format("{:.6f} \u00b1 {:.6f}", stats.mean_kl, stats.mean_kl_error));
      cells.push_back(fmt::format("{:.5f}", stats.kl_99));
      cells.push_back(fmt::format("{:.2f} %", 100 * stats.top1_agreement));
      cells.push_back(fmt::format("{:.3f} %", 100 * stats.rms_delta_p));
      cells.push_back(fmt::format("{:.5f}", stats.perplexity_ratio));
    } else {
      cells.insert(cells.end(), 5, "\u2013");
    }
    html += row(cells);
  }
  return html + "</table>\n";
}

// Quality against size: only a line of dots where there are several models.
std::string frontier(const EvalReport& report) {
  if (report.models.size() < 2) return "";
  std::vector<PlotPoint> kl, perplexity, by_size;
  for (const EvaluatedModel& model : report.models) {
    if (!model.failure.empty()) continue;
    const double mib = static_cast<double>(model.bytes) / 0x1p20;
    if (model.kl) {
      const KlStats& stats = model.kl->stats;
      kl.push_back({model.name, model.bits_per_weight, stats.mean_kl,
                    stats.mean_kl - 2 * stats.mean_kl_error,
                    stats.mean_kl + 2 * stats.mean_kl_error});
    }
    if (!model.perplexities.empty()) {
      // Errors of one text are shared by all models: they would only hide the differences.
      const double value = model.perplexities.front().result.perplexity;
      perplexity.push_back({model.name, model.bits_per_weight, value, {}, {}});
      by_size.push_back({model.name, mib, value, {}, {}});
    }
  }
  std::string html;
  if (!kl.empty())
    html += "<h3>Divergence from the reference</h3>\n" +
            scatter_plot(kl, "bits per weight", "mean KL", true);
  if (!perplexity.empty()) {
    html +=
        "<h3>Perplexity</h3>\n" + scatter_plot(perplexity, "bits per weight", "perplexity", false);
    html += scatter_plot(by_size, "MiB", "perplexity", false);
  }
  return html;
}

std::string tasks(const EvalReport& report) {
  std::vector<std::pair<std::string, std::string>> shown;  // task and measure
  for (const EvaluatedModel& model : report.models) {
    for (const TaskEntry& task : model.tasks) {
      for (const TaskMetric& metric : task.metrics) {
        const std::pair key(task.name, metric.name);
        if (std::ranges::find(shown, key) == shown.end()) shown.push_back(key);
      }
    }
  }
  std::string html;
  for (const auto& [name, measure] : shown) {
    std::vector<PlotBar> bars;
    int64_t items = 0;
    for (const EvaluatedModel& model : report.models) {
      const auto task = std::ranges::find(model.tasks, name, &TaskEntry::name);
      if (task == model.tasks.end()) continue;
      const auto metric = std::ranges::find(task->metrics, measure, &TaskMetric::name);
      if (metric == task->metrics.end()) continue;
      bars.push_back({model.name, metric->value, metric->lower, metric->upper});
      items = task->items;
    }
    html += fmt::format("<h3>{} \u2013 {} ({} items)</h3>\n", escape_html(name),
                        escape_html(measure), items);
    html += bar_plot(bars, {});
  }
  return html;
}

std::string groups(const EvaluatedModel& model) {
  std::string html;
  for (const TaskEntry& task : model.tasks) {
    if (task.groups.empty()) continue;
    std::vector<PlotBar> bars;
    for (const auto& [name, metric] : task.groups)
      bars.push_back({name, metric.value, metric.lower, metric.upper});
    html += fmt::format("<h3>{}</h3>\n", escape_html(task.name)) + bar_plot(bars, {});
  }
  return html;
}

std::string outliers(const EvaluatedModel& model) {
  if (model.outliers.empty()) return "";
  std::string html =
      "<table>\n" + row({"tensor", "layer", "largest", "typical", "ratio", "channels"}, true);
  for (const OutlierEntry& outlier : model.outliers) {
    std::string channels;
    for (size_t i = 0; i < std::min<size_t>(outlier.channels.size(), 8); ++i)
      channels += fmt::format("{}{}", i == 0 ? "" : ", ", outlier.channels[i]);
    const double ratio = outlier.typical > 0 ? outlier.largest / outlier.typical : 0;
    html += row({outlier.tensor, fmt::format("{}", outlier.layer),
                 fmt::format("{:.4g}", outlier.largest), fmt::format("{:.4g}", outlier.typical),
                 fmt::format("{:.1f}", ratio), channels});
  }
  return html + "</table>\n";
}

}  // namespace

std::string to_html(const EvalReport& report) {
  std::string html(kHead);
  html += fmt::format("<title>{0}</title></head>\n<body><main>\n<h1>{0}</h1>\n",
                      escape_html(report.title));
  if (!report.created.empty()) html += fmt::format("<p>{}</p>\n", escape_html(report.created));
  if (!report.command.empty())
    html += fmt::format("<p><code>{}</code></p>\n", escape_html(report.command));
  html += section("Models", "Intervals after \u00b1 are standard errors.", overview_html(report));
  html += section("Quality against size",
                  "Down and to the left is better; the line joins what no other beats in both.",
                  frontier(report));
  html += section("Tasks", "Lines are intervals of 95 %.", tasks(report));
  std::string histograms;
  for (const EvaluatedModel& model : report.models) {
    if (!model.kl) continue;
    histograms += fmt::format("<h3>{}</h3>\n", escape_html(model.name)) +
                  histogram_plot(model.kl->histogram.lowest, model.kl->histogram.ratio,
                                 model.kl->histogram.counts, "KL of a token, nats");
  }
  html += section("Divergence token by token", "", histograms);
  for (const EvaluatedModel& model : report.models) {
    html += section(fmt::format("Groups: {}", model.name), "", groups(model));
    if (model.sensitivity) {
      html += section(fmt::format("Sensitivity: {}", model.name), model.sensitivity->title,
                      heat_map(model.sensitivity->values, model.sensitivity->columns, "layer"));
    }
    html += section(fmt::format("Outlier channels: {}", model.name), "", outliers(model));
  }
  return html + "</main></body></html>\n";
}

}  // namespace ingot
