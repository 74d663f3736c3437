// SPDX-License-Identifier: Apache-2.0
#include "server/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <map>
#include <set>
#include <vector>

namespace ingot {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAreArray;

struct Series {
  std::string name;  // with _bucket, _sum or _count
  std::map<std::string, std::string> labels;
  double value = 0;
};
struct Family {
  std::string type;
  std::vector<Series> series;
};

bool is_name(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::ranges::all_of(text, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':';
         });
}

// A reader of version 0.0.4 that takes nothing the format does not say.
class StrictReader {
 public:
  std::map<std::string, Family> read(std::string_view text) {
    EXPECT_TRUE(text.ends_with('\n'));
    while (!text.empty()) {
      const size_t end = text.find('\n');
      read_line(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
    return std::move(families_);
  }

 private:
  void read_line(std::string_view line) {
    if (line.starts_with("# HELP ")) {
      current_ = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(is_name(current_)) << line;
      EXPECT_FALSE(families_.contains(current_)) << "twice: " << line;
      families_[current_];
      return;
    }
    if (line.starts_with("# TYPE ")) {
      EXPECT_EQ(line.substr(7, line.find(' ', 7) - 7), current_) << line;
      families_[current_].type = line.substr(line.rfind(' ') + 1);
      return;
    }
    read_series(line);
  }

  void read_series(std::string_view line) {
    Series series;
    const size_t name_end = line.find_first_of("{ ");
    series.name = line.substr(0, name_end);
    EXPECT_TRUE(is_name(series.name)) << line;
    line.remove_prefix(name_end);
    if (line[0] == '{') read_labels(line, series);
    ASSERT_EQ(line[0], ' ');
    line.remove_prefix(1);
    if (line == "+Inf") {
      series.value = std::numeric_limits<double>::infinity();
    } else {
      const auto [end, problem] =
          std::from_chars(line.data(), line.data() + line.size(), series.value);
      EXPECT_TRUE(problem == std::errc() && end == line.data() + line.size()) << line;
    }
    Family& family = families_[current_];
    const std::string suffix = series.name.substr(std::min(current_.size(), series.name.size()));
    EXPECT_TRUE(series.name.starts_with(current_)) << series.name;
    const std::set<std::string> allowed = family.type == "histogram"
                                              ? std::set<std::string>{"_bucket", "_sum", "_count"}
                                              : std::set<std::string>{""};
    EXPECT_TRUE(allowed.contains(suffix)) << series.name;
    EXPECT_TRUE(seen_.insert({series.name, series.labels}).second) << "twice: " << series.name;
    family.series.push_back(std::move(series));
  }

  static void read_labels(std::string_view& line, Series& series) {
    line.remove_prefix(1);
    while (line[0] != '}') {
      const size_t equals = line.find('=');
      const std::string name(line.substr(0, equals));
      EXPECT_TRUE(is_name(name)) << name;
      line.remove_prefix(equals + 2);
      std::string value;
      for (; line[0] != '"'; line.remove_prefix(1)) {
        if (line[0] == '\\') line.remove_prefix(1);
        value += line[0];
      }
      EXPECT_TRUE(series.labels.emplace(name, value).second);
      line.remove_prefix(1);
      if (line[0] == ',') line.remove_prefix(1);
    }
    line.remove_prefix(1);
  }

  std::string current_;
  std::map<std::string, Family> families_;
  std::set<std::pair<std::string, std::map<std::string, std::string>>> seen_;
};

ServerFigures some_figures() {
  ServerFigures figures;
  figures.engine.scheduler.running = 3;
  figures.engine.scheduler.waiting = 2;
  figures.engine.scheduler.prompt_tokens = 100;
  figures.engine.scheduler.reused_tokens = 64;
  figures.engine.scheduler.pages_total = {100, 50};
  figures.engine.scheduler.pages_free = {40, 40};
  figures.engine.scheduler.pages_cached = {35, 0};
  figures.engine.kv_usage = 0.25;
  figures.engine.step_tokens.add(9);
  figures.engine.step_tokens.add(70'000);
  figures.engine.step_seconds.add(0.5);
  figures.engine.corrupted_requests = 1;
  figures.engine.generated_tokens = 70;
  figures.queued = 5;
  figures.connections = 9;
  return figures;
}

RequestTimes some_times() {
  RequestTimes times;
  const auto start = times.arrived;
  times.submitted = start + 250ms;
  times.answers = 2;
  times.max_tokens = 40;
  PromptReport report;
  report.tokens = 30;
  report.reused_tokens = 16;
  report.queue_seconds = 0.25;
  report.prompt_seconds = 1;
  TextEvent prompt;
  prompt.kind = TextEvent::Kind::kPrompt;
  prompt.prompt = std::make_shared<PromptReport>(report);
  times.take(prompt);
  for (const auto& [choice, when] : std::vector<std::pair<int32_t, std::chrono::milliseconds>>{
           {0, 1500ms}, {1, 1500ms}, {0, 1600ms}, {1, 1600ms}, {0, 2500ms}}) {
    TextEvent token;
    token.choice = choice;
    token.time = start + when;
    times.take(token);
  }
  return times;
}

class MetricsTest : public testing::Test {
 protected:
  std::map<std::string, Family> read() {
    return StrictReader().read(metrics_.text(some_figures()));
  }
  static double value(const std::map<std::string, Family>& all, const std::string& name,
                      const std::map<std::string, std::string>& labels = {}) {
    for (const auto& [family_name, family] : all) {
      for (const Series& series : family.series) {
        const bool has_all = std::ranges::all_of(labels, [&](const auto& label) {
          const auto found = series.labels.find(label.first);
          return found != series.labels.end() && found->second == label.second;
        });
        if (series.name == name && has_all) return series.value;
      }
    }
    ADD_FAILURE() << "there is no " << name;
    return 0;
  }

  ServerMetrics metrics_{{.model_name = "a \"model\"\n",
                          .context = 4096,
                          .version = "1.2.3",
                          .cache_config = {{"block_size", "16"}}}};
};

TEST_F(MetricsTest, EverySeriesOfVllmIsThereAtZeroFromTheStart) {
  const auto all = StrictReader().read(metrics_.text({}));
  for (const char* name :
       {"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc",
        "vllm:corrupted_requests_total", "vllm:prefix_cache_queries_total",
        "vllm:prefix_cache_hits_total", "vllm:num_preemptions_total", "vllm:prompt_tokens_total",
        "vllm:prompt_tokens_cached_total", "vllm:generation_tokens_total"}) {
    ASSERT_TRUE(all.contains(name)) << name;
    ASSERT_EQ(all.at(name).series.size(), 1U) << name;
    EXPECT_EQ(all.at(name).series[0].value, 0) << name;
    EXPECT_EQ(all.at(name).series[0].labels.at("engine"), "0") << name;
    EXPECT_EQ(all.at(name).series[0].labels.at("model_name"), "a \"model\"n") << name;
  }
  for (const char* reason : {"stop", "length", "abort", "error", "repetition"})
    EXPECT_EQ(value(all, "vllm:request_success_total", {{"finished_reason", reason}}), 0);
  for (const char* source : {"local_compute", "local_cache_hit", "external_kv_transfer"})
    EXPECT_EQ(value(all, "vllm:prompt_tokens_by_source_total", {{"source", source}}), 0);
  EXPECT_EQ(value(all, "vllm:cache_config_info", {{"block_size", "16"}, {"engine", "0"}}), 1);
}

TEST_F(MetricsTest, HistogramsHaveVllmsBuckets) {
  const auto all = read();
  const auto bounds = [&](const std::string& name) {
    std::vector<std::string> found;
    EXPECT_EQ(all.at(name).type, "histogram") << name;
    for (const Series& series : all.at(name).series) {
      if (series.name == name + "_bucket") found.push_back(series.labels.at("le"));
    }
    return found;
  };
  const std::vector<std::string> tokens = {"1.0",   "2.0",   "5.0",   "10.0",   "20.0",   "50.0",
                                           "100.0", "200.0", "500.0", "1000.0", "2000.0", "+Inf"};
  for (const char* name :
       {"vllm:request_prompt_tokens", "vllm:request_generation_tokens",
        "vllm:request_max_num_generation_tokens", "vllm:request_params_max_tokens",
        "vllm:request_prefill_kv_computed_tokens"})
    EXPECT_THAT(bounds(name), ElementsAreArray(tokens)) << name;
  const std::vector<std::string> gaps = {"0.01", "0.025", "0.05", "0.075", "0.1",  "0.15", "0.2",
                                         "0.3",  "0.4",   "0.5",  "0.75",  "1.0",  "2.5",  "5.0",
                                         "7.5",  "10.0",  "20.0", "40.0",  "80.0", "+Inf"};
  for (const char* name :
       {"vllm:inter_token_latency_seconds", "vllm:request_time_per_output_token_seconds"})
    EXPECT_THAT(bounds(name), ElementsAreArray(gaps)) << name;
  const std::vector<std::string> requests = {"0.3",   "0.5",    "0.8",    "1.0",   "1.5",   "2.0",
                                             "2.5",   "5.0",    "10.0",   "15.0",  "20.0",  "30.0",
                                             "40.0",  "50.0",   "60.0",   "120.0", "240.0", "480.0",
                                             "960.0", "1920.0", "7680.0", "+Inf"};
  for (const char* name : {"vllm:e2e_request_latency_seconds", "vllm:request_queue_time_seconds",
                           "vllm:request_inference_time_seconds",
                           "vllm:request_prefill_time_seconds", "vllm:request_decode_time_seconds"})
    EXPECT_THAT(bounds(name), ElementsAreArray(requests)) << name;
  EXPECT_EQ(bounds("vllm:time_to_first_token_seconds").size(), 23U);
  EXPECT_EQ(bounds("vllm:iteration_tokens_total").size(), 14U);
  EXPECT_EQ(bounds("vllm:request_params_n").size(), 6U);
}

TEST_F(MetricsTest, BucketsOfEveryHistogramGrowAndEndAtTheCount) {
  metrics_.count(some_times(), RequestEnd::kLength);
  for (const auto& [name, family] : read()) {
    if (family.type != "histogram") continue;
    double last = 0;
    for (const Series& series : family.series) {
      if (series.name.ends_with("_bucket")) {
        EXPECT_GE(series.value, last) << name;
        last = series.value;
      }
      if (series.name.ends_with("_count")) {
        EXPECT_EQ(series.value, last) << name;
        last = 0;
      }
    }
  }
}

TEST_F(MetricsTest, OneRequestIsCountedWhereItBelongs) {
  metrics_.count(some_times(), RequestEnd::kLength);
  metrics_.count(RequestTimes{}, RequestEnd::kAbort);  // left before its first step
  const auto all = read();
  EXPECT_EQ(value(all, "vllm:request_success_total", {{"finished_reason", "length"}}), 1);
  EXPECT_EQ(value(all, "vllm:request_success_total", {{"finished_reason", "abort"}}), 1);
  EXPECT_EQ(value(all, "vllm:request_success_total", {{"finished_reason", "stop"}}), 0);
  EXPECT_EQ(value(all, "vllm:request_prompt_tokens_sum"), 30);
  EXPECT_EQ(value(all, "vllm:request_prefill_kv_computed_tokens_sum"), 14);
  EXPECT_EQ(value(all, "vllm:request_generation_tokens_sum"), 5);
  EXPECT_EQ(value(all, "vllm:request_max_num_generation_tokens_sum"), 3);
  EXPECT_EQ(value(all, "vllm:request_params_max_tokens_sum"), 40);
  EXPECT_EQ(value(all, "vllm:request_params_n_sum"), 3);
  EXPECT_NEAR(value(all, "vllm:time_to_first_token_seconds_sum"), 1.5, 1e-9);
  EXPECT_NEAR(value(all, "vllm:request_queue_time_seconds_sum"), 0.5, 1e-9);
  EXPECT_NEAR(value(all, "vllm:request_prefill_time_seconds_sum"), 1, 1e-9);
  EXPECT_NEAR(value(all, "vllm:request_decode_time_seconds_sum"), 1, 1e-9);
  EXPECT_NEAR(value(all, "vllm:request_inference_time_seconds_sum"), 2, 1e-9);
  EXPECT_NEAR(value(all, "vllm:e2e_request_latency_seconds_sum"), 2.5, 1e-9);
  EXPECT_NEAR(value(all, "vllm:request_time_per_output_token_seconds_sum"), 0.25, 1e-9);
  EXPECT_EQ(value(all, "vllm:inter_token_latency_seconds_count"), 3);
  EXPECT_NEAR(value(all, "vllm:inter_token_latency_seconds_sum"), 1.1, 1e-9);
  EXPECT_EQ(value(all, "vllm:e2e_request_latency_seconds_count"), 1);
}

TEST_F(MetricsTest, TellsHowTheEngineStands) {
  const auto all = read();
  EXPECT_EQ(value(all, "vllm:num_requests_running"), 3);
  EXPECT_EQ(value(all, "vllm:num_requests_waiting"), 7);
  EXPECT_EQ(value(all, "vllm:num_requests_waiting_by_reason", {{"reason", "capacity"}}), 2);
  EXPECT_EQ(value(all, "vllm:num_requests_waiting_by_reason", {{"reason", "deferred"}}), 5);
  EXPECT_EQ(value(all, "vllm:kv_cache_usage_perc"), 0.25);
  EXPECT_EQ(value(all, "vllm:iteration_tokens_total_bucket", {{"le", "8.0"}}), 0);
  EXPECT_EQ(value(all, "vllm:iteration_tokens_total_bucket", {{"le", "16.0"}}), 1);
  EXPECT_EQ(value(all, "vllm:iteration_tokens_total_count"), 2);
  EXPECT_EQ(value(all, "vllm:corrupted_requests_total"), 1);
  EXPECT_EQ(value(all, "ingot:step_duration_seconds_sum"), 0.5);
  EXPECT_EQ(value(all, "vllm:prefix_cache_hits_total"), 64);
  EXPECT_EQ(value(all, "vllm:prompt_tokens_by_source_total", {{"source", "local_compute"}}), 36);
  EXPECT_EQ(value(all, "ingot:kv_pages", {{"group", "0"}, {"state", "used"}}), 25);
  EXPECT_EQ(value(all, "ingot:kv_pages", {{"group", "1"}, {"state", "free"}}), 40);
  EXPECT_EQ(value(all, "ingot:prefix_cache_hit_ratio"), 0.64);
  EXPECT_EQ(value(all, "ingot:http_connections"), 9);
  EXPECT_EQ(value(all, "ingot:build_info", {{"version", "1.2.3"}}), 1);
}

TEST_F(MetricsTest, TellsAboutTheProcess) {
  const auto all = read();
  EXPECT_GT(value(all, "process_resident_memory_bytes"), 1 << 20);
  EXPECT_GE(value(all, "process_open_fds"), 3);
  EXPECT_GT(value(all, "process_start_time_seconds"), 1.7e9);
  EXPECT_GE(value(all, "process_cpu_seconds_total"), 0);
}

TEST_F(MetricsTest, CountsHttpByRouteAndStatus) {
  metrics_.count_http("POST", "/v1/completions", 200, 0.5);
  metrics_.count_http("POST", "/v1/completions", 200, 0.5);
  metrics_.count_http("GET", "other", 404, 0.001);
  metrics_.count_refused();
  const auto all = read();
  EXPECT_EQ(value(all, "ingot:http_requests_total",
                  {{"method", "POST"}, {"route", "/v1/completions"}, {"status", "200"}}),
            2);
  EXPECT_EQ(value(all, "ingot:http_requests_total", {{"route", "other"}, {"status", "404"}}), 1);
  EXPECT_EQ(value(all, "ingot:http_request_duration_seconds_sum", {{"route", "/v1/completions"}}),
            1);
  EXPECT_EQ(value(all, "ingot:requests_refused_total"), 1);
}

TEST_F(MetricsTest, SpeedIsTheDifferenceToASampleBefore) {
  metrics_.sample({});
  const auto all = read();
  EXPECT_GT(value(all, "ingot:generation_tokens_per_second"), 0);
  EXPECT_GT(value(all, "ingot:prompt_tokens_per_second"), 0);
}

}  // namespace
}  // namespace ingot
