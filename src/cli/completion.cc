// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

namespace ingot {
namespace {

struct FlagInfo {
  std::vector<std::string> names;  // with their dashes
  std::string help;
  bool takes_value = false;
};

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_name().empty(); });
}

// Those of its own commands too, each once.
std::vector<FlagInfo> flags_of(const CLI::App& command) {
  std::vector<const CLI::Option*> options = command.get_options();
  for (const CLI::App* inner : commands_of(command)) {
    for (const CLI::Option* option : inner->get_options()) {
      const bool is_known = std::ranges::any_of(options, [&](const CLI::Option* other) {
        return other->get_name() == option->get_name();
      });
      if (!is_known) options.push_back(option);
    }
  }
  std::vector<FlagInfo> flags;
  for (const CLI::Option* option : options) {
    if (option->get_positional()) continue;
    FlagInfo flag;
    for (const std::string& name : option->get_snames())
      flag.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames())
      flag.names.push_back("--" + name);
    flag.help = option->get_description();
    flag.takes_value = option->get_items_expected_max() > 0;
    flags.push_back(std::move(flag));
  }
  return flags;
}

// What may stand where a command expects a word.
std::string first_words(const CLI::App& command) {
  if (command.get_name() == "completion") return "bash zsh fish";
  std::string words;
  for (const CLI::App* inner : commands_of(command))
    words += (words.empty() ? "" : " ") + inner->get_name();
  return words;
}

// Inside single quotes of any of the shells; zsh also reads brackets and colons.
std::string shell_quoted(std::string_view text, std::string_view also = "") {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (also.find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string words(const std::vector<FlagInfo>& flags) {
  std::string text;
  for (const FlagInfo& flag : flags) {
    for (const std::string& name : flag.names)
      text += (text.empty() ? "" : " ") + name;
  }
  return text;
}

std::string bash_script(const CLI::App& app) {
  std::string names;
  std::string cases;
  for (const CLI::App* command : commands_of(app)) {
    names += (names.empty() ? "" : " ") + command->get_name();
    cases += fmt::format("    {}) flags='{}' words='{}' ;;\n", command->get_name(),
                         words(flags_of(*command)), first_words(*command));
  }
  return fmt::format(R"(# bash completion for ingot: source it, or put it into
# ~/.local/share/bash-completion/completions/ingot
_ingot() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" flags='' words=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{} {}' -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{}  esac
  if [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
  elif [ "$COMP_CWORD" -eq 2 ] && [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    COMPREPLY=($(compgen -f -W 'default' -- "$current"))
  fi
}}
complete -o filenames -F _ingot ingot
)",
                     names, words(flags_of(app)), cases);
}

std::string zsh_script(const CLI::App& app) {
  std::string names;
  std::string cases;
  for (const CLI::App* command : commands_of(app)) {
    names += fmt::format("    '{}:{}'\n", command->get_name(),
                         shell_quoted(command->get_description(), ":"));
    cases += fmt::format("    {}) _arguments \\\n", command->get_name());
    for (const FlagInfo& flag : flags_of(*command)) {
      for (const std::string& name : flag.names)
        cases += fmt::format("        '{}[{}]{}' \\\n", name, shell_quoted(flag.help, "[]:"),
                             flag.takes_value ? ":value:_files" : "");
    }
    const std::string words = first_words(*command);
    if (!words.empty()) cases += fmt::format("        '1:command:({})' \\\n", words);
    cases += "        '*:model:_files' ;;\n";
  }
  return fmt::format(R"(#compdef ingot
# zsh completion for ingot: put it as _ingot into a folder of $fpath
_ingot() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local name="$words[2]"
  shift words
  (( CURRENT-- ))
  case "$name" in
{}  esac
}}
compdef _ingot ingot
)",
                     names, cases);
}

std::string fish_script(const CLI::App& app) {
  std::string text =
      "# fish completion for ingot: put it into ~/.config/fish/completions/ingot.fish\n";
  for (const CLI::App* command : commands_of(app)) {
    text += fmt::format("complete -c ingot -n __fish_use_subcommand -f -a {} -d '{}'\n",
                        command->get_name(), shell_quoted(command->get_description()));
    for (const FlagInfo& flag : flags_of(*command)) {
      text +=
          fmt::format("complete -c ingot -n '__fish_seen_subcommand_from {}'", command->get_name());
      for (const std::string& name : flag.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      text += fmt::format("{} -d '{}'\n", flag.takes_value ? " -r" : "", shell_quoted(flag.help));
    }
    if (const std::string words = first_words(*command); !words.empty())
      text += fmt::format("complete -c ingot -n '__fish_seen_subcommand_from {}' -f -a '{}'\n",
                          command->get_name(), words);
  }
  return text;
}

}  // namespace

std::string completion_script(const CLI::App& app, std::string_view shell) {
  if (shell == "zsh") return zsh_script(app);
  if (shell == "fish") return fish_script(app);
  return bash_script(app);
}

}  // namespace ingot
