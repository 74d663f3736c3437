// SPDX-License-Identifier: Apache-2.0
// Flags that were not on the command line, from where else they may come: the environment first,
// then a file. Every flag of a command has a variable, INGOT_ and its name in capitals.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "cli/config_file.h"

namespace ingot {

enum class FlagSource : uint8_t { kDefault, kCommandLine, kEnvironment, kFile };

// Main thread only. After parsing; the command outlives it.
class FlagSources {
 public:
  // `not_settings`: names of flags that are orders rather than settings, such as --help.
  FlagSources(CLI::App& command, std::vector<std::string> not_settings);

  // `variable` looks one up in the environment. Values that a flag does not take are errors.
  Status apply_environment(
      const std::function<std::optional<std::string>(const std::string& name)>& variable);
  // Unknown keys are errors. `source` names the file.
  Status apply_file(const std::vector<ConfigSetting>& settings, std::string_view source);

  FlagSource source_of(const CLI::Option& option) const;
  // Every setting as a line that a file could have, with where it comes from; those in `secrets`
  // without their values.
  std::string text(const std::vector<std::string>& secrets) const;

 private:
  std::vector<CLI::Option*> settings() const;
  CLI::Option* find(std::string_view key) const;
  Status set(CLI::Option& option, const std::vector<std::string>& values, FlagSource source);

  CLI::App& command_;
  const std::vector<std::string> not_settings_;
  std::unordered_map<const CLI::Option*, FlagSource> sources_;  // of those that were set
};

// The names of a flag as keys of a file, longest-lived first: "ctx-size", "max-model-len".
std::vector<std::string> setting_names(const CLI::Option& option);
std::string variable_name(std::string_view key);  // "ctx-size": INGOT_CTX_SIZE

}  // namespace ingot
