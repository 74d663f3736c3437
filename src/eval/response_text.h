// SPDX-License-Identifier: Apache-2.0
// Words, sentences and letters of a response, by the rules that checks of instructions count with.
// Unicode throughout; invalid bytes are no letters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

std::string to_lower(std::string_view text);
// Letters, digits and the underscore.
bool is_word_character(char32_t c);
// Runs of word characters.
int64_t count_words(std::string_view text);
// Ends of sentences by . ! ? and their like, not those in numbers, initials and the usual
// abbreviations; text after the last one is a sentence too.
int64_t count_sentences(std::string_view text);
// Words cut at blanks and punctuation that are all capitals.
int64_t count_capital_words(std::string_view text);
// There are letters, and none of the other case.
bool is_all_upper(std::string_view text);
bool is_all_lower(std::string_view text);
// How often `part` stands in `text`, without overlap.
int64_t count_of(std::string_view text, std::string_view part);
// Whether `word` stands there with no word character beside it.
bool has_whole_word(std::string_view text, std::string_view word);
std::vector<std::string_view> split(std::string_view text, std::string_view separator);

// The likeliest language ("en", "de", "hi" ...) by script and frequent words; empty when there is
// nothing to go by.
std::string guess_language(std::string_view text);

}  // namespace ingot
