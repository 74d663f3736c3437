// SPDX-License-Identifier: Apache-2.0
#include "server/request_span.h"

namespace ingot {
namespace {

void add_report(const ExchangeRecord& record, const RequestReport& report, Span& span) {
  const auto add = [&](const char* name, Span::Value value) {
    span.attributes.emplace_back(name, std::move(value));
  };
  add("gen_ai.response.model", report.model);
  add("gen_ai.request.n", int64_t{report.answers});
  if (report.max_tokens >= 0) add("gen_ai.request.max_tokens", report.max_tokens);
  add("gen_ai.request.temperature", report.temperature);
  add("gen_ai.request.top_p", report.top_p);
  add("gen_ai.usage.prompt_tokens", report.prompt_tokens);
  add("gen_ai.usage.completion_tokens", report.completion_tokens);
  add("gen_ai.usage.cached_tokens", report.cached_tokens);
  add("gen_ai.usage.num_sequences", int64_t{report.answers});
  add("gen_ai.latency.time_in_queue", report.queue_seconds);
  if (report.first_token_seconds > 0)
    add("gen_ai.latency.time_to_first_token", report.first_token_seconds);
  add("gen_ai.latency.e2e", std::chrono::duration<double>(record.time).count());
  add("gen_ai.latency.time_in_model_prefill", report.prompt_seconds);
  add("gen_ai.latency.time_in_model_decode", report.decode_seconds);
  add("gen_ai.latency.time_in_model_inference", report.prompt_seconds + report.decode_seconds);
  if (!report.finish.empty()) add("gen_ai.response.finish_reasons", report.finish);
}

}  // namespace

Span span_of(const ExchangeRecord& record, std::string_view method, std::string_view route,
             std::chrono::system_clock::time_point end) {
  using SystemDuration = std::chrono::system_clock::duration;
  Span span{.trace = record.trace,
            .name = record.report ? "llm_request" : std::string(method) + " " + std::string(route),
            .begin = end - std::chrono::duration_cast<SystemDuration>(record.time),
            .end = end};
  span.attributes.emplace_back("http.request.method", std::string(method));
  span.attributes.emplace_back("http.route", std::string(route));
  span.attributes.emplace_back("http.response.status_code", int64_t{record.status});
  span.attributes.emplace_back("gen_ai.request.id", record.id);
  if (record.report) add_report(record, *record.report, span);
  span.is_error = record.status >= 500 || record.end == ExchangeRecord::End::kInterrupted;
  return span;
}

}  // namespace ingot
