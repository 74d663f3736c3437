// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/test_random.h"

namespace ingot {
namespace {

constexpr auto kEpsilon = static_cast<double>(std::numeric_limits<float>::epsilon());

struct Options {
  int64_t heads = 4;
  int64_t kv_heads = 2;
  int64_t key_dim = 64;
  int64_t value_dim = 64;
  float softcap = 0;
  int64_t window = 0;
  bool has_alibi = false;
  bool has_sinks = false;
};

// Sequences of given lengths with random q, k and v, and a cache whose pages lie in random order.
class Batch {
 public:
  Batch(Random& random, const Options& given, Layout layout, std::vector<int64_t> sequence_lengths)
      : options(given), lengths(std::move(sequence_lengths)) {
    kv.shape = {layout, given.kv_heads, given.key_dim, given.value_dim};
    kv.page_stride = kv.shape.page_bytes() + 64;
    const int64_t rows = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    int64_t page_count = 0;
    for (const int64_t length : lengths)
      page_count += (length + kPageTokens - 1) / kPageTokens;
    cache.assign(static_cast<size_t>(page_count * kv.page_stride), std::byte{0xFF});  // NaNs
    kv.data = cache.data();
    pages.resize(static_cast<size_t>(page_count));
    std::iota(pages.begin(), pages.end(), 0);
    for (size_t i = pages.size(); i > 1; --i)
      std::swap(pages[i - 1],
                pages[static_cast<size_t>(random.whole(0, static_cast<int64_t>(i) - 1))]);
    q = random.normals(rows * given.heads * given.key_dim);
    k = random.normals(rows * given.kv_heads * given.key_dim);
    v = random.normals(rows * given.kv_heads * given.value_dim);
    slopes = random.normals(given.heads);
    sinks = random.normals(given.heads);
  }

  int64_t first_row(size_t sequence) const {
    return std::accumulate(lengths.begin(), lengths.begin() + static_cast<int64_t>(sequence),
                           int64_t{0});
  }
  SequenceRows rows(size_t sequence, int64_t first, int64_t tokens) const {
    int64_t page = 0;
    for (size_t i = 0; i < sequence; ++i)
      page += (lengths[i] + kPageTokens - 1) / kPageTokens;
    return {first_row(sequence) + first, tokens, first, pages.data() + page};
  }
  std::vector<SequenceRows> all() const {
    std::vector<SequenceRows> sequences;
    for (size_t i = 0; i < lengths.size(); ++i)
      sequences.push_back(rows(i, 0, lengths[i]));
    return sequences;
  }
  void run(const AttentionKernel& kernel, std::span<const SequenceRows> sequences,
           std::vector<float>& out, int threads = 1) const {
    ThreadPool pool(threads);
    const Exec exec(pool);
    const Options& o = options;
    kernel.store(
        {kv, k.data(), o.kv_heads * o.key_dim, v.data(), o.kv_heads * o.value_dim, sequences},
        exec);
    kernel.run({kv, q.data(), o.heads * o.key_dim, out.data(), o.heads * o.value_dim, o.heads,
                scale(), o.softcap, o.window, o.has_alibi ? slopes.data() : nullptr,
                o.has_sinks ? sinks.data() : nullptr, sequences},
               exec);
  }
  std::vector<float> run_all(const AttentionKernel& kernel, int threads = 1) const {
    std::vector<float> out =
        poisoned(static_cast<int64_t>(q.size()) / options.key_dim * options.value_dim);
    run(kernel, all(), out, threads);
    return out;
  }
  float scale() const { return 1.0F / std::sqrt(static_cast<float>(options.key_dim)); }

