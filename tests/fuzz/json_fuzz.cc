// SPDX-License-Identifier: Apache-2.0
// Any text as JSON: refused, or what was read prints as JSON that reads back the same.
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/json_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ingot::JsonReader reader(text, "fuzz.json");
  bool is_valid = true;
  for (bool is_done = false; is_valid && !is_done;) {
    const auto token = reader.next();
    is_valid = token.is_ok();
    is_done = is_valid && *token == ingot::JsonToken::kEnd;
    if (is_valid && *token == ingot::JsonToken::kNumber) {
      static_cast<void>(reader.number());
      static_cast<void>(reader.integer());
    }
  }
  const auto parsed = ingot::parse_json(text, "fuzz.json");
  INGOT_CHECK(is_valid || !parsed.is_ok());
  if (!parsed.is_ok()) return 0;
  const std::string printed = ingot::dump_json(*parsed);
  const auto again = ingot::parse_json(printed, "printed");
  INGOT_CHECK(again.is_ok());
  INGOT_CHECK(ingot::dump_json(*again) == printed);
  return 0;
}
