// SPDX-License-Identifier: Apache-2.0
#include "server/request_log.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/log.h"

namespace ingot {
namespace {

constexpr size_t kShownPathBytes = 128;

// To the microsecond: the rest is noise.
double rounded(double seconds) {
  return std::round(seconds * 1e6) / 1e6;
}

std::string_view name_of(ExchangeRecord::End end) {
  switch (end) {
    case ExchangeRecord::End::kDone:
      return "done";
    case ExchangeRecord::End::kClientLeft:
      return "client_left";
    case ExchangeRecord::End::kStalled:
      return "stalled";
    case ExchangeRecord::End::kInterrupted:
      return "interrupted";
  }
  return "";
}

void add_report(const RequestReport& report, std::vector<LogField>& fields) {
  fields.push_back({"model", std::string_view(report.model)});
  fields.push_back({"prompt_tokens", report.prompt_tokens});
  fields.push_back({"cached_tokens", report.cached_tokens});
  fields.push_back({"completion_tokens", report.completion_tokens});
  fields.push_back({"finish", std::string_view(report.finish)});
  fields.push_back({"queue_seconds", rounded(report.queue_seconds)});
  if (report.first_token_seconds > 0)
    fields.push_back({"ttft_seconds", rounded(report.first_token_seconds)});
  if (!report.prompt.empty()) fields.push_back({"prompt", std::string_view(report.prompt)});
  if (!report.output.empty()) fields.push_back({"output", std::string_view(report.output)});
}

}  // namespace

bool is_poll(std::string_view route) {
  static constexpr std::array<std::string_view, 4> kPolls = {"/health", "/livez", "/readyz",
                                                             "/metrics"};
  return std::ranges::find(kPolls, route) != kPolls.end();
}

void log_request(const ExchangeRecord& record, std::string_view method, std::string_view route) {
  const LogLevel level = is_poll(route) ? LogLevel::kDebug : LogLevel::kInfo;
  if (!is_logged(level)) return;
  std::vector<LogField> fields;
  const auto add_text = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) fields.push_back({name, value});
  };
  add_text("id", record.id);
  add_text("trace", record.trace.trace_id);
  add_text("key", record.key_name);
  add_text("method", method);
  add_text("route", route);
  if (route == "other") add_text("path", std::string_view(record.path).substr(0, kShownPathBytes));
  fields.push_back({"status", int64_t{record.status}});
  fields.push_back({"end", name_of(record.end)});
  fields.push_back({"seconds", rounded(std::chrono::duration<double>(record.time).count())});
  fields.push_back({"bytes_in", static_cast<int64_t>(record.bytes_in)});
  fields.push_back({"bytes_out", static_cast<int64_t>(record.bytes_out)});
  if (record.report) add_report(*record.report, fields);
  log_event(level, "request", fields);
}

}  // namespace ingot
