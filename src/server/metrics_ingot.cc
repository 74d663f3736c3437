// SPDX-License-Identifier: Apache-2.0
#include "server/metrics_ingot.h"

#include <fmt/format.h>

#include <array>

#include "base/log.h"

namespace ingot {
namespace {

using Type = MetricText::Type;

constexpr std::chrono::seconds kSpeedWindow{10};
constexpr std::array<double, 12> kHttpBounds = {.001, .005, .01, .05, .1, .5,
                                                1,    5,    10,  30,  60, 300};

double ratio(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

IngotMetrics::IngotMetrics(const std::string& model_name, const std::string& version)
    : labels_(format_labels({{"model_name", model_name}})),
      build_labels_(format_labels({{"version", version}, {"compiler", __VERSION__}})) {}

void IngotMetrics::count_http(std::string_view method, std::string_view route, int status,
                              double seconds) {
  ++http_requests_[{std::string(method), std::string(route), status}];
  const auto found = http_seconds_.try_emplace(std::string(route), kHttpBounds).first;
  found->second.add(seconds);
}

void IngotMetrics::sample(const EngineStats& engine) {
  const auto now = Clock::now();
  samples_.push_back({now, engine.scheduler.prompt_tokens, engine.generated_tokens});
  while (samples_.size() > 1 && samples_[1].time <= now - kSpeedWindow)
    samples_.pop_front();
}

void IngotMetrics::write(const ServerFigures& figures, MetricText& out) const {
  write_pages(figures, out);
  write_engine(figures, out);
  write_speed(figures, out);
  write_http(figures, out);
  out.family("ingot:build_info", Type::kGauge, "The version of this program.");
  out.add(build_labels_, int64_t{1});
}

void IngotMetrics::write_pages(const ServerFigures& figures, MetricText& out) const {
  const SchedulerStats& scheduler = figures.engine.scheduler;
  const PrefixStats& prefixes = figures.engine.prefixes;
  out.family("ingot:kv_pages", Type::kGauge,
             "Pages of the KV cache: free, used by sequences, or cached (free on demand).");
  for (size_t i = 0; i < scheduler.pages_total.size(); ++i) {
    const int64_t free = scheduler.pages_free[i];
    const int64_t cached = scheduler.pages_cached[i];
    const auto add = [&](std::string_view state, int64_t pages) {
      out.add(fmt::format("{},group=\"{}\",state=\"{}\"", labels_, i, state), pages);
    };
    add("free", free);
    add("used", scheduler.pages_total[i] - free - cached);
    add("cached", cached);
  }
  out.gauge("ingot:kv_waste_ratio", "Share of empty slots in the pages of running sequences.",
            labels_, figures.engine.waste);
  out.gauge("ingot:prefix_cache_hit_ratio",
            "Share of prompt tokens found in the prefix cache since the start.", labels_,
            ratio(scheduler.reused_tokens, scheduler.prompt_tokens));
  out.family("ingot:prefix_nodes", Type::kGauge, "Nodes of the prefix tree.");
  out.add(labels_, prefixes.nodes);
  out.counter("ingot:prefix_pages_evicted_total", "Cached pages given up for others.", labels_,
              prefixes.pages_evicted);
  out.counter("ingot:prefix_pages_stored_total", "Cached pages moved to a lower tier.", labels_,
              prefixes.pages_stored);
  out.counter("ingot:prefix_pages_loaded_total", "Cached pages found in a lower tier.", labels_,
              prefixes.pages_loaded);
}

void IngotMetrics::write_engine(const ServerFigures& figures, MetricText& out) const {
  const EngineStats& engine = figures.engine;
  out.family("ingot:step_duration_seconds", Type::kHistogram,
             "A step: deciding what to compute, the forward pass, sampling.");
  out.add(labels_, engine.step_seconds.bounds, engine.step_seconds.counts, engine.step_seconds.sum);
  out.counter("ingot:failed_steps_total", "Steps that ended with an error.", labels_,
              engine.failed_steps);
  out.counter("ingot:steps_ahead_total",
              "Steps that began before the tokens of the one before were known.", labels_,
              engine.steps_ahead);
  out.counter("ingot:computed_tokens_total", "Tokens of all forward passes.", labels_,
              engine.computed_tokens);
  out.family("ingot:step_phase_seconds_total", Type::kCounter, "Where the time of steps went.");
  const auto add_phase = [&](std::string_view phase, double seconds) {
    out.add(fmt::format("{},phase=\"{}\"", labels_, phase), seconds);
  };
  add_phase("plan", engine.times.plan);
  add_phase("forward", engine.times.forward);
  add_phase("sample", engine.times.sample);
  out.family("ingot:sequences_paused", Type::kGauge,
             "Sequences that rest because their client reads slowly.");
  out.add(labels_, engine.scheduler.paused);
  out.family("ingot:requests_queued", Type::kGauge, "Requests that wait for their key's turn.");
  out.add(labels_, figures.queued);
  out.counter("ingot:requests_refused_total", "Requests answered with 429.", labels_, refused_);
  out.family("ingot:engine_stuck", Type::kGauge, "1 while the watchdog sees no progress.");
  out.add(labels_, int64_t{figures.is_stuck});
  out.counter("ingot:log_lines_dropped_total", "Lines of the log that nobody read in time.", "",
              log_lines_dropped());
  out.family("ingot:spans_total", Type::kCounter, "Spans for the collector of traces.");
  out.add("result=\"exported\"", figures.spans.exported);
  out.add("result=\"dropped\"", figures.spans.dropped);
  out.family("ingot:draining", Type::kGauge, "1 while the server finishes before it stops.");
  out.add(labels_, int64_t{figures.is_draining});
}

void IngotMetrics::write_speed(const ServerFigures& figures, MetricText& out) const {
  double prompt = 0, generation = 0;
  if (!samples_.empty()) {
    const Sample& then = samples_.front();
    const double seconds = std::chrono::duration<double>(Clock::now() - then.time).count();
    const auto speed = [&](int64_t now, int64_t before) {
      return seconds > 0 ? static_cast<double>(now - before) / seconds : 0;
    };
    prompt = speed(figures.engine.scheduler.prompt_tokens, then.prompt_tokens);
    generation = speed(figures.engine.generated_tokens, then.generated_tokens);
  }
  out.gauge("ingot:prompt_tokens_per_second", "Tokens of prompts in the last ten seconds.", labels_,
            prompt);
  out.gauge("ingot:generation_tokens_per_second", "Tokens of answers in the last ten seconds.",
            labels_, generation);
}

void IngotMetrics::write_http(const ServerFigures& figures, MetricText& out) const {
  out.family("ingot:http_connections", Type::kGauge, "Connections that are open.");
  out.add("", static_cast<int64_t>(figures.connections));
  out.family("ingot:http_requests_total", Type::kCounter, "Requests by route and status.");
  for (const auto& [key, count] : http_requests_) {
    const auto& [method, route, status] = key;
    out.add(format_labels(
                {{"method", method}, {"route", route}, {"status", fmt::format("{}", status)}}),
            count);
  }
  out.family("ingot:http_request_duration_seconds", Type::kHistogram,
             "From the first byte of a request to the last of its reply.");
  for (const auto& [route, seconds] : http_seconds_)
    out.add(format_labels({{"route", route}}), seconds);
}

}  // namespace ingot
