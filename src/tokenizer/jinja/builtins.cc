// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja/builtins.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace ingot::jinja {
namespace {

using Index = std::unordered_map<std::string_view, const Builtin*>;

Index index_of(std::initializer_list<std::span<const Builtin>> lists) {
  Index index;
  for (const std::span<const Builtin> list : lists) {
    for (const Builtin& builtin : list)
      index.emplace(builtin.name, &builtin);
  }
  return index;
}

const Builtin* find(const Index& index, std::string_view name) {
  const auto it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

// Cuts the first word off `words`.
std::string_view take_word(std::string_view& words) {
  const size_t end = std::min(words.find(' '), words.size());
  const std::string_view word = words.substr(0, end);
  words.remove_prefix(std::min(end + 1, words.size()));
  return word;
}

}  // namespace

Result<Arguments> bind_arguments(const Builtin& builtin, const CallArgs& given) {
  Arguments arguments;
  arguments.given = given;
  if (builtin.parameters == "*") return arguments;
  std::string_view words = builtin.parameters;
  size_t count = 0;
  size_t used_keywords = 0;
  for (; !words.empty(); ++count) {
    std::string_view word = take_word(words);
    const bool is_optional = word.ends_with('?');
    if (is_optional) word.remove_suffix(1);
    Value& slot = arguments.values[count];
    if (count < given.positional.size()) slot = given.positional[count];
    for (const Keyword& keyword : given.keywords) {
      if (keyword.name != word) continue;
      if (!slot.is_absent()) {
        return Status::invalid_data("{}() got multiple values for argument '{}'", builtin.name,
                                    word);
      }
      slot = keyword.value;
      ++used_keywords;
    }
    if (slot.is_absent() && !is_optional) {
      return Status::invalid_data("{}() is missing its argument '{}'", builtin.name, word);
    }
  }
  if (given.positional.size() > count) {
    return Status::invalid_data("{}() takes at most {} arguments ({} given)", builtin.name, count,
                                given.positional.size());
  }
  if (used_keywords != given.keywords.size()) {
    for (const Keyword& keyword : given.keywords) {
      const std::string_view all = builtin.parameters;
      if (all.find(keyword.name) == std::string_view::npos) {
        return Status::invalid_data("{}() got an unexpected keyword argument '{}'", builtin.name,
                                    keyword.name.substr(0, 100));
      }
    }
    return Status::invalid_data("{}() got an unexpected keyword argument", builtin.name);
  }
  return arguments;
}

const Builtin* find_filter(std::string_view name) {
  static const Index kIndex =
      index_of({text_filters(), html_filters(), number_filters(), sequence_filters(),
                selection_filters(), wrapping_filters()});
  return find(kIndex, name);
}

const Builtin* find_test(std::string_view name) {
  static const Index kIndex = index_of({tests()});
  return find(kIndex, name);
}

const Builtin* find_function(std::string_view name) {
  static const Index kIndex = index_of({functions()});
  return find(kIndex, name);
}

const Builtin* find_method(Value self, std::string_view name) {
  static const Index kStrings = index_of({string_methods(), string_search_methods()});
  static const Index kDicts = index_of({dict_methods()});
  static const Index kSequences = index_of({sequence_methods()});
  static const Index kLoops = index_of({loop_methods()});
  static const Index kCyclers = index_of({cycler_methods()});
  switch (self.kind()) {
    case Kind::kString:
      return find(kStrings, name);
    case Kind::kDict:
      return find(kDicts, name);
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
      return find(kSequences, name);
    case Kind::kLoop:
      return find(kLoops, name);
    case Kind::kCycler:
      return find(kCyclers, name);
    default:
      return nullptr;
  }
}

bool is_unsafe_attribute(Value self, std::string_view name) {
  if (name.starts_with("__") && name.ends_with("__")) return true;
  constexpr std::string_view kListChanges[] = {"append", "clear",  "extend",  "insert",
                                               "pop",    "remove", "reverse", "sort"};
  constexpr std::string_view kDictChanges[] = {"clear", "pop", "popitem", "setdefault", "update"};
  if (self.is(Kind::kList)) return std::ranges::find(kListChanges, name) != std::end(kListChanges);
  if (self.is(Kind::kDict)) return std::ranges::find(kDictChanges, name) != std::end(kDictChanges);
  return false;
}

}  // namespace ingot::jinja
