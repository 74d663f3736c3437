// SPDX-License-Identifier: Apache-2.0
#include "server/metrics_vllm.h"

#include <algorithm>
#include <utility>

namespace ingot {
namespace {

using Type = MetricText::Type;

constexpr std::string_view kEngine = "0";  // there is one
constexpr std::array<double, 5> kAnswerBounds = {1, 2, 5, 10, 20};
constexpr std::array<double, 22> kFirstTokenBounds = {.001, .005, .01, .02, .04, .06, .08, .1,
                                                      .25,  .5,   .75, 1,   2.5, 5,   7.5, 10,
                                                      20,   40,   80,  160, 640, 2560};
constexpr std::array<double, 21> kRequestBounds = {
    .3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};

}  // namespace

VllmMetrics::VllmMetrics(std::string model_name, int64_t context,
                         std::vector<std::pair<std::string, std::string>> cache_config)
    : model_name_(std::move(model_name)),
      labels_(format_labels({{"engine", kEngine}, {"model_name", model_name_}})),
      cache_config_(std::move(cache_config)),
      token_bounds_(one_two_five(context)),
      prompt_tokens_(token_bounds_),
      generated_tokens_(token_bounds_),
      longest_answer_(token_bounds_),
      max_tokens_(token_bounds_),
      computed_tokens_(token_bounds_),
      answers_(kAnswerBounds),
      first_token_(kFirstTokenBounds),
      token_gap_(kTokenSecondBounds),
      token_mean_(kTokenSecondBounds),
      whole_(kRequestBounds),
      queue_(kRequestBounds),
      inference_(kRequestBounds),
      prefill_(kRequestBounds),
      decode_(kRequestBounds) {}

void VllmMetrics::count(const RequestTimes& times, RequestEnd end) {
  ++ends_[static_cast<size_t>(end)];
  answers_.add(times.answers);
  if (times.max_tokens > 0) max_tokens_.add(static_cast<double>(times.max_tokens));
  // What was left before its first token has no times worth an average.
  if (!times.has_prompt) return;
  prompt_tokens_.add(static_cast<double>(times.prompt_tokens));
  computed_tokens_.add(static_cast<double>(times.prompt_tokens - times.reused_tokens));
  queue_.add(times.queue_seconds());
  prefill_.add(times.prompt_seconds);
  generated_tokens_.add(static_cast<double>(times.generated_tokens));
  if (!times.has_tokens()) return;
  longest_answer_.add(static_cast<double>(std::ranges::max(times.tokens_of_choice)));
  first_token_.add(times.first_token_seconds());
  token_gap_.add(times.gaps);
  const double decode = times.decode_seconds();
  decode_.add(decode);
  inference_.add(times.prompt_seconds + decode);
  whole_.add(times.first_token_seconds() + decode);
  if (times.generated_tokens > 1)
    token_mean_.add(decode / static_cast<double>(times.generated_tokens - 1));
}

std::string VllmMetrics::labels_with(std::string_view name, std::string_view value) const {
  return format_labels({{"engine", kEngine}, {"model_name", model_name_}, {name, value}});
}

void VllmMetrics::write(const ServerFigures& figures, MetricText& out) const {
  write_requests(figures, out);
  write_cache(figures, out);
  write_tokens(figures, out);
  write_sizes(figures, out);
  write_times(out);
}

void VllmMetrics::write_requests(const ServerFigures& figures, MetricText& out) const {
  const SchedulerStats& scheduler = figures.engine.scheduler;
  out.family("vllm:num_requests_running", Type::kGauge, "Sequences in the running batch.");
  out.add(labels_, scheduler.running);
  out.family("vllm:num_requests_waiting", Type::kGauge, "Requests that wait to be computed.");
  out.add(labels_, scheduler.waiting + figures.queued);
  out.family("vllm:num_requests_waiting_by_reason", Type::kGauge,
             "Requests that wait: for room in the engine, or for their key's turn.");
  out.add(labels_with("reason", "capacity"), scheduler.waiting);
  out.add(labels_with("reason", "deferred"), figures.queued);
  out.counter("vllm:num_preemptions_total", "Sequences that lost their pages to others.", labels_,
              scheduler.preemptions);
  out.family("vllm:request_success_total", Type::kCounter, "Requests that are over, by reason.");
  static constexpr std::array<std::pair<std::string_view, RequestEnd>, 4> kEnds = {
      {{"stop", RequestEnd::kStop},
       {"length", RequestEnd::kLength},
       {"abort", RequestEnd::kAbort},
       {"error", RequestEnd::kError}}};
  for (const auto& [name, end] : kEnds)
    out.add(labels_with("finished_reason", name), ends_[static_cast<size_t>(end)]);
  out.add(labels_with("finished_reason", "repetition"), int64_t{0});
  out.counter("vllm:corrupted_requests_total", "Requests whose logits were not numbers.", labels_,
              figures.engine.corrupted_requests);
}

void VllmMetrics::write_cache(const ServerFigures& figures, MetricText& out) const {
  const SchedulerStats& scheduler = figures.engine.scheduler;
  const double usage = figures.engine.kv_usage;
  out.gauge("vllm:kv_cache_usage_perc", "Share of the KV cache in use; 1 is all of it.", labels_,
            usage);
  out.gauge("vllm:gpu_cache_usage_perc", "The old name of vllm:kv_cache_usage_perc.", labels_,
            usage);
  out.counter("vllm:prefix_cache_queries_total", "Prompt tokens looked for in the prefix cache.",
              labels_, scheduler.prompt_tokens);
  out.counter("vllm:prefix_cache_hits_total", "Prompt tokens found in the prefix cache.", labels_,
              scheduler.reused_tokens);
  std::vector<MetricLabel> labels = {{"engine", kEngine}};
  for (const auto& [name, value] : cache_config_)
    labels.emplace_back(name, value);
  int64_t pages = 0;
  for (const int64_t total : scheduler.pages_total)
    pages += total;
  const std::string blocks = std::to_string(pages);
  labels.emplace_back("num_gpu_blocks", blocks);
  out.family("vllm:cache_config_info", Type::kGauge, "Settings of the KV cache.");
  out.add(format_labels(labels), int64_t{1});
}

void VllmMetrics::write_tokens(const ServerFigures& figures, MetricText& out) const {
  const SchedulerStats& scheduler = figures.engine.scheduler;
  out.counter("vllm:prompt_tokens_total", "Tokens of prompts, computed or found.", labels_,
              scheduler.prompt_tokens);
  out.family("vllm:prompt_tokens_by_source_total", Type::kCounter,
             "Tokens of prompts by where their keys and values came from.");
  out.add(labels_with("source", "local_compute"),
          scheduler.prompt_tokens - scheduler.reused_tokens);
  out.add(labels_with("source", "local_cache_hit"), scheduler.reused_tokens);
  out.add(labels_with("source", "external_kv_transfer"), int64_t{0});
  out.counter("vllm:prompt_tokens_cached_total", "Tokens of prompts that were not computed again.",
              labels_, scheduler.reused_tokens);
  out.counter("vllm:generation_tokens_total", "Tokens of answers.", labels_,
              figures.engine.generated_tokens);
}

void VllmMetrics::write_sizes(const ServerFigures& figures, MetricText& out) const {
  const auto histogram = [&](std::string_view name, std::string_view help,
                             const Histogram& values) {
    out.family(name, Type::kHistogram, help);
    out.add(labels_, values);
  };
  histogram("vllm:request_prompt_tokens", "Tokens of a prompt.", prompt_tokens_);
  histogram("vllm:request_generation_tokens", "Tokens of a request's answers.", generated_tokens_);
  histogram("vllm:request_max_num_generation_tokens", "Tokens of a request's longest answer.",
            longest_answer_);
  histogram("vllm:request_params_n", "Answers asked for.", answers_);
  histogram("vllm:request_params_max_tokens", "Tokens asked for at most.", max_tokens_);
  histogram("vllm:request_prefill_kv_computed_tokens",
            "Tokens of a prompt that were not in the cache.", computed_tokens_);
  const FixedHistogram& steps = figures.engine.step_tokens;
  out.family("vllm:iteration_tokens_total", Type::kHistogram, "Tokens of a step.");
  out.add(labels_, steps.bounds, steps.counts, steps.sum);
}

void VllmMetrics::write_times(MetricText& out) const {
  const auto histogram = [&](std::string_view name, std::string_view help,
                             const Histogram& values) {
    out.family(name, Type::kHistogram, help);
    out.add(labels_, values);
  };
  histogram("vllm:time_to_first_token_seconds", "From arrival to the first token.", first_token_);
  histogram("vllm:inter_token_latency_seconds", "Between two tokens of an answer.", token_gap_);
  histogram("vllm:time_per_output_token_seconds",
            "The old name of vllm:inter_token_latency_seconds.", token_gap_);
  histogram("vllm:request_time_per_output_token_seconds",
            "Between two tokens, the mean of a request.", token_mean_);
  histogram("vllm:e2e_request_latency_seconds", "From arrival to the last token.", whole_);
  histogram("vllm:request_queue_time_seconds", "From arrival to the first step.", queue_);
  histogram("vllm:request_inference_time_seconds", "From the first step to the last token.",
            inference_);
  histogram("vllm:request_prefill_time_seconds", "From the first step to the first token.",
            prefill_);
  histogram("vllm:request_decode_time_seconds", "From the first token to the last.", decode_);
}

}  // namespace ingot
