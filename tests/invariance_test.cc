// SPDX-License-Identifier: Apache-2.0
// The answer does not depend on the company: logits are equal bit for bit whether a sequence runs
// alone or among others, at once or in chunks, on one thread or several, in pages of any size, with
// any type of cache.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

#include "base/json.h"
#include "model/decoder.h"
#include "oracle_files.h"
#include "wanted_targets.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

// A sequence with its own pages, run through a decoder in pieces.
struct Stream {
  std::vector<TokenId> ids;
  std::vector<PageTable> tables;  // one per cache group
  int64_t done = 0;
  std::vector<std::vector<float>> logits;  // one row per token
};

class Invariance : public ::testing::TestWithParam<fs::path> {
 protected:
  void SetUp() override {
    auto checkpoint = Checkpoint::open(GetParam());
    ASSERT_TRUE(checkpoint.is_ok()) << checkpoint.status().message();
    const auto targets = testing::wanted_targets();
    if (!targets.is_ok()) GTEST_SKIP() << targets.status().message();
    ModelOptions options;
    options.targets = *targets;
    options.dtype = testing::wanted_dtype();
    auto model = Model::load(*checkpoint, options);
    ASSERT_TRUE(model.is_ok()) << model.status().message();
    model_ = *model;
  }

  // Streams of random tokens, without pages.
  std::vector<Stream> make_streams(std::mt19937& random,
                                   const std::vector<int64_t>& lengths) const {
    std::vector<Stream> streams;
    for (const int64_t length : lengths) {
      Stream stream;
      for (int64_t i = 0; i < length; ++i)
        stream.ids.push_back(
            static_cast<TokenId>(random() % static_cast<uint64_t>(model_->spec().vocab)));
      streams.push_back(std::move(stream));
    }
    return streams;
  }

  // A cache just large enough, its pages dealt out in shuffled order and full of noise.
  KvCache make_cache(std::mt19937& random, std::vector<Stream>& streams, KvCacheType type,
                     int64_t page_tokens) const {
    int64_t pages = 0;
    for (Stream& stream : streams) {
      pages += (static_cast<int64_t>(stream.ids.size()) + page_tokens - 1) / page_tokens;
      stream.tables.clear();
    }
    KvCacheOptions options{type, page_tokens, {}};
    options.pages_per_group.assign(cache_groups(model_->spec(), type, page_tokens).size(), pages);
    KvCache cache = *KvCache::create(model_->spec(), options);
    for (size_t group = 0; group < cache.groups().size(); ++group) {
      PageTable deck(static_cast<size_t>(pages));
      std::iota(deck.begin(), deck.end(), 0);
      std::shuffle(deck.begin(), deck.end(), random);
      for (const PageId page : deck)
        std::ranges::fill(cache.page(group, page), std::byte{0xFF});
      for (Stream& stream : streams) {
        PageTable& table = stream.tables.emplace_back();
        for (int64_t i = 0; i * page_tokens < static_cast<int64_t>(stream.ids.size()); ++i) {
          table.push_back(deck.back());
          deck.pop_back();
        }
      }
    }
    return cache;
  }

  // Marks what fell out of sliding windows as given back.
  static void give_back(const KvCache& cache, Stream& stream) {
    for (size_t group = 0; group < cache.groups().size(); ++group) {
      const int64_t window = cache.groups()[group].window;
      if (window == 0) continue;
      const int64_t gone = std::max<int64_t>(0, stream.done + 1 - window) / cache.page_tokens();
      std::fill_n(stream.tables[group].begin(), gone, kNoPage);
    }
  }

  // One forward pass over the next `take(stream)` tokens of each stream.
  template <class Take>
  static void step(Decoder& decoder, const KvCache& cache, std::vector<Stream>& streams,
                   Take take) {
    Batch batch;
    std::vector<Stream*> rows;
    for (Stream& stream : streams) {
      const int64_t count =
          std::min<int64_t>(take(stream), static_cast<int64_t>(stream.ids.size()) - stream.done);
      if (count == 0) continue;
      give_back(cache, stream);
      batch.tokens.insert(batch.tokens.end(), stream.ids.begin() + stream.done,
                          stream.ids.begin() + stream.done + count);
      batch.sequences.push_back(
          {count, stream.done, stream.tables, static_cast<int64_t>(stream.ids.size())});
      stream.done += count;
      rows.insert(rows.end(), static_cast<size_t>(count), &stream);
    }
    if (rows.empty()) return;
    for (size_t i = 0; i < rows.size(); ++i)
      batch.output_rows.push_back(static_cast<int64_t>(i));
    auto logits = decoder.forward(batch, cache);
    ASSERT_TRUE(logits.is_ok()) << logits.status().message();
    const auto vocab = static_cast<size_t>(decoder.model().spec().vocab);
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto row = logits->subspan(i * vocab, vocab);
      rows[i]->logits.emplace_back(row.begin(), row.end());
    }
  }

  std::shared_ptr<const Model> model_;
};

TEST_P(Invariance, ChunksCompanyAndThreadsChangeNoBit) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const KvCacheType type : kv_cache_types()) {
    std::vector<Stream> alone = make_streams(random, {1, 7, 50, 33});
    {
      const KvCache cache = make_cache(random, alone, type, kDefaultPageTokens);
      ThreadPool one(1);
      Decoder solo = *Decoder::create(model_, Exec(one), type);
      for (Stream& stream : alone) {
        std::vector<Stream> single = {stream};
        step(solo, cache, single,
             [](const Stream& s) { return static_cast<int64_t>(s.ids.size()); });
        stream.logits = single[0].logits;
      }
    }
    for (const auto& [threads, page_tokens] : {std::pair{1, 8}, {2, 16}, {3, 32}, {4, 8}}) {
      SCOPED_TRACE(
          fmt::format("{} threads, pages of {}, cache {}", threads, page_tokens, to_string(type)));
      ThreadPool pool(threads);
      Decoder decoder = *Decoder::create(model_, Exec(pool), type);
      std::vector<Stream> together = alone;
      for (Stream& stream : together)
        stream.logits.clear();
      const KvCache cache = make_cache(random, together, type, page_tokens);
      while (std::ranges::any_of(together,
                                 [](const Stream& s) { return s.logits.size() < s.ids.size(); })) {
        step(decoder, cache, together,
             [&](const Stream&) { return static_cast<int64_t>(random() % 9); });
      }
      for (size_t i = 0; i < alone.size(); ++i) {
        for (size_t row = 0; row < alone[i].logits.size(); ++row) {
          const std::vector<float>& expected = alone[i].logits[row];
          ASSERT_EQ(std::memcmp(expected.data(), together[i].logits[row].data(),
                                expected.size() * sizeof(float)),
                    0)
              << "sequence " << i << ", row " << row;
        }
      }
    }
  }
}

std::vector<fs::path> models() {
  std::vector<fs::path> folders;
  for (const fs::path& folder : testing::oracle_folders("models", "goldens.safetensors")) {
    static const std::vector<std::string> kNames = {
        "public-llama-plain",  "public-gemma2",       "public-phi3-longrope",
        "public-gpt2",         "public-falcon-new",   "public-olmo2",
        "public-ct-w8a8-int8", "public-fp8-block128", "public-ct-fp8-static-tensor",
        "public-ct-nvfp4"};
    if (std::ranges::find(kNames, folder.filename().string()) != kNames.end())
      folders.push_back(folder);
  }
  return folders;
}

INSTANTIATE_TEST_SUITE_P(Oracle, Invariance, ::testing::ValuesIn(models()), [](const auto& param) {
  std::string name = param.param.filename().string();
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace ingot
