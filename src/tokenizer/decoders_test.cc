// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/decoders.h"

#include <gtest/gtest.h>

namespace ingot::tok {
namespace {

class Collector : public DecodeStage {
 public:
  void begin_token() override {}
  void text(std::string_view part) override { text_ += part; }
  void end_token() override {}
  void finish() override {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

template <class... Decoders>
std::string decoded(const std::vector<std::string>& tokens, DecodeMode mode,
                    const Decoders&... decoders) {
  Collector end;
  std::vector<std::unique_ptr<DecodeStage>> stages;
  DecodeStage* first = &end;
  const std::vector<const TokenDecoder*> chain{decoders.get()...};
  for (size_t i = chain.size(); i-- > 0;) {
    stages.push_back(chain[i]->start(*first, mode));
    first = stages.back().get();
  }
  for (const std::string& token : tokens) {
    first->begin_token();
    first->text(token);
    first->end_token();
  }
  first->finish();
  return end.text();
}

// Decodes whole and as a stream; both must agree.
template <class... Decoders>
std::string decoded(const std::vector<std::string>& tokens, const Decoders&... decoders) {
  std::string whole = decoded(tokens, DecodeMode::kWhole, decoders...);
  EXPECT_EQ(decoded(tokens, DecodeMode::kStream, decoders...), whole);
  return whole;
}

TEST(Decoders, ByteLevelJoinsBytesIntoCharacters) {
  EXPECT_EQ(decoded({"\u0120Hello", "\u00c3", "\u00a9"}, make_byte_level_decoder()),
            " Hello\u00e9");
  EXPECT_EQ(decoded({"\u00c3"}, make_byte_level_decoder()), "\ufffd");
  EXPECT_EQ(decoded({"\u2581x"}, make_byte_level_decoder()), "\u2581x");
}

TEST(Decoders, ByteFallbackSpoilsAWholeRunForOneWrongByte) {
  const auto bytes = make_byte_fallback_decoder();
  EXPECT_EQ(decoded({"<0xC3>", "<0xA9>", "x"}, bytes), "\u00e9x");
  EXPECT_EQ(decoded({"<0xC3>", "x"}, bytes), "\ufffdx");
  EXPECT_EQ(decoded({"<0xC3>", "<0xA9>", "<0xFF>", "x"}, bytes), "\ufffd\ufffd\ufffdx");
  EXPECT_EQ(decoded({"<0xE5>", "<0x8f>", "a"}, bytes), "\ufffd\ufffda");
}

TEST(Decoders, AStreamLetsGoOfLongRunsOfBytes) {
  std::vector<std::string> tokens;
  for (int i = 0; i < 500; ++i)
    tokens.insert(tokens.end(), {"<0xC3>", "<0xA9>"});
  const auto bytes = make_byte_fallback_decoder();
  Collector end;
  const auto stage = bytes->start(end, DecodeMode::kStream);
  size_t sent = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    stage->begin_token();
    stage->text(tokens[i]);
    stage->end_token();
    EXPECT_LE(i + 1 - end.text().size(), kStreamHoldBytes + 4);
    EXPECT_GE(end.text().size(), sent);
    sent = end.text().size();
  }
  stage->finish();
  EXPECT_EQ(end.text().size(), tokens.size());
}

TEST(Decoders, AStreamTellsABrokenRunAtOnce) {
  const auto bytes = make_byte_fallback_decoder();
  Collector end;
  const auto stage = bytes->start(end, DecodeMode::kStream);
  for (int i = 0; i < 1000; ++i) {
    stage->begin_token();
    stage->text("<0xFF>");
    stage->end_token();
    EXPECT_EQ(end.text().size(), 3U * static_cast<size_t>(i + 1));
  }
}

TEST(Decoders, MetaspaceDropsTheFirstTokensSpaces) {
  EXPECT_EQ(decoded({"\u2581Hey", "\u2581my"}, make_metaspace_decoder("\u2581", true)), "Hey my");
  EXPECT_EQ(decoded({"\u2581Hey", "\u2581my"}, make_metaspace_decoder("\u2581", false)), " Hey my");
}

TEST(Decoders, WordPieceJoinsAndCleansUp) {
  EXPECT_EQ(decoded({"##uelo", "Ara", "##új", "##o", "No"}, make_wordpiece_decoder("##", false)),
            "##uelo Araújo No");
  EXPECT_EQ(decoded({"do", "not", ",", "it", "'s"}, make_wordpiece_decoder("##", true)),
            "do not, it's");
}

TEST(Decoders, BpeSuffixesAreSpacesExceptTheLast) {
  EXPECT_EQ(decoded({"my</w>", "fri", "end</w>"}, make_bpe_decoder("</w>")), "my friend");
}

TEST(Decoders, CtcDropsRepetitionsAndPads) {
  EXPECT_EQ(decoded({"h", "h", "e", "<pad>", "l", "l", "<pad>", "l", "o", "|", "o"},
                    make_ctc_decoder("<pad>", "|", true)),
            "hello o");
}

TEST(Decoders, StripTakesOnlySoMany) {
  EXPECT_EQ(decoded({"HH", "Hi", "Hey"}, make_strip_decoder("H", 1, 0)), "Hiey");
  EXPECT_EQ(decoded({"a  ", "b "}, make_fuse_decoder(), make_strip_decoder(" ", 0, 1)), "a  b");
  EXPECT_EQ(decoded({"a", "  ", "  "}, make_fuse_decoder(), make_strip_decoder(" ", 0, 3)), "a ");
}

TEST(Decoders, ReplaceWorksTokenByToken) {
  EXPECT_EQ(
      decoded({"\u2581a", "b\u2581"}, make_replace_decoder(SplitPattern::literal("\u2581"), " ")),
      " ab ");
}

TEST(Decoders, LlamaChainStripsOneLeadingSpace) {
  EXPECT_EQ(
      decoded({"\u2581", "\u2581Hi", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>"},
              make_replace_decoder(SplitPattern::literal("\u2581"), " "),
              make_byte_fallback_decoder(), make_fuse_decoder(), make_strip_decoder(" ", 1, 0)),
      " Hi\U0001f600");
}

TEST(Decoders, SentencePieceKnowsBytesAndItsOwnPrefix) {
  EXPECT_EQ(decoded({"\u2581Hi", "\u2581you"}, make_sentencepiece_decoder({})), "Hi you");
  EXPECT_EQ(decoded({"\u2581", "\u2581Hi"}, make_sentencepiece_decoder({.strips_all_front = true})),
            "Hi");
  EXPECT_EQ(decoded({"\u2581", "\u2581Hi"}, make_sentencepiece_decoder({})), " Hi");
  EXPECT_EQ(decoded({"<0xE3>", "<0x81>", "a"}, make_sentencepiece_decoder({})), "\ufffd\ufffda");
}

TEST(Decoders, WithoutOneTokensAreJoinedBySpaces) {
  EXPECT_EQ(decoded({"a", "b", "c"}, make_join_decoder()), "a b c");
  EXPECT_EQ(decoded({}, make_join_decoder()), "");
}

}  // namespace
}  // namespace ingot::tok
