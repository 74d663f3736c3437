// SPDX-License-Identifier: Apache-2.0
// Token ids and decoded text against what the `tokenizers` and `sentencepiece` packages gave for
// the same files, and against another engine's ids for the vocabularies inside GGUF files. Exact,
// string by string: the committed set always, all of the oracle where it is unpacked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "base/json.h"
#include "base/mapped_file.h"
#include "formats/gguf.h"
#include "oracle_files.h"
#include "tokenizer/tokenizer.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

using Ids = std::vector<TokenId>;
constexpr EncodeOptions kPlain{.add_special = false, .parse_special = true};
constexpr EncodeOptions kBare{.add_special = false, .parse_special = false};

std::string streamed(const Tokenizer& tokenizer, std::span<const TokenId> ids, bool skip_special) {
  TextDecoder decoder(tokenizer, skip_special);
  std::string text;
  for (const TokenId id : ids)
    text += decoder.push(id);
  return text + decoder.finish();
}

Json read(const fs::path& path) {
  Result<Json> json = read_json_file(path);
  EXPECT_TRUE(json) << json.status().message();
  return json ? *std::move(json) : Json::object();
}

void check_string(const Tokenizer& tokenizer, const Json& golden) {
  const auto text = golden.at("text").get<std::string>();
  SCOPED_TRACE("text: " + golden.at("text").dump());
  const auto ids = golden.at("ids").get<Ids>();
  const auto plain_ids = golden.at("ids_nospecial").get<Ids>();
  const Result<Ids> encoded = tokenizer.encode(text);
  ASSERT_TRUE(encoded) << encoded.status().message();
  ASSERT_EQ(*encoded, ids);
  const Result<Encoding> plain = tokenizer.encode_with_pieces(text, kPlain);
  ASSERT_TRUE(plain) << plain.status().message();
  ASSERT_EQ(plain->ids, plain_ids);
  EXPECT_EQ(plain->pieces, golden.at("tokens").get<std::vector<std::string>>());
  EXPECT_EQ(tokenizer.decode(ids), golden.at("decoded").get<std::string>());
  EXPECT_EQ(tokenizer.decode(ids, true), golden.at("decoded_skip").get<std::string>());
  EXPECT_EQ(tokenizer.decode(plain_ids), golden.at("decoded_nospecial").get<std::string>());
  EXPECT_EQ(streamed(tokenizer, ids, false), golden.at("decoded").get<std::string>());
  EXPECT_EQ(streamed(tokenizer, ids, true), golden.at("decoded_skip").get<std::string>());
  if (!golden.contains("decoded_prefixes")) return;
  const auto prefixes = golden.at("decoded_prefixes").get<std::vector<std::string>>();
  ASSERT_EQ(prefixes.size(), plain_ids.size());
  for (size_t i = 0; i < prefixes.size(); ++i) {
    ASSERT_EQ(tokenizer.decode(std::span(plain_ids).first(i + 1)), prefixes[i])
        << "prefix " << i + 1;
  }
}

TEST(TokenizerOracle, TokenizerJsonGivesTheReferencesIdsAndText) {
  const std::vector<fs::path> folders = testing::oracle_folders("tokenizers", "tokenizer.json");
  ASSERT_GE(folders.size(), 10U);
  size_t strings = 0;
  for (const fs::path& folder : folders) {
    SCOPED_TRACE(folder.filename().string());
    const auto tokenizer = Tokenizer::from_folder(folder);
    ASSERT_TRUE(tokenizer) << tokenizer.status().message();
    const Json goldens = read(folder / "goldens.json");
    EXPECT_EQ((*tokenizer)->vocab_size(), goldens.at("vocab_size").get<size_t>());
    for (const Json& golden : goldens.at("strings")) {
      check_string(**tokenizer, golden);
      ++strings;
      if (HasFatalFailure()) break;
    }
  }
  RecordProperty("strings", static_cast<int>(strings));
  EXPECT_GE(strings, 400U);
}

