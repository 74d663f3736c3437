// SPDX-License-Identifier: Apache-2.0
// The flags of `ingot bench serve`: spelled as vLLM's `bench serve` does where it has them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/serve_bench.h"
#include "bench/serve_report.h"
#include "cli/workload_flags.h"

namespace ingot {

struct BenchServeFlags {
  std::string base_url = "http://127.0.0.1:8080";
  std::vector<std::string> compare;  // NAME=URL
  std::string endpoint, model, api_key, extra_body;
  std::vector<std::string> headers;  // "Name: value"
  bool is_insecure = false;
  double timeout = 600;

  WorkloadFlags workload;
  std::string prompts = "ids";
  std::string vocab;
  uint64_t seed = 0;
  double request_rate = 0, burstiness = 1;
  int64_t max_concurrency = 0, rounds = 1, warmup = 0;
  bool ignores_eos = true;

  std::vector<std::string> goodput;
  std::string percentiles = "50,90,99";
  std::string save_requests;
};

void add_bench_serve_flags(CLI::App& command, BenchServeFlags& flags);
Result<ServeOptions> serve_options(const BenchServeFlags& flags);
Result<ServeReportOptions> serve_report_options(const BenchServeFlags& flags);

}  // namespace ingot
