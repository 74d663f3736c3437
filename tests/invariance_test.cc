// SPDX-License-Identifier: Apache-2.0
// The answer does not depend on the company: logits are equal bit for bit whether a sequence runs
// alone or among others, at once or in chunks, on one thread or several.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

#include "base/json.h"
#include "model/decoder.h"
#include "oracle_files.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

// A sequence with its own pages, run through a decoder in pieces.
struct Stream {
  std::vector<TokenId> ids;
  std::vector<PageId> pages;
  int64_t done = 0;
  std::vector<std::vector<float>> logits;  // one row per token
};

class Invariance : public ::testing::TestWithParam<fs::path> {
 protected:
  void SetUp() override {
    auto checkpoint = Checkpoint::open(GetParam());
    ASSERT_TRUE(checkpoint.is_ok()) << checkpoint.status().message();
    auto model = Model::load(*checkpoint, {});
    ASSERT_TRUE(model.is_ok()) << model.status().message();
    model_ = *model;
  }

  // Streams of random tokens whose pages are dealt out in shuffled order.
  std::vector<Stream> make_streams(std::mt19937& random,
                                   const std::vector<int64_t>& lengths) const {
    std::vector<PageId> deck(64);
    std::iota(deck.begin(), deck.end(), 0);
    std::shuffle(deck.begin(), deck.end(), random);
    std::vector<Stream> streams;
    for (const int64_t length : lengths) {
      Stream stream;
      for (int64_t i = 0; i < length; ++i)
        stream.ids.push_back(
            static_cast<TokenId>(random() % static_cast<uint64_t>(model_->spec().vocab)));
      for (int64_t i = 0; i * kPageTokens < length; ++i) {
        stream.pages.push_back(deck.back());
        deck.pop_back();
      }
      streams.push_back(std::move(stream));
    }
    return streams;
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
      batch.tokens.insert(batch.tokens.end(), stream.ids.begin() + stream.done,
                          stream.ids.begin() + stream.done + count);
      batch.sequences.push_back(
          {count, stream.done, stream.pages, static_cast<int64_t>(stream.ids.size())});
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
  for (const Layout layout : {Layout::kF32, Layout::kF16}) {
    KvCache cache = *KvCache::create(model_->spec(), 64, layout);
    std::vector<Stream> alone = make_streams(random, {1, 7, 50, 33});
    ThreadPool one(1);
    Decoder solo = *Decoder::create(model_, Exec(one), layout);
    for (Stream& stream : alone) {
      std::vector<Stream> single = {stream};
      step(solo, cache, single, [](const Stream& s) { return static_cast<int64_t>(s.ids.size()); });
      stream.logits = single[0].logits;
    }
    for (const int threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      Decoder decoder = *Decoder::create(model_, Exec(pool), layout);
      std::vector<Stream> together = alone;
      for (Stream& stream : together)
        stream.logits.clear();
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
              << "sequence " << i << ", row " << row << ", " << threads << " threads, cache "
              << info(layout).name;
        }
      }
    }
  }
}

std::vector<fs::path> models() {
  std::vector<fs::path> folders;
  for (const fs::path& folder : testing::oracle_folders("models", "goldens.safetensors")) {
    static const std::vector<std::string> kNames = {"public-llama-plain",   "public-gemma2",
                                                    "public-phi3-longrope", "public-gpt2",
                                                    "public-falcon-new",    "public-olmo2"};
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
