// SPDX-License-Identifier: Apache-2.0
// How long sampling one token takes: bench_sampling [vocabulary]. Microseconds a call, median of
// many over rows that differ, and as a multiple of one plain pass over the row in the same run.
// "peaked" rows are like a model's (few tokens stand out), "flat" ones are the worst case.
#include "engine/sampling.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace ingot {
namespace {

constexpr size_t kRows = 8;
constexpr size_t kHistory = 600;

double now_us() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + 1e-3 * static_cast<double>(time.tv_nsec);
}

double median_us(int repeats, const std::function<void(uint64_t)>& call) {
  std::vector<double> times;
  for (int i = 0; i < repeats + 10; ++i) {
    const double start = now_us();
    call(static_cast<uint64_t>(i));
    if (i >= 10) times.push_back(now_us() - start);
  }
  std::ranges::nth_element(times, times.begin() + std::ssize(times) / 2);
  return times[times.size() / 2];
}

std::vector<std::vector<float>> make_rows(size_t vocab, bool is_peaked) {
  std::vector<std::vector<float>> rows(kRows);
  for (size_t i = 0; i < kRows; ++i) {
    std::mt19937_64 random(i);
    std::normal_distribution<float> normal(0, is_peaked ? 2.0F : 1.0F);
    rows[i].resize(vocab);
    for (float& logit : rows[i])
      logit = normal(random);
    for (int spike = 0; is_peaked && spike < 200; ++spike)
      rows[i][random() % vocab] += std::abs(normal(random)) * 4;
  }
  return rows;
}

SamplingParams all_on() {
  SamplingParams params{.temperature = 0.9F,
                        .dynatemp_range = 0.2F,
                        .top_k = 200,
                        .top_p = 0.95F,
                        .min_p = 0.01F,
                        .typical_p = 0.95F,
                        .top_n_sigma = 4,
                        .xtc_probability = 0.5F,
                        .repetition_penalty = 1.1F,
                        .presence_penalty = 0.1F,
                        .frequency_penalty = 0.1F,
                        .repeat_last_n = -1,
                        .dry_multiplier = 0.8F,
                        .dry_penalty_last_n = -1};
  params.dry_breakers = {{13}, {198}, {25, 4}};
  params.logit_bias = {{1, -100.0F}, {2, 1.0F}};
  params.bad_words = {{5, 6}};
  params.min_tokens = 100000;
  params.stop_token_ids = {2, 3};
  return params;
}

void bench(const char* rows_name, const std::vector<std::vector<float>>& rows) {
  SamplerScratch scratch;
  std::vector<TokenId> history(kHistory);
  for (size_t i = 0; i < kHistory; ++i)
    history[i] = static_cast<TokenId>(i * i % 97);
  const auto row = [&](uint64_t i) -> const std::vector<float>& { return rows[i % rows.size()]; };
  std::vector<float> maxima(logit_blocks(rows[0].size()));
  const SamplingKernels& kernels = choose_sampling(TargetSet::of_this_machine());
  const double pass = median_us(
      300, [&](uint64_t i) { kernels.scan(row(i).data(), row(i).size(), maxima.data()); });
  fmt::print("{:8} {:26} {:8.1f} us\n", rows_name, "one pass", pass);
  const auto show = [&](const char* name, const std::function<void(uint64_t)>& call) {
    const double us = median_us(300, call);
    fmt::print("{:8} {:26} {:8.1f} us {:6.1f} passes\n", rows_name, name, us, us / pass);
  };
  const auto sample = [&](const char* name, const SamplingParams& params) {
    Sampler sampler(params);
    show(name, [&](uint64_t i) {
      if (!sampler.sample(row(i), {history, 100}, i, scratch).is_ok()) std::abort();
    });
  };
  sample("greedy", {.temperature = 0});
  sample("default chain", {});
  sample("top_p 0.95, temperature 1", {.temperature = 1, .top_k = 0, .min_p = 0});
  sample("temperature 1 alone", {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0});
  sample("min_p 0.05 alone", {.temperature = 1, .top_k = 0, .top_p = 1});
  sample("mirostat 2", {.temperature = 1, .mirostat = 2});
  sample("default + penalties", {.repetition_penalty = 1.1F});
  sample("all on", all_on());
  show("logprobs, top 20",
       [&](uint64_t i) { position_logprobs(row(i), 7, 20, scratch.candidates); });
}

}  // namespace
}  // namespace ingot

int main(int argc, char** argv) {
  const size_t vocab = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 128256;
  fmt::print("vocabulary {}\n", vocab);
  ingot::bench("peaked", ingot::make_rows(vocab, true));
  ingot::bench("flat", ingot::make_rows(vocab, false));
  return 0;
}
