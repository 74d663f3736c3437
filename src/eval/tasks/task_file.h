// SPDX-License-Identifier: Apache-2.0
// Task files from strangers: lines of JSON and tables, each bounded, each error with file and line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace ingot {

// One JSON object with the place it stands at, for messages.
class TaskObject {
 public:
  TaskObject(Json object, std::string place)
      : object_(std::move(object)), place_(std::move(place)) {}

  bool has(std::string_view field) const { return object_.contains(field); }
  const Json* find(std::string_view field) const;  // null when absent or null
  Result<std::string> string(std::string_view field) const;
  Result<std::string> string_or(std::string_view field, std::string_view otherwise) const;
  Result<std::vector<std::string>> strings(std::string_view field, size_t most) const;
  // A string, or a list of them.
  Result<std::vector<std::string>> string_or_strings(std::string_view field, size_t most) const;
  Result<int64_t> integer(std::string_view field, int64_t low, int64_t high) const;
  Result<bool> boolean_or(std::string_view field, bool otherwise) const;
  Result<TaskObject> object(std::string_view field) const;
  const Json& json() const { return object_; }
  const std::string& place() const { return place_; }
  // "file.jsonl:12: <what>"
  Status error(std::string_view what) const;

 private:
  Json object_;
  std::string place_;
};

// Calls on_object for each line that is not blank, until it fails or says false (enough).
Status for_each_object(const std::filesystem::path& path,
                       const std::function<Result<bool>(const TaskObject&)>& on_object);

// A CSV file's rows (RFC 4180, quotes may hold line breaks) with a first row of names.
struct CsvTable {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> rows;  // each as wide as `names`
  std::vector<int64_t> lines;                  // where each row begins, from 1
  std::optional<size_t> column(std::string_view name) const;
};
Result<CsvTable> read_csv(const std::filesystem::path& path);
Result<CsvTable> parse_csv(std::string_view text, std::string_view source);

// `path` itself where it is a file; in a folder the first of `names` that is there.
Result<std::filesystem::path> find_task_file(const std::filesystem::path& path,
                                             const std::vector<std::string>& names);

std::string_view trim(std::string_view text);  // ASCII blanks on both sides

}  // namespace ingot
