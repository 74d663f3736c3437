// SPDX-License-Identifier: Apache-2.0
// Values of a request's fields, checked for type, range and size. Errors do not name the field:
// who walks the fields does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "ingot/sampling.h"

namespace ingot {

// The member of an object; null where there is none, and where it is null itself.
const Json* find(const Json& object, std::string_view key);
Result<bool> bool_of(const Json& value);
// A whole number; 2.0 is one too.
Result<int64_t> integer_of(const Json& value, int64_t least, int64_t most);
Result<double> number_of(const Json& value, double least, double most);  // finite
Result<std::string> text_of(const Json& value, size_t most_bytes);
// A list of texts that are not empty; with `or_one` also a single text.
Result<std::vector<std::string>> texts_of(const Json& value, bool or_one);
// A list of token ids in [0, vocab).
Result<std::vector<TokenId>> ids_of(const Json& value, int64_t vocab, size_t most);

}  // namespace ingot
