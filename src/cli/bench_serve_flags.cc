// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_serve_flags.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/environment.h"

namespace ingot {
namespace {

void add_server_flags(CLI::App& command, BenchServeFlags& flags) {
  const auto add = [&](const char* name, auto& value, const char* help, const char* type) {
    return command.add_option(name, value, help)->type_name(type)->group("Server");
  };
  CLI::Option* base = add("--base-url", flags.base_url, "http://, https:// or unix:/socket", "URL");
  base->capture_default_str();
  add("--compare", flags.compare, "A server to drive by turns with others; give it twice or more",
      "NAME=URL")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->excludes(base);
  add("--endpoint", flags.endpoint, "/v1/completions, or /v1/chat/completions (for a chat)",
      "PATH");
  add("--model", flags.model, "As the server calls it (the first it lists)", "NAME");
  add("--api-key", flags.api_key, "Sent as a bearer token ($OPENAI_API_KEY)", "KEY");
  add("--header", flags.headers, "Sent with every request: 'Name: value'", "TEXT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add("--extra-body", flags.extra_body, "Merged into every request; null removes a field", "JSON");
  add("--timeout", flags.timeout, "Seconds a request may take", "S")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  command.add_flag("--insecure", flags.is_insecure, "Accept any certificate")->group("Server");
}

void add_load_flags(CLI::App& command, BenchServeFlags& flags) {
  const auto add = [&](const char* name, auto& value, const char* help, const char* type) {
    return command.add_option(name, value, help)->type_name(type)->group("Load");
  };
  const CLI::Range counts(int64_t{1}, int64_t{1} << 20);
  add("--request-rate", flags.request_rate, "Arrivals a second, at random times (inf: all at once)",
      "X")
      ->check(CLI::Range(1e-6, std::numeric_limits<double>::infinity()));
  add("--burstiness", flags.burstiness, "1: Poisson; less: in bursts; more: evenly", "X")
      ->check(CLI::Range(1e-3, 1e6))
      ->capture_default_str();
  add("--max-concurrency", flags.max_concurrency, "Requests in flight, at most (no bound)", "N")
      ->check(counts);
  add("--rounds", flags.rounds, "Runs of each server, by turns", "N")
      ->check(counts)
      ->capture_default_str();
  add("--warmup,--num-warmups", flags.warmup, "Requests before each server's first run", "N")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 20));
  add("--seed", flags.seed, "The same makes the same requests", "N")->capture_default_str();
  add("--prompts", flags.prompts, "ids (exact lengths; where the server takes them) or words",
      "FORM")
      ->check(CLI::IsMember({"ids", "words"}))
      ->capture_default_str();
  add("--vocab", flags.vocab, "Token ids to draw from (100:20000, bounded by the model)", "LO:HI");
  command
      .add_flag("--ignore-eos,!--no-ignore-eos", flags.ignores_eos,
                "Answers run to their full length (default)")
      ->group("Load");
}

Result<HttpFields> headers_of(const BenchServeFlags& flags) {
  HttpFields headers;
  const std::string key = flags.api_key.empty() ? environment::openai_api_key() : flags.api_key;
  if (!key.empty()) headers.emplace_back("Authorization", "Bearer " + key);
  for (const std::string& text : flags.headers) {
    const size_t colon = text.find(':');
    if (colon == 0 || colon == std::string::npos)
      return Status::invalid_argument("--header: '{}' is not 'Name: value'", text);
    const size_t value = std::min(text.find_first_not_of(' ', colon + 1), text.size());
    headers.emplace_back(text.substr(0, colon), text.substr(value));
  }
  for (const auto& [name, value] : headers) {
    const auto breaks = [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\t'; };
    if (std::ranges::any_of(name + value, breaks))
      return Status::invalid_argument("header '{}' has a control character", name);
  }
  return headers;
}

Result<std::vector<ServeTarget>> targets_of(const BenchServeFlags& flags) {
  std::vector<ServeTarget> targets;
  for (const std::string& text : flags.compare) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      return Status::invalid_argument("--compare: '{}' is not NAME=URL", text);
    ServeTarget target{text.substr(0, equals), text.substr(equals + 1), {}};
    const auto is_same = [&](const ServeTarget& other) { return other.name == target.name; };
    if (std::ranges::any_of(targets, is_same))
      return Status::invalid_argument("--compare: two servers are called '{}'", target.name);
    targets.push_back(std::move(target));
  }
  if (targets.empty()) targets.push_back({"server", flags.base_url, {}});
  for (ServeTarget& target : targets) {
    INGOT_TRY(target.url,
              parse_url(target.url_text, flags.compare.empty() ? "--base-url" : "--compare"));
  }
  return targets;
}

}  // namespace

