// SPDX-License-Identifier: Apache-2.0
// The numbers of a server's runs: what the report prints. Runs are pooled: counts and times add up.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/serve_record.h"
#include "bench/serve_slo.h"

namespace ingot {

// Sorted, in milliseconds.
struct ServeLatencies {
  std::vector<double> ttft = {};     // to the first token
  std::vector<double> tpot = {};     // per token after the first; a value per request
  std::vector<double> itl = {};      // between parts of text; all gaps of all requests
  std::vector<double> e2el = {};     // to the end
  std::vector<double> refusal = {};  // to the end of a 429
  std::vector<double> late = {};     // from being due to being sent
};

// The latencies of answers, as reports name them.
struct ServeLatencyName {
  const char* json;
  const char* words;
  std::vector<double> ServeLatencies::*values;
};
inline constexpr ServeLatencyName kServeLatencies[] = {
    {"ttft_ms", "first token", &ServeLatencies::ttft},
    {"tpot_ms", "per output token", &ServeLatencies::tpot},
    {"itl_ms", "inter-token", &ServeLatencies::itl},
    {"e2el_ms", "end to end", &ServeLatencies::e2el},
};

struct ServeFigures {
  double seconds = 0;
  int64_t ok = 0;
  int64_t refused = 0;
  int64_t failed = 0;
  int64_t unsent = 0;
  int64_t good = 0;                           // within the SLO
  int64_t prompt_tokens = 0;                  // of answered requests, like all that follow
  std::optional<int64_t> cached_tokens = {};  // nothing where the server does not tell
  int64_t output_tokens = 0;
  int64_t chunks = 0;        // parts of text
  int64_t other_length = 0;  // answers not as long as was asked
  int64_t uncounted = 0;     // answers without usage
  int64_t peak_in_flight = 0;
  double mean_in_flight = 0;
  double own_cpu = 0;                      // of the load generator, as a share of one core
  std::optional<double> retry_after = {};  // the longest asked for
  ServeLatencies ms = {};
  std::map<std::string, int64_t> errors = {};  // how often each

  double per_second(int64_t count) const {
    return seconds > 0 ? static_cast<double>(count) / seconds : 0;
  }
  int64_t requests() const { return ok + refused + failed; }
  std::optional<int64_t> processed_tokens() const {
    if (!cached_tokens) return std::nullopt;
    return prompt_tokens - *cached_tokens;
  }
};

ServeFigures figures_of(std::span<const ServeRun> runs, const ServeSlo& slo);
// 0 of nothing.
double share(double part, double whole);
double mean_of(const std::vector<double>& values);

}  // namespace ingot
