// SPDX-License-Identifier: Apache-2.0
// How fast each kernel is: bench_kernels [name part] [threads]. Linears: GB/s of weights for one
// token (matrices larger than the L3 cache), and GFLOP/s, two per weight and token, for 512. The
// rest: microseconds. Medians of several runs, with their spread.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/linear.h"
#include "kernels/norm.h"

namespace ingot {
namespace {

struct Timing {
  double median_s;
  double spread;  // (slowest - fastest) / median of the middle half
};

double now_s(const Exec& exec) {
  timespec time{};
  clock_gettime(exec.threads() == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class Function>
Timing measure(const Exec& exec, int repeats, Function&& function) {
  function();  // warm-up
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const double start = now_s(exec);
    function();
    seconds.push_back(now_s(exec) - start);
  }
  std::ranges::sort(seconds);
  const size_t quarter = seconds.size() / 4;
  const double median = seconds[seconds.size() / 2];
  return {median, (seconds[seconds.size() - 1 - quarter] - seconds[quarter]) / median};
}

std::vector<float> normals(int64_t count, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values)
    value = normal(engine);
  return values;
}

// Whole matrices of blocks that decode to ordinary numbers: one row's worth of random blocks, kept
// when moderate, repeated.
std::vector<std::byte> random_weights(Layout layout, int64_t cols, size_t size) {
  std::mt19937_64 engine(1);
  const LayoutInfo& about = info(layout);
  std::vector<std::byte> row(static_cast<size_t>(cols) / about.block_elements * about.block_bytes);
  std::vector<float> values(about.block_elements);
  for (size_t at = 0; at < row.size(); at += about.block_bytes) {
    const std::span<std::byte> block(row.data() + at, about.block_bytes);
    float largest = 0;
    do {
      for (std::byte& byte : block)
        byte = static_cast<std::byte>(engine() & 0xFF);
      dequantize(layout, block, values);
      largest = 0;
      for (const float value : values)
        largest = std::isfinite(value) ? std::max(largest, std::fabs(value)) : 1e9F;
    } while (largest < 1e-3F || largest > 1e3F);
  }
  std::vector<std::byte> bytes(size);
  for (size_t at = 0; at < size; at += row.size())
    std::memcpy(bytes.data() + at, row.data(), std::min(row.size(), size - at));
  return bytes;
}

constexpr int64_t kRows = 2048;
constexpr int64_t kCols = 8192;
constexpr int64_t kPromptTokens = 512;
constexpr size_t kStreamBytes = 160 << 20;  // several matrices, more than any L3 cache here

void bench_linear(const LinearKernel& kernel, const Exec& exec) {
  const auto row_bytes =
      static_cast<int64_t>(storage_bytes(kernel.layout, CheckedSize(kCols)).value_or(0));
  const auto matrix_bytes = static_cast<size_t>(row_bytes * kRows);
  const size_t matrices = kStreamBytes / matrix_bytes + 1;
  const std::vector<std::byte> weights =
      random_weights(kernel.layout, kCols, matrix_bytes * matrices);
  const std::vector<float> input = normals(kCols * kPromptTokens, 2);
  std::vector<float> y(static_cast<size_t>(kRows * kPromptTokens));

  const auto run = [&](int64_t tokens, size_t count) {
    Activations x(TargetSet::of_this_machine());
    x.set(input.data(), tokens, kCols);
    LinearArgs args{.layout = kernel.layout,
                    .weights = nullptr,
                    .weight_row_bytes = row_bytes,
                    .cols = kCols,
                    .x = x.rows(kernel.activation, exec),
                    .tokens = tokens,
                    .y = y.data(),
                    .y_stride = kRows,
                    .bias = nullptr};
    for (size_t i = 0; i < count; ++i) {
      args.weights = weights.data() + i * matrix_bytes;
      exec.for_ranges(kRows, 16, [&](int64_t begin, int64_t end) { kernel.run(args, begin, end); });
    }
  };
  const bool is_scalar = kernel.target == Target::kScalar;
  const size_t streamed = is_scalar ? 1 : matrices;
  const Timing one = measure(exec, is_scalar ? 3 : 9, [&] { run(1, streamed); });
  const int64_t many_tokens = is_scalar ? 8 : kPromptTokens;
  const Timing many = measure(exec, 3, [&] { run(many_tokens, 1); });
  const double gigabytes = static_cast<double>(matrix_bytes * streamed) * 1e-9;
  const double gigaflops = 2e-9 * static_cast<double>(kRows) * static_cast<double>(kCols) *
                           static_cast<double>(many_tokens);
  fmt::print("{:28} {:8.2f} {:5.0f}%   {:9.1f} {:5.0f}%\n", kernel.name, gigabytes / one.median_s,
             100 * one.spread, gigaflops / many.median_s, 100 * many.spread);
}

void bench_pack(const PackKernel& kernel, const Exec& exec) {
  const std::vector<float> x = normals(kCols * 64, 3);
  std::vector<std::byte> out(activation_row_bytes(kernel.layout, kCols) * 64);
  const PackArgs args{x.data(), kCols, out.data()};
  const Timing timing = measure(exec, 9, [&] {
    exec.for_ranges(64, 1, [&](int64_t begin, int64_t end) { kernel.run(args, begin, end); });
  });
  fmt::print("{:28} {:10.1f} us for 64 x {}\n", kernel.name, timing.median_s * 1e6, kCols);
}

// Llama 3.2 1B: 32 heads over 8 kv heads of 64.
void bench_attention(const AttentionKernel& kernel, const Exec& exec, int64_t tokens,
                     int64_t context) {
  PagedKv kv{.shape = {kernel.type, 8, 64, 64}};
  kv.page_stride = kv.shape.page_bytes();
  const int64_t page_count = (context + kDefaultPageTokens - 1) / kDefaultPageTokens;
  std::vector<std::byte> cache(static_cast<size_t>(page_count * kv.page_stride));
  kv.data = cache.data();
  std::vector<PageId> pages(static_cast<size_t>(page_count));
  for (size_t i = 0; i < pages.size(); ++i)
    pages[i] = static_cast<PageId>(i);
  const std::vector<float> input = normals(context * 512, 4);
  const SequenceRows all{0, context, 0, pages.data()};
  kernel.store({kv, input.data(), 512, input.data(), 512, {&all, 1}}, exec);
  const std::vector<float> q = normals(tokens * 2048, 5);
  std::vector<float> out(static_cast<size_t>(tokens * 2048));
  const SequenceRows last{0, tokens, context - tokens, pages.data()};
  const AttentionArgs args{kv,     q.data(), 2048, out.data(), 2048,    32,
                           0.125F, 0,        0,    nullptr,    nullptr, {&last, 1}};
  const Timing timing = measure(exec, 5, [&] { kernel.run(args, exec); });
  fmt::print("{:28} {:10.1f} us for {} rows at context {}\n", kernel.name, timing.median_s * 1e6,
             tokens, context);
}

void bench_small_ops(const Exec& exec) {
  std::vector<float> x = normals(64 * kCols, 6);
  std::vector<float> y(x.size());
  for (const ElementwiseKernels& kernels : elementwise_kernels()) {
    for (const Activation activation :
         {Activation::kSilu, Activation::kGelu, Activation::kGeluTanh}) {
      const auto count = static_cast<int64_t>(x.size());
      const Timing timing = measure(
          exec, 5, [&] { kernels.activate(activation, x.data(), x.data(), y.data(), count); });
      fmt::print("{:28} {:10.2f} ns a value, activation {}\n", kernels.name,
                 timing.median_s * 1e9 / static_cast<double>(count), static_cast<int>(activation));
    }
  }
  for (const NormKernel& kernel : norm_kernels()) {
    const NormArgs args{NormKind::kRms, x.data(), kCols,    y.data(), kCols,
                        kCols,          1e-5F,    x.data(), 1,        nullptr};
    const Timing timing = measure(exec, 9, [&] {
      exec.for_ranges(64, 1, [&](int64_t b, int64_t e) { kernel.run(args, b, e); });
    });
    fmt::print("{:28} {:10.1f} us for 64 x {}\n", kernel.name, timing.median_s * 1e6, kCols);
  }
}

int run_all(std::string_view part, int threads) {
  ThreadPool pool(threads);
  const Exec exec(pool);
  const auto is_wanted = [&](std::string_view name) {
    return part.empty() || name.find(part) != std::string_view::npos;
  };
  fmt::print("{} threads; linears {} x {}\n", exec.threads(), kRows, kCols);
  fmt::print("{:28} {:>8} spread   {:>9} spread\n", "kernel", "GB/s", "GFLOP/s");
  for (const LinearKernel& kernel : linear_kernels()) {
    if (!is_wanted(kernel.name) || !TargetSet::of_this_machine().has(kernel.target)) continue;
    if (kernel.target == Target::kScalar && part.empty()) continue;  // slow; ask for them by name
    bench_linear(kernel, exec);
  }
  for (const PackKernel& kernel : pack_kernels()) {
    if (is_wanted(kernel.name)) bench_pack(kernel, exec);
  }
  for (const AttentionKernel& kernel : attention_kernels()) {
    if (!is_wanted(kernel.name) || kernel.target == Target::kScalar) continue;
    bench_attention(kernel, exec, 1, 4096);
    bench_attention(kernel, exec, 512, 512);
    bench_attention(kernel, exec, 512, 4096);
  }
  if (is_wanted("elementwise norm")) bench_small_ops(exec);
  return 0;
}

}  // namespace
}  // namespace ingot

int main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "";
  return ingot::run_all(part, argc > 2 ? std::atoi(argv[2]) : 0);
}
