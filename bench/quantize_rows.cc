// SPDX-License-Identifier: Apache-2.0
// How fast one thread encodes each GGUF type: bench_quantize_rows [TYPE...]. Gigabytes of floats a
// second without and with importance, and as a multiple of one plain pass over the floats in the
// same run; beside it the relative squared error. Processor time, the best of a few.
#include "quant/quantize_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string_view>
#include <vector>

#include "blocks/layout.h"

namespace ingot {
namespace {

constexpr size_t kCols = 4096;
constexpr int kRepeats = 3;

double now_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class Call>
double best_s(const Call& call) {
  double best = 1e9;
  for (int i = 0; i < kRepeats; ++i) {
    const double start = now_s();
    call();
    best = std::min(best, now_s() - start);
  }
  return best;
}

// Types that search tables are a hundred times slower: a few rows say enough.
size_t rows_for(Layout layout) {
  const std::string_view name = info(layout).name;
  const bool is_slow = name.starts_with("IQ") && !name.starts_with("IQ4");
  return is_slow ? 16 : 256;
}

std::vector<float> heavy(size_t count) {
  std::mt19937_64 random(1);
  std::student_t_distribution<float> tails(4.0F);
  std::vector<float> values(count);
  for (float& value : values)
    value = 0.02F * tails(random);
  return values;
}

void measure(Layout layout, std::span<const float> all, std::span<const float> importance) {
  const std::span<const float> values = all.first(rows_for(layout) * kCols);
  const double gigabytes = 1e-9 * static_cast<double>(values.size_bytes());
  std::vector<std::byte> out(*storage_bytes(layout, values.size()).value());
  std::vector<float> decoded(values.size());
  double rates[2];
  double error = 0;
  for (const bool is_weighted : {true, false}) {
    const std::span<const float> weights = is_weighted ? importance : std::span<const float>();
    rates[is_weighted ? 1 : 0] =
        gigabytes / best_s([&] { quantize_rows(layout, values, kCols, weights, out); });
  }
  dequantize(layout, out, decoded);
  double total = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double off = static_cast<double>(decoded[i]) - static_cast<double>(values[i]);
    error += off * off;
    total += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  double sum = 0;
  const double pass_s = best_s([&] {
    for (const float value : values)
      sum += static_cast<double>(std::abs(value));
  });
  const double pass = gigabytes / pass_s;
  fmt::print("{:8} {:8.3f} GB/s {:8.3f} with importance  {:6.3f} of a pass  error {:.3e}{}\n",
             info(layout).name, rates[0], rates[1], rates[0] / pass, error / total,
             sum < 0 ? "!" : "");
}

int run(std::span<char*> names) {
  const std::vector<float> values = heavy(256 * kCols);
  std::vector<float> importance(kCols);
  for (size_t i = 0; i < kCols; ++i)
    importance[i] = std::exp(std::sin(static_cast<float>(i)));
  for (size_t i = 0; i < kLayoutCount; ++i) {
    const auto layout = static_cast<Layout>(i);
    const bool is_asked = names.empty() || std::ranges::any_of(names, [&](const char* name) {
                            return layout_named(name) == layout;
                          });
    if (is_asked && can_quantize(layout)) measure(layout, values, importance);
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace ingot

int main(int argc, char** argv) {
  return ingot::run(std::span(argv + 1, static_cast<size_t>(argc - 1)));
}