  Options options;
  std::vector<int64_t> lengths;
  PagedKv kv;
  std::vector<std::byte> cache;
  std::vector<PageId> pages;
  std::vector<float> q;
  std::vector<float> k;
  std::vector<float> v;
  std::vector<float> slopes;
  std::vector<float> sinks;
};

double stored(float value, Layout layout) {
  if (layout == Layout::kF16) return static_cast<double>(to_float(to_half(value)));
  if (layout == Layout::kBF16) return static_cast<double>(to_float(to_bfloat16(value)));
  return static_cast<double>(value);
}

// One head of one row from the definition, in double, with an error bound for float arithmetic: a
// logit off by d changes the weights by 2d, and the sums add their count of roundings.
struct Truth {
  std::vector<double> out;
  double bound = 0;
};
Truth truth(const Batch& batch, size_t sequence, int64_t position, int64_t head) {
  const Options& o = batch.options;
  const Layout layout = batch.kv.shape.layout;
  const int64_t kv_head = head / (o.heads / o.kv_heads);
  const int64_t first = o.window > 0 ? std::max<int64_t>(0, position + 1 - o.window) : 0;
  const int64_t base = batch.first_row(sequence);
  std::vector<double> logits;
  double logit_error = 0;
  for (int64_t i = first; i <= position; ++i) {
    double sum = 0;
    double magnitude = 0;
    for (int64_t d = 0; d < o.key_dim; ++d) {
      const double term =
          static_cast<double>(
              batch.q[static_cast<size_t>(((base + position) * o.heads + head) * o.key_dim + d)]) *
          stored(batch.k[static_cast<size_t>(((base + i) * o.kv_heads + kv_head) * o.key_dim + d)],
                 layout);
      sum += term;
      magnitude += std::fabs(term);
    }
    double logit = sum * static_cast<double>(batch.scale());
    if (o.softcap > 0) {
      const auto cap = static_cast<double>(o.softcap);
      logit = cap * std::tanh(logit / cap);
    }
    if (o.has_alibi)
      logit += static_cast<double>(batch.slopes[static_cast<size_t>(head)]) *
               static_cast<double>(i - position);
    logits.push_back(logit);
    logit_error = std::max(logit_error, kEpsilon * (static_cast<double>(o.key_dim + 8) * magnitude *
                                                        static_cast<double>(batch.scale()) +
                                                    4 * std::fabs(logit)));
  }
  double largest = *std::ranges::max_element(logits);
  const auto sink = static_cast<double>(batch.sinks[static_cast<size_t>(head)]);
  if (o.has_sinks) largest = std::max(largest, sink);
  double total = o.has_sinks ? std::exp(sink - largest) : 0;
  for (double& logit : logits)
    total += logit = std::exp(logit - largest);
  Truth result{std::vector<double>(static_cast<size_t>(o.value_dim)), 0};
  double most = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    for (int64_t d = 0; d < o.value_dim; ++d) {
      const int64_t row = base + first + static_cast<int64_t>(i);
      const double value = stored(
          batch.v[static_cast<size_t>((row * o.kv_heads + kv_head) * o.value_dim + d)], layout);
      result.out[static_cast<size_t>(d)] += logits[i] / total * value;
      most = std::max(most, std::fabs(value));
    }
  }
  result.bound = most * (4 * logit_error + kEpsilon * (static_cast<double>(logits.size()) + 16));
  return result;
}

const std::vector<Options>& option_table() {
  static const std::vector<Options> kTable = {
      {},
      {.heads = 1, .kv_heads = 1, .key_dim = 20, .value_dim = 12},
      {.heads = 7, .kv_heads = 1, .key_dim = 72, .value_dim = 64},
      {.heads = 9, .kv_heads = 3, .key_dim = 96, .value_dim = 130, .window = 11},
      {.softcap = 5},
      {.heads = 6, .kv_heads = 2, .has_alibi = true},
      {.heads = 8, .kv_heads = 2, .window = 5, .has_sinks = true},
  };
  return kTable;
}

TEST(Attention, EveryListedKernelMatchesTheDefinition) {
  Random random(test_seed());
  for (const AttentionKernel& kernel : attention_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    for (const Options& options : option_table()) {
      SCOPED_TRACE(fmt::format("{} heads {} dim {}", kernel.name, options.heads, options.key_dim));
      const Batch batch(random, options, kernel.layout, {1, 39, 17});
      const std::vector<float> out = batch.run_all(kernel);
      for (size_t sequence = 0; sequence < batch.lengths.size(); ++sequence) {
        for (int64_t position = 0; position < batch.lengths[sequence]; ++position) {
          for (int64_t head = 0; head < options.heads; ++head) {
            const Truth expected = truth(batch, sequence, position, head);
            const int64_t row = batch.first_row(sequence) + position;
            for (int64_t d = 0; d < options.value_dim; ++d) {
              const auto at =
                  static_cast<size_t>((row * options.heads + head) * options.value_dim + d);
              ASSERT_NEAR(out[at], expected.out[static_cast<size_t>(d)], expected.bound)
                  << "position " << position << " head " << head;
            }
          }
        }
      }
    }
  }
}

// In chunks, one by one, alone or in company, with any number of threads: the same bits.
TEST(Attention, ARowDependsOnNothingButItsOwnSequence) {
  Random random(test_seed());
  for (const AttentionKernel& kernel : attention_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    for (const Options& options : option_table()) {
      SCOPED_TRACE(fmt::format("{} heads {} dim {}", kernel.name, options.heads, options.key_dim));
      const Batch batch(random, options, kernel.layout, {23, 5, 41});
      const std::vector<float> whole = batch.run_all(kernel);
      EXPECT_EQ(whole, batch.run_all(kernel, 2));
      EXPECT_EQ(whole, batch.run_all(kernel, 3));
      std::vector<float> pieces = poisoned(static_cast<int64_t>(whole.size()));
      for (size_t sequence = 0; sequence < batch.lengths.size(); ++sequence) {
        for (int64_t first = 0; first < batch.lengths[sequence];) {
          const int64_t tokens = std::min(random.whole(1, 9), batch.lengths[sequence] - first);
          const SequenceRows rows = batch.rows(sequence, first, tokens);
          batch.run(kernel, {&rows, 1}, pieces);
          first += tokens;
        }
      }
      EXPECT_EQ(whole, pieces);
    }
  }
}

TEST(Attention, StoresTheSameBytesAsTheReference) {
  Random random(test_seed());
  for (const AttentionKernel& kernel : attention_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    Batch batch(random, {.key_dim = 20, .value_dim = 12}, kernel.layout, {19});
    batch.k[3] = std::numeric_limits<float>::quiet_NaN();
    batch.k[4] = std::numeric_limits<float>::infinity();
    batch.k[5] = 1e-7F;
    batch.k[6] = 70000.0F;
    batch.run_all(*choose_attention(kernel.layout, TargetSet::scalar_only()));
    const std::vector<std::byte> expected = batch.cache;
    std::ranges::fill(batch.cache, std::byte{0xFF});
    batch.run_all(kernel);
    EXPECT_EQ(batch.cache, expected) << kernel.name;
  }
}

TEST(Attention, HasAKernelForEveryCacheLayoutAndNoOther) {
  for (const TargetSet targets : {TargetSet::scalar_only(), TargetSet::of_this_machine()}) {
    for (const Layout layout : {Layout::kF32, Layout::kF16, Layout::kBF16})
      EXPECT_NE(choose_attention(layout, targets), nullptr);
    EXPECT_EQ(choose_attention(Layout::kQ8_0, targets), nullptr);
  }
}

}  // namespace
}  // namespace ingot
