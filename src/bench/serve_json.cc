// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "bench/serve_report.h"
#include "bench/spread.h"

namespace ingot {
namespace {

Json latency_json(const std::vector<double>& values, const std::vector<double>& percentiles) {
  if (values.empty()) return nullptr;
  Json object = {{"mean", mean_of(values)}};
  for (const double p : percentiles)
    object[fmt::format("p{:g}", p)] = percentile(values, p / 100);
  object["min"] = values.front();
  object["max"] = values.back();
  return object;
}

Json figures_json(const ServeFigures& figures, const ServeReportOptions& options) {
  const auto or_null = [](const std::optional<int64_t>& value) {
    return value ? Json(*value) : Json();
  };
  Json object = {
      {"seconds", figures.seconds},
      {"completed", figures.ok},
      {"refused", figures.refused},
      {"failed", figures.failed},
      {"unsent", figures.unsent},
      {"mean_in_flight", figures.mean_in_flight},
      {"peak_in_flight", figures.peak_in_flight},
      {"prompt_tokens", figures.prompt_tokens},
      {"cached_prompt_tokens", or_null(figures.cached_tokens)},
      {"processed_prompt_tokens", or_null(figures.processed_tokens())},
      {"output_tokens", figures.output_tokens},
      {"chunks", figures.chunks},
      {"answers_of_other_length", figures.other_length},
      {"answers_without_usage", figures.uncounted},
      {"requests_per_s", figures.per_second(figures.ok)},
      {"prompt_tokens_per_s", figures.per_second(figures.prompt_tokens)},
      {"output_tokens_per_s", figures.per_second(figures.output_tokens)},
      {"total_tokens_per_s", figures.per_second(figures.prompt_tokens + figures.output_tokens)}};
  for (const ServeLatencyName& latency : kServeLatencies)
    object[latency.json] = latency_json(figures.ms.*(latency.values), options.percentiles);
  object["refusal_ms"] = latency_json(figures.ms.refusal, options.percentiles);
  object["late_ms"] = latency_json(figures.ms.late, options.percentiles);
  object["goodput"] = nullptr;
  if (!options.slo.is_empty()) {
    object["goodput"] = {{"slo", options.slo.to_string()},
                         {"requests", figures.good},
                         {"requests_per_s", figures.per_second(figures.good)},
                         {"share", share(static_cast<double>(figures.good),
                                         static_cast<double>(figures.requests()))}};
  }
  object["retry_after_s"] = figures.retry_after ? Json(*figures.retry_after) : Json();
  object["load_generator_cpu"] = figures.own_cpu;
  Json errors = Json::object();
  for (const auto& [error, times] : figures.errors)
    errors[error] = times;
  object["errors"] = std::move(errors);
  return object;
}

}  // namespace

Json servers_json(const ServeResult& result, const std::vector<ServeFigures>& figures,
                  const ServeReportOptions& options) {
  Json servers = Json::array();
  for (size_t i = 0; i < result.servers.size(); ++i) {
    const ServerResult& server = result.servers[i];
    constexpr const char* kForms[] = {"token ids", "text", "messages"};
    Json object = {
        {"name", server.target.name},
        {"url", server.target.url_text},
        {"model", server.form.model},
        {"prompts", kForms[static_cast<size_t>(server.form.form)]},
        {"tokens_per_word",
         server.form.form == PromptForm::kIds ? Json() : Json(server.form.tokens_per_word)},
        {"notes", server.notes}};
    object.update(figures_json(figures[i], options));
    Json rounds = Json::array();
    for (const ServeRun& run : server.rounds)
      rounds.push_back(figures_json(figures_of({&run, 1}, options.slo), options));
    object["rounds"] = std::move(rounds);
    servers.push_back(std::move(object));
  }
  return servers;
}

std::string request_lines(const ServeResult& result) {
  constexpr const char* kOutcomes[] = {"ok", "refused", "failed"};
  std::string lines;
  for (const ServerResult& server : result.servers) {
    for (size_t round = 0; round < server.rounds.size(); ++round) {
      for (const ServeRecord& record : server.rounds[round].requests) {
        lines += dump_json(
            {{"server", server.target.name},
             {"round", round + 1},
             {"conversation", record.conversation},
             {"turn", record.turn},
             {"outcome", kOutcomes[static_cast<size_t>(record.outcome)]},
             {"http_status", record.http_status},
             {"error", record.error},
             {"due_s", record.due},
             {"sent_s", record.sent},
             {"ttft_ms", record.first * 1e3},
             {"tpot_ms", record.per_token() * 1e3},
             {"e2el_ms", record.last * 1e3},
             {"prompt_tokens", record.prompt_tokens},
             {"cached_tokens", record.cached_tokens ? Json(*record.cached_tokens) : Json()},
             {"output_tokens", record.output_tokens},
             {"asked_tokens", record.asked_tokens},
             {"finish_reason", record.finish_reason},
             {"gaps_s", record.gaps}});
        lines += '\n';
      }
    }
  }
  return lines;
}

}  // namespace ingot
