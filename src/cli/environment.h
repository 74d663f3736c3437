// SPDX-License-Identifier: Apache-2.0
// Every environment variable the program reads, in one place (docs/ARCHITECTURE.md lists them).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace ingot::environment {

// A setting of `ingot serve`: INGOT_ and the name of its flag in capitals (docs/serving.md).
std::optional<std::string> setting(const std::string& name);

// NO_COLOR, set to anything but the empty string, switches colours off; so does TERM=dumb.
bool wants_color();
// TERM=dumb has no cursor movement: no line editing, no progress bar.
bool has_cursor_movement();
// INGOT_FAULT: what goes wrong on purpose (docs/engine.md); empty for nothing.
std::string fault();
// $XDG_STATE_HOME/ingot, else $HOME/.local/state/ingot; nothing without a home.
std::optional<std::filesystem::path> state_folder();

// $OPENAI_API_KEY, for servers that ask for one; empty without.
std::string openai_api_key();

}  // namespace ingot::environment
