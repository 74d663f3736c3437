// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/attention_parts.h"
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
  Batch(Random& random, const Options& given, KvCacheType type,
        std::vector<int64_t> sequence_lengths, int64_t page_tokens = kDefaultPageTokens)
      : options(given), lengths(std::move(sequence_lengths)) {
    kv.shape = {type, given.kv_heads, given.key_dim, given.value_dim, page_tokens};
    const int64_t rows = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    q = random.normals(rows * given.heads * given.key_dim);
    k = random.normals(rows * given.kv_heads * given.key_dim);
    v = random.normals(rows * given.kv_heads * given.value_dim);
    slopes = random.normals(given.heads);
    sinks = random.normals(given.heads);
    deal_pages(random);
  }

  // An empty cache, its pages of any size in any order.
  void deal_pages(Random& random) {
    kv.page_stride = kv.shape.page_bytes() + 64;
    int64_t page_count = 0;
    for (const int64_t length : lengths)
      page_count += pages_of(length);
    cache.assign(static_cast<size_t>(page_count * kv.page_stride), std::byte{0xFF});  // NaNs
    kv.data = cache.data();
    pages.resize(static_cast<size_t>(page_count));
    std::iota(pages.begin(), pages.end(), 0);
    for (size_t i = pages.size(); i > 1; --i)
      std::swap(pages[i - 1],
                pages[static_cast<size_t>(random.whole(0, static_cast<int64_t>(i) - 1))]);
  }
  int64_t pages_of(int64_t length) const {
    return (length + kv.shape.page_tokens - 1) / kv.shape.page_tokens;
  }

  int64_t first_row(size_t sequence) const {
    return std::accumulate(lengths.begin(), lengths.begin() + static_cast<int64_t>(sequence),
                           int64_t{0});
  }
  SequenceRows rows(size_t sequence, int64_t first, int64_t tokens) const {
    int64_t page = 0;
    for (size_t i = 0; i < sequence; ++i)
      page += pages_of(lengths[i]);
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
  PageTable pages;  // of all sequences, one after the other
  std::vector<float> q;
  std::vector<float> k;
  std::vector<float> v;
  std::vector<float> slopes;
  std::vector<float> sinks;
};

