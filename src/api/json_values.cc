// SPDX-License-Identifier: Apache-2.0
#include "api/json_values.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/limits.h"

namespace ingot {

const Json* find(const Json& object, std::string_view key) {
  const auto found = object.find(std::string(key));
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Result<bool> bool_of(const Json& value) {
  if (!value.is_boolean()) return Status::invalid_argument("must be true or false");
  return value.get<bool>();
}

Result<int64_t> integer_of(const Json& value, int64_t least, int64_t most) {
  const auto fail = [&] {
    return Status::invalid_argument("must be a whole number from {} to {}", least, most);
  };
  if (value.is_number_integer()) {
    const auto number = value.get<int64_t>();
    if (number < least || number > most) return fail();
    return number;
  }
  constexpr double kExact = 0x1p53;
  if (!value.is_number()) return fail();
  const double number = value.get<double>();
  if (!(std::fabs(number) <= kExact) || std::floor(number) != number) return fail();
  const auto whole = static_cast<int64_t>(number);
  if (whole < least || whole > most) return fail();
  return whole;
}

Result<double> number_of(const Json& value, double least, double most) {
  if (!value.is_number()) return Status::invalid_argument("must be a number");
  const double number = value.get<double>();
  if (!(number >= least && number <= most))  // false for NaN too
    return Status::invalid_argument("is {} but must be from {} to {}", number, least, most);
  return number;
}

Result<std::string> text_of(const Json& value, size_t most_bytes) {
  if (!value.is_string()) return Status::invalid_argument("must be a string");
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > most_bytes)
    return Status::invalid_argument("has {} bytes but may have {}", text.size(), most_bytes);
  return text;
}

Result<std::vector<std::string>> texts_of(const Json& value, bool or_one) {
  if (!value.is_array() && !(or_one && value.is_string())) {
    return Status::invalid_argument("must be {}a list of strings", or_one ? "a string or " : "");
  }
  std::vector<std::string> texts;
  const size_t count = value.is_array() ? value.size() : 1;
  if (count > limits::kRequestStrings) {
    return Status::invalid_argument("has {} entries but may have {}", count,
                                    limits::kRequestStrings);
  }
  for (size_t i = 0; i < count; ++i) {
    INGOT_TRY(std::string text,
              text_of(value.is_array() ? value[i] : value, limits::kRequestStringBytes));
    if (text.empty()) return Status::invalid_argument("holds an empty string");
    texts.push_back(std::move(text));
  }
  return texts;
}

Result<std::vector<TokenId>> ids_of(const Json& value, int64_t vocab, size_t most) {
  if (!value.is_array()) return Status::invalid_argument("must be a list of token ids");
  if (value.size() > most)
    return Status::invalid_argument("has {} entries but may have {}", value.size(), most);
  std::vector<TokenId> ids;
  ids.reserve(value.size());
  for (const Json& entry : value) {
    const Result<int64_t> id = integer_of(entry, 0, vocab - 1);
    if (!id.is_ok()) {
      return Status::invalid_argument("holds {}, not a token id of the vocabulary [0, {})",
                                      entry.is_number() ? dump_json(entry) : entry.type_name(),
                                      vocab);
    }
    ids.push_back(static_cast<TokenId>(*id));
  }
  return ids;
}

}  // namespace ingot
