// SPDX-License-Identifier: Apache-2.0
// How every benchmark tells its results: tables for people, --json for scripts, --plot for eyes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "bench/report.h"

namespace ingot {

struct BenchOutputFlags {
  bool json = false;
  std::string plot;  // a file; empty: none
};

void add_bench_output_flags(CLI::App& command, BenchOutputFlags& flags);
// Before the long work: a plot can be one of two kinds of files.
Status check(const BenchOutputFlags& flags);

// What was measured on what: fields of the JSON object, and the line above the tables.
struct BenchSetting {
  std::vector<std::pair<std::string, Json>> json;
  std::string line;
};
Status tell(const BenchReport& report, const BenchSetting& setting, const BenchOutputFlags& flags);

}  // namespace ingot
