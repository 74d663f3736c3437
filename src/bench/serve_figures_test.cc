// SPDX-License-Identifier: Apache-2.0
#include "bench/serve_figures.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/serve_report.h"
#include "bench/spread.h"

namespace ingot {
namespace {

ServeRecord answer(double first, double last, int64_t tokens) {
  ServeRecord record;
  record.outcome = ServeOutcome::kOk;
  record.http_status = 200;
  record.first = first;
  record.last = last;
  record.asked_tokens = record.output_tokens = tokens;
  record.prompt_tokens = 10;
  record.has_usage = true;
  for (int64_t i = 1; i < tokens; ++i)
    record.gaps.push_back((last - first) / static_cast<double>(tokens - 1));
  return record;
}

ServeRecord refusal() {
  ServeRecord record;
  record.outcome = ServeOutcome::kRefused;
  record.http_status = 429;
  record.error = "HTTP 429: busy";
  record.retry_after = 3;
  record.last = 0.01;
  return record;
}

ServeRun run_of(std::vector<ServeRecord> requests, double seconds) {
  ServeRun run;
  run.requests = std::move(requests);
  run.seconds = seconds;
  run.mean_in_flight = 2;
  run.peak_in_flight = 4;
  return run;
}

TEST(ServeSlo, ReadsBoundsAndRefusesOthers) {
  const std::vector<std::string> bounds = {"ttft:500", "tpot:50.5", "e2el:9000"};
  const ServeSlo slo = *parse_slo(bounds);
  EXPECT_EQ(slo.to_string(), "ttft:500 tpot:50.5 e2el:9000");
  EXPECT_TRUE(parse_slo({})->is_empty());
  for (const char* text :
       {"ttft", "ttft:", ":5", "itl:5", "ttft:x", "ttft:-1", "ttft:5ms", "ttft:inf"}) {
    const std::vector<std::string> one = {text};
    EXPECT_FALSE(parse_slo(one).is_ok()) << text;
  }
  const std::vector<std::string> twice = {"ttft:5", "ttft:6"};
  EXPECT_FALSE(parse_slo(twice).is_ok());
}

TEST(ServeSlo, WantsEveryBoundKept) {
  const std::vector<std::string> bounds = {"ttft:100", "tpot:10", "e2el:500"};
  const ServeSlo slo = *parse_slo(bounds);
  EXPECT_TRUE(slo.is_met(answer(0.1, 0.19, 10)));
  EXPECT_FALSE(slo.is_met(answer(0.11, 0.2, 10)));   // first token
  EXPECT_FALSE(slo.is_met(answer(0.1, 0.3, 10)));    // per token
  EXPECT_FALSE(slo.is_met(answer(0.1, 0.51, 100)));  // end
  EXPECT_TRUE(slo.is_met(answer(0.1, 0.1, 1)));      // nothing after the first
  EXPECT_FALSE(slo.is_met(refusal()));
  EXPECT_TRUE(ServeSlo().is_met(answer(9, 99, 10)));
}

TEST(ServeFigures, PoolRuns) {
  const std::vector<std::string> bounds = {"ttft:150"};
  const ServeRun runs[] = {run_of({answer(0.1, 0.3, 3), answer(0.2, 0.2, 1)}, 1),
                           run_of({answer(0.3, 0.7, 5), refusal()}, 3)};
  const ServeFigures figures = figures_of(runs, *parse_slo(bounds));
  EXPECT_EQ(figures.ok, 3);
  EXPECT_EQ(figures.refused, 1);
  EXPECT_EQ(figures.failed, 0);
  EXPECT_EQ(figures.good, 1);
  EXPECT_EQ(figures.requests(), 4);
  EXPECT_DOUBLE_EQ(figures.seconds, 4);
  EXPECT_DOUBLE_EQ(figures.per_second(figures.output_tokens), 9.0 / 4);
  EXPECT_EQ(figures.prompt_tokens, 30);
  EXPECT_FALSE(figures.cached_tokens);
  EXPECT_EQ(figures.retry_after, 3);
  EXPECT_EQ(figures.errors.at("HTTP 429: busy"), 1);
  EXPECT_EQ(figures.ms.ttft.size(), 3U);
  EXPECT_NEAR(percentile(figures.ms.ttft, 0.5), 200, 1e-9);
  EXPECT_EQ(figures.ms.tpot.size(), 2U);  // one answer has nothing after its first token
  EXPECT_EQ(figures.ms.itl.size(), 6U);
  EXPECT_NEAR(figures.ms.e2el.back(), 700, 1e-9);
  EXPECT_NEAR(figures.ms.refusal[0], 10, 1e-9);
}

TEST(ServeFigures, CountWhatTheServerDidNotDoAsAsked) {
  ServeRecord shorter = answer(0.1, 0.2, 5);
  shorter.output_tokens = 3;
  shorter.cached_tokens = 4;
  ServeRecord uncounted = answer(0.1, 0.2, 5);
  uncounted.has_usage = false;
  const ServeRun runs[] = {run_of({shorter, uncounted}, 1)};
  const ServeFigures figures = figures_of(runs, {});
  EXPECT_EQ(figures.other_length, 1);
  EXPECT_EQ(figures.uncounted, 1);
  EXPECT_EQ(figures.chunks, 10);
  EXPECT_EQ(figures.output_tokens, 8);
  EXPECT_EQ(figures.processed_tokens(), 16);
}

TEST(ServeReport, PutsServersSideBySideWithTheirRatio) {
  ServeResult result;
  result.endpoint = "/v1/completions";
  for (const double speed : {2.0, 1.0}) {
    ServerResult& server = result.servers.emplace_back();
    server.target.name = speed > 1 ? "fast" : "slow";
    for (int round = 0; round < 3; ++round)
      server.rounds.push_back(run_of({answer(0.1 / speed, 1 / speed, 10)}, 1 / speed));
  }
  const BenchReport report = serve_report(result, {});
  ASSERT_EQ(report.tables.size(), 2U);
  EXPECT_EQ(report.tables[0].columns,
            (std::vector<std::string>{"", "fast", "slow", "fast / slow"}));
  const std::string text = report.tables[0].to_text();
  EXPECT_NE(text.find("output tokens/s"), std::string::npos);
  for (const std::vector<std::string>& row : report.tables[0].rows) {
    if (row[0] == "output tokens/s") {
      EXPECT_EQ(row, (std::vector<std::string>{"output tokens/s", "20.00", "10.00", "2.00"}));
    } else if (row[0] == "first token, p50 ms") {
      EXPECT_EQ(row[3], "0.50");
    }
  }
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_EQ(report.notes[0],
            "fast / slow: output tokens/s 2.00 times, median of 3 rounds (2.00 to 2.00)");
  EXPECT_EQ(report.plots.size(), 5U);
  for (const Plot& plot : report.plots)
    EXPECT_EQ(plot.series.size(), 2U);
}

TEST(ServeReport, NoticesThatTheServerKnewThePrompts) {
  const auto notes_of = [](int64_t cached, int64_t shared, WorkloadKind kind) {
    ServeResult result;
    result.workload.kind = kind;
    result.workload.shared_prefix = shared;
    ServeRecord record = answer(0.1, 0.2, 5);
    record.cached_tokens = cached;
    result.servers.emplace_back().rounds.push_back(run_of({record}, 1));
    return serve_report(result, {}).notes.size();
  };
  EXPECT_EQ(notes_of(9, 0, WorkloadKind::kRandom), 1U);
  EXPECT_EQ(notes_of(0, 0, WorkloadKind::kRandom), 0U);
  EXPECT_EQ(notes_of(8, 8, WorkloadKind::kSharedPrefix), 0U);
  EXPECT_EQ(notes_of(9, 0, WorkloadKind::kChat), 0U);
}

TEST(ServeReport, ReadsPercentiles) {
  EXPECT_EQ(*parse_percentiles("50,99.9"), (std::vector<double>{50, 99.9}));
  for (const char* text : {"", "101", "-1", "x", "50,", "nan"})
    EXPECT_FALSE(parse_percentiles(text).is_ok()) << text;
}

}  // namespace
}  // namespace ingot
