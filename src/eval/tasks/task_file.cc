// SPDX-License-Identifier: Apache-2.0
#include "eval/tasks/task_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "base/line_reader.h"
#include "base/mapped_file.h"
#include "base/utf8.h"

namespace ingot {

const Json* TaskObject::find(std::string_view field) const {
  const auto found = object_.find(field);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

Status TaskObject::error(std::string_view what) const {
  return Status::invalid_data("{}: {}", place_, what);
}

Result<std::string> TaskObject::string(std::string_view field) const {
  const Json* value = find(field);
  if (value == nullptr || !value->is_string())
    return error(fmt::format("'{}' must be a string", field));
  return value->get<std::string>();
}

Result<std::string> TaskObject::string_or(std::string_view field,
                                          std::string_view otherwise) const {
  if (find(field) == nullptr) return std::string(otherwise);
  return string(field);
}

Result<std::vector<std::string>> TaskObject::strings(std::string_view field, size_t most) const {
  const Json* value = find(field);
  if (value == nullptr || !value->is_array())
    return error(fmt::format("'{}' must be a list of strings", field));
  if (value->size() > most)
    return error(fmt::format("'{}' has {} entries, more than {}", field, value->size(), most));
  std::vector<std::string> found;
  for (const Json& entry : *value) {
    if (!entry.is_string()) return error(fmt::format("'{}' must be a list of strings", field));
    found.push_back(entry.get<std::string>());
  }
  return found;
}

Result<std::vector<std::string>> TaskObject::string_or_strings(std::string_view field,
                                                               size_t most) const {
  const Json* value = find(field);
  if (value == nullptr || !value->is_string()) return strings(field, most);
  return std::vector<std::string>{value->get<std::string>()};
}

Result<int64_t> TaskObject::integer(std::string_view field, int64_t low, int64_t high) const {
  const Json* value = find(field);
  const bool is_number = value != nullptr && value->is_number_integer();
  // Numbers above int64 are unsigned in the tree.
  if (!is_number ||
      (value->is_number_unsigned() && value->get<uint64_t>() > static_cast<uint64_t>(high)) ||
      value->get<int64_t>() < low || value->get<int64_t>() > high)
    return error(fmt::format("'{}' must be a whole number from {} to {}", field, low, high));
  return value->get<int64_t>();
}

Result<bool> TaskObject::boolean_or(std::string_view field, bool otherwise) const {
  const Json* value = find(field);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) return error(fmt::format("'{}' must be true or false", field));
  return value->get<bool>();
}

Result<TaskObject> TaskObject::object(std::string_view field) const {
  const Json* value = find(field);
  if (value == nullptr || !value->is_object())
    return error(fmt::format("'{}' must be an object", field));
  return TaskObject(*value, place_);
}

Status for_each_object(const std::filesystem::path& path,
                       const std::function<Result<bool>(const TaskObject&)>& on_object) {
  INGOT_TRY(LineReader reader, LineReader::open(path, limits::kTaskLineBytes));
  while (true) {
    INGOT_TRY(const std::optional<LineReader::Line> line, reader.next());
    if (!line) return Status::ok();
    const std::string place = fmt::format("{}:{}", path.string(), line->number);
    if (line->is_too_long)
      return Status::invalid_data("{}: the line is longer than {} bytes", place,
                                  limits::kTaskLineBytes);
    if (line->number > limits::kTaskItems)
      return Status::resource_exhausted("{}: the file has more than {} lines", place,
                                        limits::kTaskItems);
    if (trim(line->text).empty()) continue;
    INGOT_TRY(Json object, parse_json(line->text, place));
    if (!object.is_object()) return Status::invalid_data("{}: the line is no JSON object", place);
    INGOT_TRY(const bool goes_on, on_object(TaskObject(std::move(object), place)));
    if (!goes_on) return Status::ok();
  }
}

std::optional<size_t> CsvTable::column(std::string_view name) const {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<size_t>(found - names.begin());
}

Result<CsvTable> read_csv(const std::filesystem::path& path) {
  INGOT_TRY(const std::string text, read_small_file(path, limits::kTaskFileBytes));
  return parse_csv(text, path.string());
}

Result<CsvTable> parse_csv(std::string_view text, std::string_view source) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (!utf8::is_valid(text)) return Status::invalid_data("{}: is not UTF-8", source);
  CsvTable table;
  int64_t line = 1;
  size_t at = 0;
  while (at < text.size()) {
    const int64_t first_line = line;
    std::vector<std::string> row;
    bool is_open = true;  // the row goes on
    while (is_open) {
      std::string field;
      if (at < text.size() && text[at] == '"') {
        ++at;
        while (true) {
          if (at >= text.size())
            return Status::invalid_data("{}:{}: a quoted field has no end", source, first_line);
          const char c = text[at++];
          if (c == '"') {
            if (at >= text.size() || text[at] != '"') break;
            ++at;
          }
          if (c == '\n') ++line;
          field.push_back(c);
        }
      }
      const size_t end = std::min(text.find_first_of(",\n", at), text.size());
      std::string_view rest = text.substr(at, end - at);
      is_open = end < text.size() && text[end] == ',';
      if (!is_open && rest.ends_with('\r')) rest.remove_suffix(1);
      field.append(rest);
      if (field.size() > limits::kTaskLineBytes)
        return Status::invalid_data("{}:{}: a field is longer than {} bytes", source, first_line,
                                    limits::kTaskLineBytes);
      if (end < text.size() && text[end] == '\n') ++line;
      at = std::min(end + 1, text.size());
      // A comma at the very end begins one more, empty field.
      row.push_back(std::move(field));
      if (row.size() > limits::kTaskChoices)
        return Status::invalid_data("{}:{}: has more than {} fields", source, first_line,
                                    limits::kTaskChoices);
    }
    if (row.size() == 1 && row[0].empty()) continue;  // a blank line
    if (table.names.empty()) {
      table.names = std::move(row);
      continue;
    }
    if (row.size() != table.names.size())
      return Status::invalid_data("{}:{}: has {} fields where the first row has {}", source,
                                  first_line, row.size(), table.names.size());
    if (table.rows.size() >= limits::kTaskItems)
      return Status::resource_exhausted("{}: has more than {} rows", source, limits::kTaskItems);
    table.rows.push_back(std::move(row));
    table.lines.push_back(first_line);
  }
  if (table.names.empty()) return Status::invalid_data("{}: is empty", source);
  return table;
}

Result<std::filesystem::path> find_task_file(const std::filesystem::path& path,
                                             const std::vector<std::string>& names) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return path;
  for (const std::string& name : names) {
    if (std::filesystem::exists(path / name, ignored)) return path / name;
  }
  return Status::not_found("{}: has no {}; give the file itself with --data", path.string(),
                           fmt::join(names, ", no "));
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\f\v";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace ingot
