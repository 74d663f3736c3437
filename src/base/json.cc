// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json_reader.h"
#include "base/mapped_file.h"

namespace ingot {
namespace {

// ordered_json looks keys up linearly, so duplicates are found by sorting once per object instead.
bool has_duplicate_keys(const Json& object) {
  std::vector<std::string_view> keys;
  keys.reserve(object.size());
  for (const auto& item : object.items())
    keys.push_back(item.key());
  std::ranges::sort(keys);
  return std::ranges::adjacent_find(keys) != keys.end();
}

Json scalar(const JsonReader& reader, JsonToken token) {
  switch (token) {
    case JsonToken::kString:
      return std::string(reader.text());
    case JsonToken::kTrue:
      return true;
    case JsonToken::kFalse:
      return false;
    case JsonToken::kNumber:
      break;
    default:
      return nullptr;
  }
  if (const auto whole = reader.integer(); whole.is_ok()) return *whole;
  return reader.number();
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view source, const JsonLimits& limits) {
  JsonReader reader(text, std::string(source), limits.depth);
  std::vector<Json> open;         // containers not closed yet, outermost first
  std::vector<std::string> keys;  // the key each open container's next value goes under
  Json root;
  size_t nodes = 0;
  const auto place = [&](Json value) {
    if (open.empty()) {
      root = std::move(value);
    } else if (open.back().is_array()) {
      open.back().push_back(std::move(value));
    } else {
      // push_back on the underlying vector: operator[] would search, making large objects
      // quadratic.
      open.back().get_ref<Json::object_t&>().push_back({keys.back(), std::move(value)});
    }
  };
  while (true) {
    INGOT_TRY(const JsonToken token, reader.next());
    if (token == JsonToken::kEnd) return root;
    if (++nodes > limits.nodes)
      return reader.error(fmt::format("more than {} values", limits.nodes));
    switch (token) {
      case JsonToken::kBeginObject:
      case JsonToken::kBeginArray:
        open.push_back(token == JsonToken::kBeginObject ? Json::object() : Json::array());
        keys.emplace_back();
        break;
      case JsonToken::kKey:
        keys.back() = reader.text();
        break;
      case JsonToken::kEndObject:
      case JsonToken::kEndArray: {
        Json done = std::move(open.back());
        open.pop_back();
        keys.pop_back();
        if (done.is_object() && has_duplicate_keys(done))
          return reader.error("a key stands twice in one object");
        place(std::move(done));
        break;
      }
      default:
        place(scalar(reader, token));
    }
  }
}

Result<Json> read_json_file(const std::filesystem::path& path, const JsonLimits& limits) {
  INGOT_TRY(const std::string text, read_small_file(path, limits::kConfigBytes));
  return parse_json(text, path.string(), limits);
}

std::string dump_json(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ingot
