// SPDX-License-Identifier: Apache-2.0
#include "cli/environment.h"

#include <cstdlib>
#include <string_view>

namespace ingot::environment {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

}  // namespace

std::optional<std::string> setting(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

bool wants_color() {
  return variable("NO_COLOR").empty() && has_cursor_movement();
}

bool has_cursor_movement() {
  return variable("TERM") != "dumb" && !variable("TERM").empty();
}

std::string fault() {
  return std::string(variable("INGOT_FAULT"));
}

std::optional<std::filesystem::path> state_folder() {
  const std::filesystem::path state(variable("XDG_STATE_HOME"));
  if (state.is_absolute()) return state / "ingot";
  const std::filesystem::path home(variable("HOME"));
  if (home.is_absolute()) return home / ".local" / "state" / "ingot";
  return std::nullopt;
}

std::string openai_api_key() {
  return std::string(variable("OPENAI_API_KEY"));
}

}  // namespace ingot::environment