// What a scalar kernel makes of one head's key or value when it is written and read again: the
// value's row with all its weight on one position.
std::vector<double> stored(const float* row, int64_t dim, KvCacheType type) {
  PagedKv kv{.shape = {type, 1, dim, dim}};
  kv.page_stride = kv.shape.page_bytes();
  std::vector<std::byte> cache(static_cast<size_t>(kv.page_stride));
  kv.data = cache.data();
  const PageId page = 0;
  const SequenceRows rows{0, 1, 0, &page};
  ThreadPool pool(1);
  const Exec exec(pool);
  const AttentionKernel& kernel = choose_attention(type, TargetSet::scalar_only());
  const std::vector<float> zeros(static_cast<size_t>(dim));
  std::vector<float> out(static_cast<size_t>(dim));
  kernel.store({kv, zeros.data(), dim, row, dim, {&rows, 1}}, exec);
  kernel.run({kv, zeros.data(), dim, out.data(), dim, 1, 1, 0, 0, nullptr, nullptr, {&rows, 1}},
             exec);
  return {out.begin(), out.end()};
}
// All rows of keys or values, as they come back from the cache.
std::vector<double> stored(const std::vector<float>& rows, int64_t dim, KvCacheType type) {
  std::vector<double> all;
  for (size_t i = 0; i < rows.size(); i += static_cast<size_t>(dim)) {
    const std::vector<double> row = stored(rows.data() + i, dim, type);
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

// One head of one row from the definition, in double, with an error bound for float arithmetic: a
// logit off by d changes the weights by 2d, and the sums add their count of roundings.
struct Truth {
  std::vector<double> out;
  double bound = 0;
};
bool rotates_keys(KvCacheType type) {
  return type == KvCacheType::kFp8E4M3 || type == KvCacheType::kFp8E5M2 ||
         type == KvCacheType::kInt4;
}
std::vector<float> rotated(std::vector<float> rows, int64_t dim, KvCacheType type) {
  for (size_t i = 0; i < rows.size() && rotates_keys(type); i += static_cast<size_t>(dim))
    rotate_key(rows.data() + i, dim);
  return rows;
}
// The type whose values are kept as this type's keys are.
KvCacheType key_rows(KvCacheType type) {
  return type == KvCacheType::kFp8E5M2 ? KvCacheType::kFp8E4M3 : type;
}
struct Cached {
  explicit Cached(const Batch& batch) : Cached(batch, batch.options.key_dim, batch.kv.shape.type) {}
  Cached(const Batch& batch, int64_t key_dim, KvCacheType type)
      : q(rotated(batch.q, key_dim, type)),
        k(stored(rotated(batch.k, key_dim, type), key_dim, key_rows(type))),
        v(stored(batch.v, batch.options.value_dim, type)) {}
  std::vector<float> q;
  std::vector<double> k;
  std::vector<double> v;
};
Truth truth(const Batch& batch, const Cached& cached, size_t sequence, int64_t position,
            int64_t head) {
  const Options& o = batch.options;
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
              cached.q[static_cast<size_t>(((base + position) * o.heads + head) * o.key_dim + d)]) *
          cached.k[static_cast<size_t>(((base + i) * o.kv_heads + kv_head) * o.key_dim + d)];
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
      const double value =
          cached.v[static_cast<size_t>((row * o.kv_heads + kv_head) * o.value_dim + d)];
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

void expect_truth(const Batch& batch, const std::vector<float>& out, int64_t position_step) {
  const Options& options = batch.options;
  const Cached cached(batch);
  for (size_t sequence = 0; sequence < batch.lengths.size(); ++sequence) {
    for (int64_t position = batch.lengths[sequence] - 1; position >= 0; position -= position_step) {
      for (int64_t head = 0; head < options.heads; ++head) {
        const Truth expected = truth(batch, cached, sequence, position, head);
        const int64_t row = batch.first_row(sequence) + position;
        for (int64_t d = 0; d < options.value_dim; ++d) {
          const auto at = static_cast<size_t>((row * options.heads + head) * options.value_dim + d);
          ASSERT_NEAR(out[at], expected.out[static_cast<size_t>(d)], expected.bound)
              << "position " << position << " head " << head;
        }
      }
    }
  }
}

TEST(Attention, EveryListedKernelMatchesTheDefinition) {
  Random random(test_seed());
  for (const AttentionKernel& kernel : attention_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    for (const Options& options : option_table()) {
      SCOPED_TRACE(fmt::format("{} heads {} dim {}", kernel.name, options.heads, options.key_dim));
      const Batch batch(random, options, kernel.type, {1, 39, 17});
      expect_truth(batch, batch.run_all(kernel), 1);
    }
  }
}

// Beyond one segment of positions, where partial results are joined.
TEST(Attention, LongSequencesMatchTheDefinition) {
  Random random(test_seed());
  for (const Options& options :
       {Options{.heads = 3, .kv_heads = 1, .key_dim = 16, .value_dim = 24},
        Options{.heads = 2, .kv_heads = 2, .key_dim = 16, .value_dim = 16, .has_sinks = true},
        Options{.heads = 2, .kv_heads = 1, .key_dim = 16, .value_dim = 16, .window = 600},
        Options{.heads = 2, .kv_heads = 1, .key_dim = 16, .value_dim = 16, .has_alibi = true}}) {
    for (const AttentionKernel& kernel : attention_kernels()) {
      if (!TargetSet::of_this_machine().has(kernel.target)) continue;
      if (kernel.target == Target::kScalar && kernel.type != KvCacheType::kF16) continue;  // slow
      SCOPED_TRACE(fmt::format("{} window {}", kernel.name, options.window));
      const Batch batch(random, options, kernel.type, {1100});
      expect_truth(batch, batch.run_all(kernel), 97);
    }
  }
}

TEST(Attention, RotatingTwiceGivesTheRowBackAndKeepsDotProducts) {
  Random random(test_seed());
  for (const int64_t dim : {1, 7, 20, 64, 96, 256}) {
    const std::vector<float> a = random.normals(dim);
    const std::vector<float> b = random.normals(dim);
    std::vector<float> c = a;
    std::vector<float> d = b;
    rotate_key(c.data(), dim);
    rotate_key(d.data(), dim);
    EXPECT_NEAR(std::inner_product(a.begin(), a.end(), b.begin(), 0.0),
                std::inner_product(c.begin(), c.end(), d.begin(), 0.0), 1e-4);
    rotate_key(c.data(), dim);
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_NEAR(a[i], c[i], 1e-5);
  }
}

// In chunks, one by one, alone or in company, in pages of any size, with any number of threads: the
// same bits.
TEST(Attention, ARowDependsOnNothingButItsOwnSequence) {
  Random random(test_seed());
  for (const AttentionKernel& kernel : attention_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    for (const Options& options : option_table()) {
      SCOPED_TRACE(fmt::format("{} heads {} dim {}", kernel.name, options.heads, options.key_dim));
      Batch batch(random, options, kernel.type, {23, 5, 41});
      const std::vector<float> whole = batch.run_all(kernel);
      EXPECT_EQ(whole, batch.run_all(kernel, 2));
      EXPECT_EQ(whole, batch.run_all(kernel, 3));
      for (const int64_t page_tokens : {8, 32, 128}) {
        batch.kv.shape.page_tokens = page_tokens;
        batch.deal_pages(random);
        EXPECT_EQ(whole, batch.run_all(kernel));
      }
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

// A long sequence's segments are shared among threads where there are few heads; a sliding window
// may have given pages back. Neither shows in the result.
TEST(Attention, SharedSegmentsAndPagesGivenBackChangeNothing) {
  Random random(test_seed());
  constexpr int64_t kLength = 1700;
  for (const AttentionKernel& kernel : attention_kernels()) {
    if (kernel.target == Target::kScalar || !TargetSet::of_this_machine().has(kernel.target))
      continue;
    for (const int64_t window : {0, 40, 700}) {
      SCOPED_TRACE(fmt::format("{} window {}", kernel.name, window));
      const Options options{
          .heads = 3, .kv_heads = 1, .key_dim = 16, .value_dim = 24, .window = window};
      Batch batch(random, options, kernel.type, {kLength});
      const std::vector<float> whole = batch.run_all(kernel);
      const int64_t width = options.heads * options.value_dim;
      for (const int threads : {1, 2, 4}) {
        const int64_t tokens = random.whole(1, 5);
        const int64_t first = kLength - tokens;
        std::vector<float> last = poisoned(static_cast<int64_t>(whole.size()));
        if (window > 0) {
          const int64_t gone = (first + 1 - window) / batch.kv.shape.page_tokens;
          std::fill_n(batch.pages.begin(), gone, kNoPage);
        }
        const SequenceRows rows = batch.rows(0, first, tokens);
        batch.run(kernel, {&rows, 1}, last, threads);
        EXPECT_TRUE(
            std::equal(whole.begin() + first * width, whole.end(), last.begin() + first * width))
            << threads << " threads, " << tokens << " rows";
      }
    }
  }
}

TEST(Attention, StoresTheSameBytesAsTheReference) {
  Random random(test_seed());
  for (const AttentionKernel& kernel : attention_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    for (const int64_t key_dim : {20, 64, 21}) {
      Batch batch(random, {.key_dim = key_dim, .value_dim = 12}, kernel.type, {61});
      // All sizes of numbers, a row of zeros, and rows with what is no number.
      for (size_t i = 0; i < batch.v.size(); ++i)
        batch.v[i] *= std::ldexp(1.0F, static_cast<int>(random.whole(-24, 20)));
      std::fill_n(batch.k.begin() + key_dim, key_dim, 0.0F);
      batch.k[3] = std::numeric_limits<float>::quiet_NaN();
      batch.k[4] = std::numeric_limits<float>::infinity();
      batch.k[5] = 1e-7F;
      batch.k[6] = 70000.0F;
      batch.v[5] = -std::numeric_limits<float>::infinity();
      batch.v[20] = -3e38F;
      batch.v[21] = 3e38F;
      batch.run_all(choose_attention(kernel.type, TargetSet::scalar_only()));
      const std::vector<std::byte> expected = batch.cache;
      std::ranges::fill(batch.cache, std::byte{0xFF});
      batch.run_all(kernel);
      EXPECT_EQ(batch.cache, expected) << kernel.name << " dim " << key_dim;
    }
  }
}

// Every code of one byte, through the value of a single position.
TEST(Attention, ReadsEveryCodeAsTheReferenceDoes) {
  for (const AttentionKernel& kernel : attention_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    constexpr int64_t kDim = 256;
    PagedKv kv{.shape = {kernel.type, 1, kDim, kDim}};
    kv.page_stride = kv.shape.page_bytes();
    std::vector<std::byte> cache(static_cast<size_t>(kv.page_stride));
    for (size_t i = 0; i < cache.size(); ++i)
      cache[i] = static_cast<std::byte>(i);
    const int64_t value_row = kDefaultPageTokens * kv.shape.key_row_bytes();
    std::fill_n(cache.begin(), value_row, std::byte{0});
    if (kernel.type == KvCacheType::kInt8 || kernel.type == KvCacheType::kInt4) {
      const int64_t scale = value_row + (kernel.type == KvCacheType::kInt8 ? kDim : kDim / 2);
      cache[static_cast<size_t>(scale + 1)] = std::byte{0x3A};  // a number below 1
      cache[static_cast<size_t>(kernel.type == KvCacheType::kInt4 ? scale + 3 : scale + 1)] =
          std::byte{0x3B};
    }
    kv.data = cache.data();
    const PageId page = 0;
    const SequenceRows rows{0, 1, 0, &page};
    ThreadPool pool(1);
    const std::vector<float> q(static_cast<size_t>(kDim));
    const auto run = [&](const AttentionKernel& one) {
      std::vector<float> out = poisoned(kDim);
      one.run({kv, q.data(), kDim, out.data(), kDim, 1, 1, 0, 0, nullptr, nullptr, {&rows, 1}},
              Exec(pool));
      return out;
    };
    const std::vector<float> expected =
        run(choose_attention(kernel.type, TargetSet::scalar_only()));
    const std::vector<float> out = run(kernel);
    for (size_t i = 0; i < out.size(); ++i) {
      if (std::isnan(expected[i]))
        EXPECT_TRUE(std::isnan(out[i])) << kernel.name << " code " << i;
      else
        EXPECT_EQ(out[i], expected[i]) << kernel.name << " code " << i;
    }
  }
}

TEST(Attention, HasAKernelForEveryCacheType) {
  for (const TargetSet targets : {TargetSet::scalar_only(), TargetSet::of_this_machine()}) {
    for (const KvCacheType type : kv_cache_types())
      EXPECT_EQ(choose_attention(type, targets).type, type);
  }
}

TEST(PagedKv, NamesOfTypesGoBothWays) {
  for (const KvCacheType type : kv_cache_types())
    EXPECT_EQ(*parse_kv_cache_type(to_string(type)), type);
  EXPECT_EQ(*parse_kv_cache_type("fp8"), KvCacheType::kFp8E4M3);
  EXPECT_FALSE(parse_kv_cache_type("int3").is_ok());
}

TEST(PagedKv, PageSizesArePowersOfTwoFrom8To128) {
  for (const int64_t size : {8, 16, 32, 64, 128})
    EXPECT_TRUE(is_page_size(size));
  for (const int64_t size : {-8, 0, 4, 12, 24, 256})
    EXPECT_FALSE(is_page_size(size));
}

}  // namespace
}  // namespace ingot
