// SPDX-License-Identifier: Apache-2.0
// The file of saved logits, and the runs that write and read it, on a tiny real checkpoint.
#include "eval/reference_logits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "api/loaded_model.h"
#include "base/checksum.h"
#include "engine/solo.h"
#include "eval/divergence.h"

namespace ingot {
namespace {

using testing::HasSubstr;

std::shared_ptr<const Model> tiny_model() {
  static const auto model =
      load_model(INGOT_SOURCE_DIR "/tests/oracle/models/public-llama-plain", {});
  EXPECT_TRUE(model.is_ok()) << model.status().message();
  return model->model;
}

std::vector<TokenId> some_tokens(size_t count) {
  std::vector<TokenId> tokens(count);
  for (size_t i = 0; i < count; ++i)
    tokens[i] = static_cast<TokenId>(3 + i * i * 31 % 180);
  return tokens;
}

std::filesystem::path temporary(const std::string& name) {
  return std::filesystem::path(testing::TempDir()) / name;
}

std::string read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Result<ReferenceLogits> from_string(const std::string& bytes) {
  return ReferenceLogits::from_bytes(
      MappedFile::from_memory(std::as_bytes(std::span(bytes)), "saved.ref"));
}

class Scoring : public testing::Test {
 protected:
  ScoreModel model(const ScoredText& text, int64_t batch_tokens, uint64_t logit_bytes = 1 << 20) {
    return *ScoreModel::create(
        tiny_model(), pool_,
        {.context = text.longest(), .batch_tokens = batch_tokens, .logit_bytes = logit_bytes});
  }
  ThreadPool pool_{2};
};

TEST_F(Scoring, EqualsASequenceByItselfWhateverTheBatch) {
  const std::vector<TokenId> tokens = some_tokens(150);
  for (const WindowOptions& options :
       {WindowOptions{.context = 32, .bos = 1},
        WindowOptions{.protocol = Protocol::kHuggingFace, .context = 40, .stride = 13},
        WindowOptions{.protocol = Protocol::kWindows, .context = 20, .bos = 1}}) {
    const ScoredText text = *cut_text(tokens, options);
    // The plain way: one window at a time, the whole of it, in double.
    auto solo = *Solo::create(tiny_model(), {.threads = {.threads = 1}});
    std::vector<double> expected;
    for (size_t i = 0; i < text.sequences.size(); ++i) {
      const ScoreSequence& sequence = text.sequences[i];
      ASSERT_TRUE(solo->score(sequence.tokens,
                              [&](int64_t row, std::span<const float> logits) {
                                if (row < sequence.first_row) return;
                                double sum = 0;
                                for (const float logit : logits)
                                  sum += std::exp(static_cast<double>(logit));
                                const TokenId target = text.targets[expected.size()];
                                expected.push_back(
                                    std::log(sum) -
                                    static_cast<double>(logits[static_cast<size_t>(target)]));
                              })
                      .is_ok());
    }
    ASSERT_EQ(expected.size(), text.targets.size());
    std::vector<float> first;
    for (const int64_t batch : {7, 64, 500}) {
      ScoreModel scored = model(text, batch, batch == 7 ? 4096 : 1 << 20);
      const auto nll = score_text(scored, pool_, text, {});
      ASSERT_TRUE(nll.is_ok()) << nll.status().message();
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(static_cast<double>((*nll)[i]), expected[i], 1e-5);
      if (first.empty()) first = *nll;
      EXPECT_EQ(first, *nll) << "bit for bit, whatever the batch";
    }
  }
}

TEST_F(Scoring, SavedLogitsComeBackAndDivergeFromThemselvesByNothing) {
  const std::vector<TokenId> tokens = some_tokens(130);
  const WindowOptions options{.context = 32, .bos = 1};
  const ScoredText text = *cut_text(tokens, options);
  ScoreModel scored = model(text, 64);
  const auto path = temporary("scoring.ref");
  const auto nll = write_reference(path, scored, pool_, tokens, options, {});
  ASSERT_TRUE(nll.is_ok()) << nll.status().message();
  const auto saved = ReferenceLogits::open(path);
  ASSERT_TRUE(saved.is_ok()) << saved.status().message();
  EXPECT_TRUE(std::ranges::equal(saved->tokens(), tokens));
  EXPECT_EQ(saved->text().targets, text.targets);
  const auto kl = diverge_from_file(*saved, scored, pool_, {});
  ASSERT_TRUE(kl.is_ok()) << kl.status().message();
  EXPECT_LT(kl->stats().mean_kl, 1e-6);
  EXPECT_EQ(kl->stats().top1_agreement, 1);
  EXPECT_NEAR(kl->stats().perplexity_ratio, 1, 1e-4);
  EXPECT_EQ(std::vector<float>(kl->nll().begin(), kl->nll().end()), *nll);

  ScoreModel other = model(text, 64);
  const auto live = diverge_from_model(other, scored, pool_, text, {});
  ASSERT_TRUE(live.is_ok());
  EXPECT_EQ(live->stats().mean_kl, 0);
  EXPECT_EQ(live->stats().max_kl, 0);
  std::filesystem::remove(path);
}

TEST_F(Scoring, StopsWhenTold) {
  const ScoredText text = *cut_text(some_tokens(200), {.context = 16});
  ScoreModel scored = model(text, 16);
  const auto path = temporary("stopped.ref");
  const auto stop = [](const ScoreProgress& progress) { return progress.fraction < 0.3; };
  EXPECT_EQ(score_text(scored, pool_, text, stop).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(
      write_reference(path, scored, pool_, some_tokens(200), {.context = 16}, stop).status().code(),
      StatusCode::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(path)) << "nothing is left behind";
}

TEST(ReferenceLogits, KeepsLogitsToASmallPartOfANat) {
  std::vector<float> logits(301);
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = 5 - static_cast<float>(i % 97) * 0.25F;
  const std::vector<std::byte> bytes = encode_logits(logits);
  ASSERT_EQ(bytes.size(), encoded_row_bytes(logits.size()));
  std::vector<float> back(logits.size());
  decode_logits(bytes, back);
  for (size_t i = 0; i < logits.size(); ++i)
    EXPECT_NEAR(back[i], logits[i] - 5, 24.0F / 65535);
  logits[7] = -INFINITY;
  logits[8] = -1e30F;
  decode_logits(encode_logits(logits), back);
  EXPECT_NEAR(back[7], -40, 1e-3F);
  EXPECT_NEAR(back[8], -40, 1e-3F);
  decode_logits(encode_logits(std::vector<float>(5, 2)), std::span(back).first(5));
  EXPECT_EQ(back[3], 0);
}

TEST_F(Scoring, RefusesSavedLogitsThatAreNotWhole) {
  const std::vector<TokenId> tokens = some_tokens(70);
  const WindowOptions options{.context = 16, .bos = 1};
  const ScoredText text = *cut_text(tokens, options);
  ScoreModel scored = model(text, 64);
  const auto path = temporary("hostile.ref");
  ASSERT_TRUE(write_reference(path, scored, pool_, tokens, options, {}).is_ok());
  const std::string good = read_all(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(from_string(good).is_ok());
  for (const size_t cut : {0u, 4u, 8u, 40u, 87u, 88u, 100u, 300u}) {
    EXPECT_FALSE(from_string(good.substr(0, cut)).is_ok()) << cut;
  }
  EXPECT_FALSE(from_string(good.substr(0, good.size() - 1)).is_ok());
  EXPECT_FALSE(from_string(good + "x").is_ok());
  for (size_t at = 0; at < 88; ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x41);
    EXPECT_FALSE(from_string(bad).is_ok()) << "byte " << at;
  }
  // Fields that lie, under a checksum that does not.
  const auto with_field = [&](size_t at, auto value) {
    std::string bad = good;
    std::memcpy(bad.data() + at, &value, sizeof value);
    const uint64_t hash = checksum64(std::as_bytes(std::span(bad)).subspan(8, 72));
    std::memcpy(bad.data() + 80, &hash, 8);
    return from_string(bad);
  };
  for (const int64_t value : {int64_t{0}, int64_t{-1}, int64_t{1}, int64_t{1} << 31,
                              int64_t{1} << 32, int64_t{1} << 61, INT64_MIN, INT64_MAX}) {
    for (const size_t at : {24u, 32u, 48u, 56u, 64u, 72u}) {  // context, stride ... rows
      if (at == 32 && value == 0) continue;                   // as it is
      EXPECT_FALSE(with_field(at, value).is_ok()) << at << " = " << value;
    }
    for (const size_t at : {8u, 12u, 16u}) {  // version, vocabulary, protocol
      if (at == 8 && value == 1) continue;
      if (at == 16 && static_cast<uint32_t>(value) == 0) continue;
      EXPECT_FALSE(with_field(at, static_cast<uint32_t>(value)).is_ok()) << at << " = " << value;
    }
  }
  EXPECT_FALSE(with_field(20, int32_t{1 << 20}).is_ok()) << "bos";
  EXPECT_FALSE(with_field(40, int64_t{1}).is_ok()) << "fewer windows than rows";
  EXPECT_THAT(with_field(48, int64_t{1} << 61).status().message(), HasSubstr("saved.ref: tokens"));
  std::string bad = good;
  bad[90] = static_cast<char>(bad[90] ^ 1);  // a token
  EXPECT_THAT(from_string(bad).status().message(), HasSubstr("checksum"));
}

TEST_F(Scoring, RefusesAReferenceOfAnotherVocabulary) {
  const std::vector<TokenId> tokens = some_tokens(70);
  const WindowOptions options{.context = 16};
  const ScoredText text = *cut_text(tokens, options);
  ScoreModel scored = model(text, 64);
  const auto path = temporary("vocab.ref");
  ASSERT_TRUE(write_reference(path, scored, pool_, tokens, options, {}).is_ok());
  const auto saved = ReferenceLogits::open(path);
  ASSERT_TRUE(saved.is_ok());
  static const auto other = load_model("default", {});
  ASSERT_TRUE(other.is_ok());
  auto wrong = ScoreModel::create(other->model, pool_, {.context = 16, .batch_tokens = 64});
  ASSERT_TRUE(wrong.is_ok());
  const auto kl = diverge_from_file(*saved, *wrong, pool_, {});
  ASSERT_NE(static_cast<size_t>(other->model->spec().vocab), saved->vocab());
  EXPECT_THAT(kl.status().message(), HasSubstr("vocabulary"));
  std::filesystem::remove(path);
}

TEST(CutText, RefusesMoreThanCanBeComputed) {
  const std::vector<TokenId> tokens(1 << 17, 3);
  const auto text =
      cut_text(tokens, {.protocol = Protocol::kHuggingFace, .context = 1 << 16, .stride = 1});
  ASSERT_FALSE(text.is_ok());
  EXPECT_THAT(text.status().message(), HasSubstr("--stride"));
}

}  // namespace
}  // namespace ingot