void add_bench_serve_flags(CLI::App& command, BenchServeFlags& flags) {
  add_server_flags(command, flags);
  add_workload_flags(command, flags.workload, {.has_stall = false});
  add_load_flags(command, flags);
  const auto add = [&](const char* name, auto& value, const char* help, const char* type) {
    return command.add_option(name, value, help)->type_name(type)->group("Report");
  };
  add("--goodput", flags.goodput, "Also count answers within these: ttft:500 tpot:50 e2el:9000",
      "NAME:MS");
  add("--percentiles,--metric-percentiles", flags.percentiles, "Of all latencies", "N,N")
      ->capture_default_str();
  add("--save-requests", flags.save_requests, "Also write a line of JSON for every request",
      "FILE");
}

Result<ServeOptions> serve_options(const BenchServeFlags& flags) {
  ServeOptions options;
  INGOT_TRY(options.targets, targets_of(flags));
  options.endpoint = flags.endpoint;
  if (!options.endpoint.empty() && !options.endpoint.ends_with("/completions")) {
    return Status::invalid_argument(
        "--endpoint is '{}' but must end in /completions or /chat/completions", flags.endpoint);
  }
  if (!options.endpoint.empty() && !options.endpoint.starts_with('/'))
    options.endpoint.insert(0, "/");
  options.model = flags.model;
  INGOT_TRY(options.workload, workload_options(flags.workload, flags.seed, 0));
  if (!flags.vocab.empty()) {
    INGOT_TRY(const Lengths range, parse_lengths(flags.vocab, "--vocab", 0));
    if (!range.choices.empty() || range.high <= range.low)
      return Status::invalid_argument("--vocab is '{}' but must be LO:HI", flags.vocab);
    options.vocab_low = range.low;
    options.vocab_high = range.high;
    options.is_vocab_given = true;
  }
  options.wants_words = flags.prompts == "words";
  options.arrivals.rate = std::isfinite(flags.request_rate) ? flags.request_rate : 0;
  options.arrivals.burstiness = flags.burstiness;
  options.max_concurrency = flags.max_concurrency;
  options.rounds = flags.rounds;
  options.warmup = flags.warmup;
  options.ignores_eos = flags.ignores_eos;
  if (!flags.extra_body.empty()) {
    INGOT_TRY(Json extra, parse_json(flags.extra_body, "--extra-body"));
    if (!extra.is_object()) return Status::invalid_argument("--extra-body must be a JSON object");
    options.extra = std::make_shared<const Json>(std::move(extra));
  }
  options.http.timeout_seconds = flags.timeout;
  options.http.is_insecure = flags.is_insecure;
  INGOT_TRY(options.http.headers, headers_of(flags));
  return options;
}

Result<ServeReportOptions> serve_report_options(const BenchServeFlags& flags) {
  ServeReportOptions options;
  INGOT_TRY(options.slo, parse_slo(flags.goodput));
  INGOT_TRY(options.percentiles, parse_percentiles(flags.percentiles));
  return options;
}

}  // namespace ingot
