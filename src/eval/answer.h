// SPDX-License-Identifier: Apache-2.0
// What an answer says, taken from what a model wrote, and whether it is one of those expected.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "eval/task.h"

namespace ingot {

// The number behind the last "####", without thousands' commas, blanks, currency and a last dot.
std::optional<std::string> number_after_marks(std::string_view text);
// The last number of all: "about 1,234.50 dollars." is 1234.5.
std::optional<std::string> last_number(std::string_view text);

// As the item's extraction says; nothing where there is none of that kind.
std::optional<std::string> extract_answer(std::string_view text, Extraction extraction);
bool is_right_answer(const AnswerItem& item, std::string_view text);
// With "####" only, for numbers; else the same.
bool is_strictly_right(const AnswerItem& item, std::string_view text);

}  // namespace ingot
