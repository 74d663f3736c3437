// SPDX-License-Identifier: Apache-2.0
// Shell completion, written from the parser's own tree of commands and flags, so that it can never
// fall behind.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace ingot {

// `shell` is "bash", "zsh" or "fish".
std::string completion_script(const CLI::App& app, std::string_view shell);

}  // namespace ingot
