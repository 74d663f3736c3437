// SPDX-License-Identifier: Apache-2.0
#include "bench/serve_figures.h"

#include <algorithm>
#include <numeric>

namespace ingot {
namespace {

void add_answer(const ServeRecord& record, ServeFigures& figures) {
  ++figures.ok;
  figures.prompt_tokens += record.prompt_tokens;
  figures.output_tokens += record.output_tokens;
  figures.chunks += record.output_tokens > 0 ? static_cast<int64_t>(record.gaps.size()) + 1 : 0;
  if (record.cached_tokens)
    figures.cached_tokens = figures.cached_tokens.value_or(0) + *record.cached_tokens;
  if (record.output_tokens != record.asked_tokens) ++figures.other_length;
  if (!record.has_usage) ++figures.uncounted;
  figures.ms.ttft.push_back(record.first * 1e3);
  figures.ms.e2el.push_back(record.last * 1e3);
  if (record.output_tokens > 1) figures.ms.tpot.push_back(record.per_token() * 1e3);
  for (const double gap : record.gaps)
    figures.ms.itl.push_back(gap * 1e3);
}

}  // namespace

ServeFigures figures_of(std::span<const ServeRun> runs, const ServeSlo& slo) {
  ServeFigures figures;
  double flight_seconds = 0;
  double cpu_seconds = 0;
  for (const ServeRun& run : runs) {
    figures.seconds += run.seconds;
    figures.unsent += run.unsent;
    figures.peak_in_flight = std::max(figures.peak_in_flight, run.peak_in_flight);
    flight_seconds += run.mean_in_flight * run.seconds;
    cpu_seconds += run.own_cpu_seconds;
    for (const ServeRecord& record : run.requests) {
      figures.ms.late.push_back((record.sent - record.due) * 1e3);
      if (slo.is_met(record)) ++figures.good;
      if (record.retry_after) {
        figures.retry_after = std::max(figures.retry_after.value_or(0), *record.retry_after);
      }
      if (record.outcome == ServeOutcome::kOk) {
        add_answer(record, figures);
        continue;
      }
      ++figures.errors[record.error];
      if (record.outcome == ServeOutcome::kFailed) {
        ++figures.failed;
      } else {
        ++figures.refused;
        figures.ms.refusal.push_back(record.last * 1e3);
      }
    }
  }
  if (figures.seconds > 0) {
    figures.mean_in_flight = flight_seconds / figures.seconds;
    figures.own_cpu = cpu_seconds / figures.seconds;
  }
  ServeLatencies& ms = figures.ms;
  for (std::vector<double>* values : {&ms.ttft, &ms.tpot, &ms.itl, &ms.e2el, &ms.refusal, &ms.late})
    std::ranges::sort(*values);
  return figures;
}

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

double mean_of(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace ingot
