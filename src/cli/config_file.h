// SPDX-License-Identifier: Apache-2.0
// A file of settings: one `key: value` a line as in YAML, or `key = value` as in TOML, with lists
// and quotes in their simple forms. Read strictly: what is not understood is an error with its
// line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace ingot {

struct ConfigSetting {
  std::string key = {};  // as written
  std::vector<std::string> values = {};
  bool is_list = false;  // written as one
  size_t line = 0;       // from 1
};

// `source` names the text in errors. A key stands once.
Result<std::vector<ConfigSetting>> parse_config(std::string_view text, std::string_view source);

// The value as parse_config() reads it back.
std::string config_value_text(std::string_view value);

}  // namespace ingot
