// SPDX-License-Identifier: Apache-2.0
// What a load benchmark found, for people, scripts and eyes: one column a server, then the ratios
// of the first to each other.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "bench/report.h"
#include "bench/serve_bench.h"
#include "bench/serve_figures.h"
#include "bench/serve_slo.h"

namespace ingot {

struct ServeReportOptions {
  ServeSlo slo;
  std::vector<double> percentiles = {50, 90, 99};  // from 0 to 100
};
BenchReport serve_report(const ServeResult& result, const ServeReportOptions& options);

// Percentiles of latencies, and how they and the speed went over time.
std::vector<Plot> serve_plots(const ServeResult& result, const std::vector<ServeFigures>& figures);

// All numbers of each server, pooled and of each round.
Json servers_json(const ServeResult& result, const std::vector<ServeFigures>& figures,
                  const ServeReportOptions& options);
// A JSON object a line for every request, in the order in which they ended.
std::string request_lines(const ServeResult& result);

// "50,90,99.9".
Result<std::vector<double>> parse_percentiles(std::string_view text);

}  // namespace ingot
