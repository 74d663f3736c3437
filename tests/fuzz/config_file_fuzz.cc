// SPDX-License-Identifier: Apache-2.0
// A file of settings: refused, or every value comes back when it is written and read again.
#include <cstdint>
#include <string>

#include "cli/config_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto settings = ingot::parse_config(text, "file");
  if (!settings.is_ok()) return 0;
  for (const ingot::ConfigSetting& setting : *settings) {
    for (const std::string& value : setting.values) {
      const std::string line = setting.key + ": " + ingot::config_value_text(value) + "\n";
      const auto again = ingot::parse_config(line, "line");
      if (!again.is_ok() || again->size() != 1 || again->front().values.front() != value)
        __builtin_trap();
    }
  }
  return 0;
}
