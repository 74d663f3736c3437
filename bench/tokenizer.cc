// SPDX-License-Identifier: Apache-2.0
// Whether encoding is linear, and how fast: bench_tokenizer [-n BYTES] [-r ROUNDS] TOKENIZER... (a
// folder or a GGUF file each). For natural text and for texts without an end in sight (one letter,
// spaces, digits, letters without a space) it encodes n and 2n bytes by turns and prints the median
// of t(2n) / t(n), with the middle half of the rounds, and megabytes a second at 2n. Exits with 1
// where a ratio exceeds 2.3.
#include "tokenizer/tokenizer.h"

#include <fmt/core.h>
#include <malloc.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf.h"

namespace ingot {
namespace {

constexpr double kMostRatio = 2.3;

struct Options {
  size_t text_bytes = size_t{1} << 20;
  size_t rounds = 7;
  std::vector<std::filesystem::path> tokenizers;
};

double now_s() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Words of the lengths and frequencies of a language (Zipf's law), in sentences and paragraphs,
// with numbers, marks and characters of other scripts: no two stretches of it are alike.
std::string natural_text(size_t size_bytes) {
  constexpr size_t kWords = 20000;
  std::mt19937_64 engine(1);
  static constexpr std::string_view kSyllables[] = {
      "the", "an", "in",  "er", "to",  "re", "on", "at",  "ent", "ti", "or",     "st",
      "al",  "ar", "nd",  "le", "ing", "se", "ou", "com", "pro", "ly", "\u00e9", "ch",
      "wh",  "th", "qui", "be", "gra", "mo", "de", "sch", "un",  "ph", "\u4e2d", "\u0434\u0430"};
  std::vector<std::string> words(kWords);
  for (size_t i = 0; i < kWords; ++i) {
    const size_t count = 1 + (i > 50 ? 1 : 0) + engine() % 3;
    for (size_t k = 0; k < count; ++k)
      words[i] += kSyllables[std::min(engine() % std::size(kSyllables), engine() % 64)];
  }
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::string text;
  bool starts_sentence = true;
  while (text.size() < size_bytes) {
    const double rank = std::pow(static_cast<double>(kWords), uniform(engine)) - 1.0;
    std::string word = words[static_cast<size_t>(rank)];
    if (starts_sentence && word[0] >= 'a') word[0] = static_cast<char>(word[0] - 'a' + 'A');
    starts_sentence = false;
    text += engine() % 40 == 0 ? std::to_string(engine() % 3000) : word;
    const uint64_t mark = engine() % 64;
    if (mark < 4) {
      text += mark == 0 ? ".\n\n" : ". ";
      starts_sentence = true;
    } else {
      text += mark < 8 ? ", " : mark == 8 ? "'s " : " ";
    }
  }
  text.resize(size_bytes);
  return text;
}

std::string random_letters(size_t size_bytes) {
  std::mt19937_64 engine(2);
  std::string text(size_bytes, 'a');
  for (char& c : text)
    c = static_cast<char>('a' + engine() % 26);
  return text;
}

struct Text {
  std::string_view name;
  std::string bytes;  // the shorter text is its first half
};

std::vector<Text> make_texts(size_t size_bytes) {
  return {{"natural", natural_text(size_bytes)},
          {"one letter", std::string(size_bytes, 'a')},
          {"spaces", std::string(size_bytes, ' ')},
          {"digits", std::string(size_bytes, '7')},
          {"letters", random_letters(size_bytes)}};
}

Result<std::shared_ptr<const Tokenizer>> open_tokenizer(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) return Tokenizer::from_folder(path);
  INGOT_TRY(const std::shared_ptr<const GgufFile> file, GgufFile::open(path));
  return Tokenizer::from_gguf(file->metadata());
}

Result<double> encode_seconds(const Tokenizer& tokenizer, std::string_view text) {
  const double start = now_s();
  INGOT_TRY(const std::vector<TokenId> ids, tokenizer.encode(text));
  const double seconds = now_s() - start;
  if (ids.empty()) return Status::internal("no tokens");
  return seconds;
}

// Prints one row; false where the ratio is too large.
Result<bool> bench(const Tokenizer& tokenizer, const Text& text, size_t rounds) {
  const std::string_view whole = text.bytes;
  const std::string_view half = whole.substr(0, whole.size() / 2);
  std::vector<double> ratios;
  std::vector<double> seconds;
  for (size_t i = 0; i <= rounds; ++i) {
    INGOT_TRY(const double t1, encode_seconds(tokenizer, half));
    INGOT_TRY(const double t2, encode_seconds(tokenizer, whole));
    if (i == 0) continue;  // warm-up
    ratios.push_back(t2 / t1);
    seconds.push_back(t2);
  }
  std::ranges::sort(ratios);
  std::ranges::sort(seconds);
  const size_t quarter = ratios.size() / 4;
  const double ratio = ratios[ratios.size() / 2];
  fmt::print("  {:12} {:5.2f}  [{:.2f}, {:.2f}]  {:8.1f} MB/s\n", text.name, ratio, ratios[quarter],
             ratios[ratios.size() - 1 - quarter],
             1e-6 * static_cast<double>(whole.size()) / seconds[seconds.size() / 2]);
  return ratio <= kMostRatio;
}

bool parse_count(std::string_view text, size_t& out) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  return problem == std::errc() && end == text.data() + text.size() && out > 0;
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "-n" || argument == "-r") {
      size_t& value = argument == "-n" ? options.text_bytes : options.rounds;
      if (++i == argc || !parse_count(argv[i], value)) return false;
    } else {
      options.tokenizers.emplace_back(argument);
    }
  }
  return !options.tokenizers.empty();
}

int run(const Options& options) {
  const std::vector<Text> texts = make_texts(2 * options.text_bytes);
  bool is_linear = true;
  fmt::print("n = {} bytes; t(2n)/t(n), its middle half, speed at 2n\n", options.text_bytes);
  for (const std::filesystem::path& path : options.tokenizers) {
    const auto tokenizer = open_tokenizer(path);
    if (!tokenizer) {
      fmt::print(stderr, "{}: {}\n", path.string(), tokenizer.status().message());
      return 2;
    }
    fmt::print("{}\n", path.filename().empty() ? path.string() : path.filename().string());
    for (const Text& text : texts) {
      const Result<bool> is_good = bench(**tokenizer, text, options.rounds);
      if (!is_good) {
        fmt::print(stderr, "{}: {}\n", path.string(), is_good.status().message());
        return 2;
      }
      is_linear = is_linear && *is_good;
    }
  }
  return is_linear ? 0 : 1;
}

}  // namespace
}  // namespace ingot

int main(int argc, char** argv) {
  // Memory once had is kept: what the kernel takes for fresh pages is not the tokenizer's, and it
  // would come or not come by where a text's length stands to the allocator's thresholds.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  ingot::Options options;
  if (!ingot::parse(argc, argv, options)) {
    fmt::print(stderr, "usage: bench_tokenizer [-n BYTES] [-r ROUNDS] TOKENIZER...\n");
    return 2;
  }
  return ingot::run(options);
}
