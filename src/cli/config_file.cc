// SPDX-License-Identifier: Apache-2.0
#include "cli/config_file.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

namespace ingot {
namespace {

constexpr std::string_view kBlanks = " \t";

std::string_view without_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

bool is_key_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
}

bool is_rest_empty(std::string_view text) {
  text = without_blanks(text);
  return text.empty() || text.front() == '#';
}

// "..." with the escapes that YAML and TOML share.
Result<std::string> take_double_quoted(std::string_view& text) {
  std::string value;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return value;
    }
    if (text[i] != '\\') {
      value += text[i];
      continue;
    }
    constexpr std::string_view kNames = "\"\\ntr", kMeanings = "\"\\\n\t\r";
    const size_t escape = ++i < text.size() ? kNames.find(text[i]) : std::string_view::npos;
    if (escape == std::string_view::npos)
      return Status::invalid_data("after \\ comes one of \" \\ n t r");
    value += kMeanings[escape];
  }
  return Status::invalid_data("the closing \" is missing");
}

// '...' as it stands; two quotes are one.
Result<std::string> take_single_quoted(std::string_view& text) {
  std::string value;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] != '\'') {
      value += text[i];
    } else if (text.substr(i + 1).starts_with('\'')) {
      value += text[i++];
    } else {
      text.remove_prefix(i + 1);
      return value;
    }
  }
  return Status::invalid_data("the closing ' is missing");
}

// One value, up to a comment or one of `ends`, which stays.
Result<std::string> take_value(std::string_view& text, std::string_view ends) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  if (text.starts_with('"')) return take_double_quoted(text);
  if (text.starts_with('\'')) return take_single_quoted(text);
  size_t end = 0;
  while (end < text.size() && ends.find(text[end]) == std::string_view::npos) {
    const bool is_comment =
        text[end] == '#' && (end == 0 || kBlanks.find(text[end - 1]) != std::string_view::npos);
    if (is_comment) break;
    ++end;
  }
  const std::string_view value = without_blanks(text.substr(0, end));
  text.remove_prefix(end);
  // The rest of YAML and TOML: what could mean something else than its letters is not guessed at.
  if (value.empty() || value == "null" || value == "~")
    return Status::invalid_data("there is no value; leave the line out, or write \"\" for nothing");
  if (std::string_view("[]{}&*!|>%@`,").find(value.front()) != std::string_view::npos)
    return Status::invalid_data("a value that begins with {} must be in quotes", value.front());
  return std::string(value);
}

Status take_list(std::string_view& text, std::vector<std::string>& values) {
  text.remove_prefix(1);
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    if (text.starts_with(']')) break;
    INGOT_TRY(std::string value, take_value(text, ",]"));
    values.push_back(std::move(value));
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    if (text.starts_with(',')) {
      text.remove_prefix(1);
    } else if (!text.starts_with(']')) {
      return Status::invalid_data("a list ends with ] on its own line");
    }
  }
  text.remove_prefix(1);
  return Status::ok();
}

class ConfigReader {
 public:
  Status read_line(std::string_view line, size_t number) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (is_rest_empty(line) || (settings_.empty() && line == "---")) return Status::ok();
    const bool is_indented = kBlanks.find(line.front()) != std::string_view::npos;
    std::string_view text = without_blanks(line);
    if (text == "-" || text.starts_with("- ")) return read_item(text.substr(1));
    if (is_indented)
      return Status::invalid_data("only the items of a list are indented: '  - value'");
    if (text.starts_with('['))
      return Status::invalid_data("there are no sections here; write the keys alone");
    INGOT_TRY(close());
    return read_setting(text, number);
  }

  // A key that waits for the items of its list must have got one.
  Status close() {
    if (std::exchange(is_open_, false) && settings_.back().values.empty())
      return Status::invalid_data("'{}' in line {} has no value", settings_.back().key,
                                  settings_.back().line);
    return Status::ok();
  }

  std::vector<ConfigSetting> take() { return std::move(settings_); }

 private:
  Status read_setting(std::string_view text, size_t number) {
    const size_t size =
        static_cast<size_t>(std::ranges::find_if_not(text, is_key_character) - text.begin());
    ConfigSetting setting{.key = std::string(text.substr(0, size)), .line = number};
    std::string_view rest = without_blanks(text.substr(size));
    const bool is_yaml = rest == ":" || rest.starts_with(": ") || rest.starts_with(":\t");
    if (size == 0 || (!is_yaml && !rest.starts_with('=')))
      return Status::invalid_data("a line is 'key: value' or 'key = value'");
    rest = without_blanks(rest.substr(1));
    if (!keys_.insert(setting.key).second)
      return Status::invalid_data("'{}' stands twice", setting.key);
    if (is_yaml && is_rest_empty(rest)) {
      is_open_ = setting.is_list = true;
    } else if (rest.starts_with('[')) {
      setting.is_list = true;
      INGOT_TRY(take_list(rest, setting.values));
    } else {
      INGOT_TRY(std::string value, take_value(rest, ""));
      setting.values.push_back(std::move(value));
    }
    if (!is_rest_empty(rest))
      return Status::invalid_data("'{}' has something after its value", setting.key);
    settings_.push_back(std::move(setting));
    return Status::ok();
  }

  Status read_item(std::string_view text) {
    if (!is_open_) return Status::invalid_data("an item of a list comes after 'key:'");
    INGOT_TRY(std::string value, take_value(text, ""));
    if (!is_rest_empty(text)) return Status::invalid_data("an item has something after its value");
    settings_.back().values.push_back(std::move(value));
    return Status::ok();
  }

  std::vector<ConfigSetting> settings_;
  std::set<std::string> keys_;
  bool is_open_ = false;  // the last one waits for items
};

}  // namespace

Result<std::vector<ConfigSetting>> parse_config(std::string_view text, std::string_view source) {
  ConfigReader reader;
  size_t number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const Status status = reader.read_line(line, ++number);
    if (!status.is_ok()) return status.with_context(fmt::format("{}:{}", source, number));
  }
  const Status status = reader.close();
  if (!status.is_ok()) return status.with_context(std::string(source));
  return reader.take();
}

std::string config_value_text(std::string_view value) {
  const bool is_plain =
      !value.empty() && value != "null" && value != "~" && std::ranges::all_of(value, [](char c) {
        return is_key_character(c) || std::string_view("./:+").find(c) != std::string_view::npos;
      });
  if (is_plain) return std::string(value);
  std::string text = "\"";
  for (const char c : value) {
    if (c == '\n') {
      text += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

}  // namespace ingot
