// SPDX-License-Identifier: Apache-2.0
#include "cli/flag_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace ingot {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool is_switch(const CLI::Option& option) {
  return option.get_expected_max() == 0;
}

bool takes_many(const CLI::Option& option) {
  return option.get_items_expected_max() > 1;
}

std::optional<bool> parse_switch(std::string_view text) {
  static constexpr std::array<std::string_view, 4> kTrue = {"true", "yes", "on", "1"};
  static constexpr std::array<std::string_view, 4> kFalse = {"false", "no", "off", "0"};
  const std::string word = lower(text);
  if (std::ranges::find(kTrue, word) != kTrue.end()) return true;
  if (std::ranges::find(kFalse, word) != kFalse.end()) return false;
  return std::nullopt;
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts;
}

// A list may be named as one: INGOT_API_KEYS.
std::vector<std::string> variable_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& key : setting_names(option)) {
    names.push_back(variable_name(key));
    if (takes_many(option) && !key.ends_with('s')) names.push_back(names.back() + "S");
  }
  return names;
}

std::string_view comment_of(FlagSource source) {
  switch (source) {
    case FlagSource::kDefault:
      return "default";
    case FlagSource::kCommandLine:
      return "command line";
    case FlagSource::kEnvironment:
      return "environment";
    case FlagSource::kFile:
      return "file";
  }
  return "";
}

}  // namespace

std::vector<std::string> setting_names(const CLI::Option& option) {
  if (!option.get_lnames().empty()) return option.get_lnames();
  return {lower(option.get_name(true))};  // a positional
}

std::string variable_name(std::string_view key) {
  std::string name = "INGOT_";
  for (const char c : key)
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

FlagSources::FlagSources(CLI::App& command, std::vector<std::string> not_settings)
    : command_(command), not_settings_(std::move(not_settings)) {
  for (const CLI::Option* option : settings()) {
    if (option->count() > 0) sources_.emplace(option, FlagSource::kCommandLine);
  }
}

std::vector<CLI::Option*> FlagSources::settings() const {
  return command_.get_options([&](const CLI::Option* option) {
    return std::ranges::find(not_settings_, setting_names(*option).front()) == not_settings_.end();
  });
}

CLI::Option* FlagSources::find(std::string_view key) const {
  const std::string wanted = lower(key);
  for (CLI::Option* option : settings()) {
    const std::vector<std::string> names = setting_names(*option);
    if (std::ranges::find(names, wanted) != names.end()) return option;
  }
  return nullptr;
}

FlagSource FlagSources::source_of(const CLI::Option& option) const {
  const auto found = sources_.find(&option);
  return found == sources_.end() ? FlagSource::kDefault : found->second;
}

// Messages do not repeat values: one of them may be a key.
Status FlagSources::set(CLI::Option& option, const std::vector<std::string>& values,
                        FlagSource source) {
  if (values.size() > 1 && !takes_many(option))
    return Status::invalid_argument("takes one value, not {}", values.size());
  if (is_switch(option)) {
    const std::optional<bool> is_on =
        values.size() == 1 ? parse_switch(values.front()) : std::nullopt;
    if (!is_on) return Status::invalid_argument("is true or false");
    sources_[&option] = source;
    if (!*is_on) return Status::ok();
  }
  if (values.empty()) return Status::ok();
  try {
    option.add_result(is_switch(option) ? std::vector<std::string>{"true"} : values);
    option.run_callback();
  } catch (const CLI::Error&) {
    const std::string type = option.get_type_name();
    return Status::invalid_argument("has a value that --{} does not take{}",
                                    setting_names(option).front(),
                                    type.empty() ? "" : fmt::format(" ({})", type));
  }
  sources_[&option] = source;
  return Status::ok();
}

Status FlagSources::apply_environment(
    const std::function<std::optional<std::string>(const std::string& name)>& variable) {
  for (CLI::Option* option : settings()) {
    for (const std::string& name : variable_names(*option)) {
      if (sources_.contains(option)) break;
      const std::optional<std::string> text = variable(name);
      if (!text || text->empty()) continue;
      const auto values =
          takes_many(*option) ? split_at_commas(*text) : std::vector<std::string>{*text};
      const Status status = set(*option, values, FlagSource::kEnvironment);
      if (!status.is_ok())
        return Status::invalid_argument("the variable {} {}", name, status.message());
    }
  }
  return Status::ok();
}

Status FlagSources::apply_file(const std::vector<ConfigSetting>& settings,
                               std::string_view source) {
  std::unordered_map<const CLI::Option*, const ConfigSetting*> seen;
  for (const ConfigSetting& setting : settings) {
    CLI::Option* const option = find(setting.key);
    if (option == nullptr) {
      return Status::invalid_argument(
          "{}:{}: there is no setting '{}'; 'ingot serve --help' lists "
          "them, keys have no dashes in front",
          source, setting.line, setting.key);
    }
    const auto [other, is_first] = seen.emplace(option, &setting);
    if (!is_first) {
      return Status::invalid_argument("{}:{}: '{}' is the same setting as '{}' in line {}", source,
                                      setting.line, setting.key, other->second->key,
                                      other->second->line);
    }
    if (sources_.contains(option)) continue;  // the command line or the environment said more
    const Status status = set(*option, setting.values, FlagSource::kFile);
    if (!status.is_ok()) {
      return Status::invalid_argument("{}:{}: '{}' {}", source, setting.line, setting.key,
                                      status.message());
    }
  }
  return Status::ok();
}

std::string FlagSources::text(const std::vector<std::string>& secrets) const {
  std::string out;
  for (const CLI::Option* option : settings()) {
    const std::string key = setting_names(*option).front();
    const std::string_view comment = comment_of(source_of(*option));
    std::vector<std::string> values = option->results();
    if (std::ranges::find(secrets, key) != secrets.end()) {
      out += fmt::format("# {}: {} of them, not shown  # {}\n", key, values.size(), comment);
      continue;
    }
    if (is_switch(*option)) values = {option->count() > 0 ? "true" : "false"};
    if (values.empty() && !takes_many(*option)) values = {option->get_default_str()};
    std::string value;
    for (const std::string& one : values) {
      if (!value.empty()) value += ", ";
      value += config_value_text(one);
    }
    if (takes_many(*option)) value = fmt::format("[{}]", value);
    out += fmt::format("{}: {}  # {}\n", key, value, comment);
  }
  return out;
}

}  // namespace ingot
