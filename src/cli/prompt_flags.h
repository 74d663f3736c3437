// SPDX-License-Identifier: Apache-2.0
// Where the prompt of `generate` comes from: the command line, a file, standard input, or token
// ids, which need no tokenizer.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "api/text_side.h"
#include "base/status.h"

namespace ingot {

struct PromptFlags {
  std::string prompt, file = "-", ids, system;
  bool uses_chat = false;
  bool no_special = false;
  const CLI::Option* prompt_option = nullptr;
  const CLI::Option* ids_option = nullptr;
};

void add_prompt_flags(CLI::App& command, PromptFlags& flags);
Result<std::vector<TokenId>> read_prompt(const PromptFlags& flags, const TextSide& text);

}  // namespace ingot
