// SPDX-License-Identifier: Apache-2.0
// Texts that brought other tokenizers down: one thing after another, some for a whole megabyte, on
// a thread with a quarter of a megabyte of stack. Anything quadratic would not come to an end here.
#include <gtest/gtest.h>
#include <pthread.h>

#include <filesystem>
#include <functional>
#include <string>

#include "tokenizer/tokenizer.h"

namespace ingot {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsInstrumented = true;
#elif defined(__has_feature)
constexpr bool kIsInstrumented =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kIsInstrumented = false;
#endif

// Instrumented code is slower and its frames are larger.
constexpr size_t kTextBytes = kIsInstrumented ? size_t{1} << 14 : size_t{1} << 17;
constexpr size_t kLongTextBytes = kIsInstrumented ? size_t{1} << 17 : size_t{1} << 20;
constexpr size_t kStackBytes = kIsInstrumented ? size_t{1} << 20 : size_t{1} << 18;

void run_on_small_stack(std::function<void()> work) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStackBytes), 0);
  pthread_t thread{};
  const auto entry = [](void* argument) -> void* {
    (*static_cast<std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, entry, &work), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

std::string repeated_to(std::string_view unit, size_t size_bytes) {
  std::string text;
  while (text.size() < size_bytes)
    text += unit;
  return text;
}

const std::vector<std::string>& families() {
  static const std::vector<std::string> kUnits = {"a",
                                                  "A",
                                                  "aA",
                                                  "ab",
                                                  "\u6f22",
                                                  "\ud55c",
                                                  "\u0627",
                                                  " ",
                                                  "  x",
                                                  "a ",
                                                  " \n",
                                                  "\n",
                                                  "\r\n",
                                                  "\t",
                                                  ".",
                                                  "1",
                                                  "0a",
                                                  "'",
                                                  "'s",
                                                  "\"",
                                                  "\\",
                                                  "_",
                                                  "{\"k\":1},",
                                                  "\u0301",
                                                  "\u0301\u0323",
                                                  "e\u0301",
                                                  "\U0001f600",
                                                  "\U0001f468\u200d",
                                                  "\U0001f1e9",
                                                  "\u1112",
                                                  "\ufffd",
                                                  std::string(1, '\0'),
                                                  "<",
                                                  "<s>",
                                                  "<mask> ",
                                                  "<0x41>",
                                                  "\u2581",
                                                  "\xff"};
  return kUnits;
}

class Pathological : public ::testing::TestWithParam<const char*> {};

TEST_P(Pathological, TextsAreEncodedAndDecodedOnASmallStack) {
  const auto folder =
      std::filesystem::path(INGOT_SOURCE_DIR) / "tests/oracle/tokenizers" / GetParam();
  const auto tokenizer = Tokenizer::from_folder(folder);
  ASSERT_TRUE(tokenizer) << tokenizer.status().message();
  run_on_small_stack([&] {
    for (const std::string& unit : families()) {
      const auto ids = (*tokenizer)->encode(repeated_to(unit, kTextBytes));
      ASSERT_TRUE(ids) << ids.status().message();
      const std::string whole = (*tokenizer)->decode(*ids);
      TextDecoder decoder(**tokenizer, false);
      size_t streamed = 0;
      for (const TokenId id : *ids)
        streamed += decoder.push(id).size();
      streamed += decoder.finish().size();
      EXPECT_EQ(streamed, whole.size());
    }
    for (const char* unit : {"a", " ", "\u6f22", ".", "1"}) {
      const auto ids = (*tokenizer)->encode(repeated_to(unit, kLongTextBytes));
      ASSERT_TRUE(ids) << ids.status().message();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(AllKinds, Pathological,
                         ::testing::Values("public-bbpe-gpt2", "public-bbpe-llama3",
                                           "public-bbpe-o200k", "public-bbpe-deepseek",
                                           "public-bbpe-qwen2", "public-sp-bpe-llama2",
                                           "public-sp-bpe-metaspace", "public-sp-unigram-t5",
                                           "public-wordpiece-uncased"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace ingot