TEST(TokenizerOracle, SpecialTokensComeFromTheFilesBeside) {
  for (const fs::path& folder : testing::oracle_folders("tokenizers", "tokenizer.json")) {
    SCOPED_TRACE(folder.filename().string());
    const auto tokenizer = Tokenizer::from_folder(folder);
    ASSERT_TRUE(tokenizer) << tokenizer.status().message();
    const Json config = read(folder / "tokenizer_config.json");
    const Tokenizer::SpecialTokens& special = (*tokenizer)->special();
    if (config.contains("bos_token")) {
      ASSERT_TRUE(special.bos);
      EXPECT_EQ((*tokenizer)->piece(*special.bos), config.at("bos_token").get<std::string>());
      EXPECT_TRUE((*tokenizer)->is_special(*special.bos));
    }
    if (config.contains("eos_token")) {
      ASSERT_FALSE(special.eos.empty());
      EXPECT_EQ((*tokenizer)->piece(special.eos[0]), config.at("eos_token").get<std::string>());
    }
  }
}

TEST(TokenizerOracle, SentencePieceModelsGiveTheReferencesIds) {
  const std::vector<fs::path> folders = testing::oracle_folders("tokenizers", "tokenizer.model");
  ASSERT_GE(folders.size(), 4U);
  for (const fs::path& folder : folders) {
    SCOPED_TRACE(folder.filename().string());
    const auto file = MappedFile::open(folder / "tokenizer.model");
    ASSERT_TRUE(file) << file.status().message();
    const auto tokenizer = Tokenizer::from_sentencepiece((*file)->bytes(), "tokenizer.model");
    ASSERT_TRUE(tokenizer) << tokenizer.status().message();
    const Json goldens = read(folder / "goldens.json");
    for (const Json& golden : goldens.at("strings")) {
      if (!golden.contains("sentencepiece_ids")) continue;
      SCOPED_TRACE("text: " + golden.at("text").dump());
      const Result<Ids> ids = (*tokenizer)->encode(golden.at("text").get<std::string>(), kBare);
      ASSERT_TRUE(ids) << ids.status().message();
      ASSERT_EQ(*ids, golden.at("sentencepiece_ids").get<Ids>());
      EXPECT_EQ(streamed(**tokenizer, *ids, false), (*tokenizer)->decode(*ids));
    }
  }
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> split_cases(std::string_view text) {
  constexpr std::string_view kSeparator = "\n__ggml_vocab_test__\n";
  std::vector<std::string> cases;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(kSeparator, at), text.size());
    cases.emplace_back(text.substr(at, end - at));
    at = end + kSeparator.size();
  }
  return cases;
}

TEST(TokenizerOracle, GgufVocabulariesGiveAnotherEnginesIds) {
  const char* root = std::getenv("INGOT_ORACLE");
  const fs::path vocab = root != nullptr ? fs::path(root) / "vocab"
                                         : fs::path(INGOT_SOURCE_DIR) / "../shared/oracle/vocab";
  if (!fs::exists(vocab))
    GTEST_SKIP() << vocab << " is not here: GGUF vocabularies are not compared";
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(vocab)) {
    const fs::path& path = entry.path();
    if (path.extension() != ".gguf") continue;
    SCOPED_TRACE(path.filename().string());
    ++files;
    const auto gguf = GgufFile::open(path);
    ASSERT_TRUE(gguf) << gguf.status().message();
    const auto tokenizer = Tokenizer::from_gguf((*gguf)->metadata());
    ASSERT_TRUE(tokenizer) << tokenizer.status().message();
    const std::vector<std::string> cases = split_cases(read_text(path.string() + ".inp"));
    std::istringstream answers(read_text(path.string() + ".out"));
    for (const std::string& text : cases) {
      std::string line;
      ASSERT_TRUE(std::getline(answers, line));
      std::istringstream words(line);
      const Ids expected{std::istream_iterator<TokenId>(words), {}};
      const Result<Ids> ids = (*tokenizer)->encode(text, kBare);
      ASSERT_TRUE(ids) << ids.status().message();
      EXPECT_EQ(*ids, expected) << "text: " << ::testing::PrintToString(text);
    }
  }
  EXPECT_GE(files, 5U);
}

}  // namespace
}  // namespace ingot
