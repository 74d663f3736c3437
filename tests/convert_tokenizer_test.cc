// SPDX-License-Identifier: Apache-2.0
// The oracle's tokenizers as keys of a GGUF file and back as tokenizer.json: ids stay the
// reference's, string by string.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "convert/gguf_tokenizer.h"
#include "convert/hf_tokenizer.h"
#include "formats/gguf_head.h"
#include "oracle_files.h"
#include "tokenizer/tokenizer.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<TokenId>;

struct Written {
  std::string bytes;  // backs the file
  std::shared_ptr<const GgufFile> file;
  std::vector<std::string> notes;
};

// `keys_only`: as a program sees it that does not know tokenizer.huggingface.json.
Written write(const fs::path& folder, bool keys_only) {
  Written written;
  GgufKeyValues values;
  const Status status = set_tokenizer_keys(folder, 0, values, written.notes);
  EXPECT_TRUE(status.is_ok()) << status.message();
  if (keys_only) values.erase("tokenizer.huggingface.json");
  written.bytes = make_gguf_head(values, {})->bytes;
  auto file = GgufFile::parse(
      MappedFile::from_memory(std::as_bytes(std::span(written.bytes)), folder.string()));
  EXPECT_TRUE(file.is_ok()) << file.status().message();
  written.file = *file;
  return written;
}

size_t count_wrong(const Tokenizer& tokenizer, const fs::path& folder) {
  const Json goldens = *read_json_file(folder / "goldens.json");
  size_t wrong = 0;
  for (const Json& golden : goldens.at("strings")) {
    const auto text = golden.at("text").get<std::string>();
    const auto ids = tokenizer.encode(text);
    const auto plain = tokenizer.encode(text, {.add_special = false});
    wrong += !ids.is_ok() || *ids != golden.at("ids").get<Ids>() || !plain.is_ok() ||
             *plain != golden.at("ids_nospecial").get<Ids>();
  }
  return wrong;
}

TEST(ConvertTokenizer, InAGgufFileIdsAreTheReferences) {
  for (const fs::path& folder : testing::oracle_folders("tokenizers", "tokenizer.json")) {
    SCOPED_TRACE(folder.filename().string());
    const Written written = write(folder, false);
    const auto tokenizer = Tokenizer::from_gguf(written.file->metadata());
    ASSERT_TRUE(tokenizer.is_ok()) << tokenizer.status().message();
    EXPECT_EQ(count_wrong(**tokenizer, folder), 0u);
  }
}

// The oracle's vocabularies have tokens with flags that GGUF cannot say, each in some strings.
TEST(ConvertTokenizer, TheKeysAloneAreRightButForTokensWithFlags) {
  size_t natural = 0;
  for (const fs::path& folder : testing::oracle_folders("tokenizers", "tokenizer.json")) {
    SCOPED_TRACE(folder.filename().string());
    const Written written = write(folder, true);
    if (!written.notes.empty()) continue;
    const auto tokenizer = Tokenizer::from_gguf(written.file->metadata());
    ASSERT_TRUE(tokenizer.is_ok()) << tokenizer.status().message();
    EXPECT_LE(count_wrong(**tokenizer, folder), 15u);
    ++natural;
  }
  EXPECT_GE(natural, 5u);
}

TEST(ConvertTokenizer, BackInAFolderItEncodesAsInTheFile) {
  size_t made = 0;
  for (const fs::path& folder : testing::oracle_folders("tokenizers", "tokenizer.json")) {
    SCOPED_TRACE(folder.filename().string());
    const Written written = write(folder, true);
    std::vector<SideFile> files;
    std::vector<std::string> notes;
    ASSERT_TRUE(add_tokenizer_files(written.file->metadata(), files, notes).is_ok());
    if (files.empty() || files.front().name != "tokenizer.json") continue;  // kinds without one
    const auto wanted = Tokenizer::from_gguf(written.file->metadata());
    const auto tokenizer = Tokenizer::from_tokenizer_json(files.front().bytes, "tokenizer.json");
    ASSERT_TRUE(tokenizer.is_ok()) << tokenizer.status().message();
    const Json goldens = *read_json_file(folder / "goldens.json");
    for (const Json& golden : goldens.at("strings")) {
      const auto text = golden.at("text").get<std::string>();
      EXPECT_EQ(*(*tokenizer)->encode(text), *(*wanted)->encode(text)) << text;
    }
    ++made;
  }
  EXPECT_GE(made, 5u);
}

}  // namespace
}  // namespace ingot
