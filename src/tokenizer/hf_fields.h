// SPDX-License-Identifier: Apache-2.0
// Fields of small JSON objects in tokenizer files, with errors that name file and field.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace ingot::tok {

// Null when the field is missing or null.
const Json* find_field(const Json& object, const char* key);
Result<std::string> string_field(const Json& object, const char* key, std::string_view source);
std::string string_field_or(const Json& object, const char* key, std::string_view fallback);
bool bool_field_or(const Json& object, const char* key, bool fallback);
// A whole number from 0 to `most`.
Result<int64_t> integer_field(const Json& object, const char* key, int64_t most,
                              std::string_view source);
// The object's "type", empty when it has none.
std::string type_of(const Json& object);

// The steps of a component: a Sequence's (and those of Sequences within it) in order, without
// recursion; none for null.
Result<std::vector<const Json*>> flatten_steps(const Json& json, const char* list_key,
                                               std::string_view what, std::string_view source);
Status unknown_step(const Json& json, std::string_view what, std::string_view source);

}  // namespace ingot::tok
