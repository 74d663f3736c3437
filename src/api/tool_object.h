// SPDX-License-Identifier: Apache-2.0
// One call as a JSON object, {"name": ..., "arguments": {...}}, read character by character, so
// that the arguments can be passed on while they come.
#pragma once

#include <cstdint>
#include <string>

#include "api/json_scanner.h"

namespace ingot {

// Single thread. After kDone or kBad it must be begun again.
class ToolObject {
 public:
  enum class Step : uint8_t { kMore, kDone, kBad };

  // The next character is the object's first.
  void begin();
  // The name is known from elsewhere; the next character is the first of the arguments.
  void begin_arguments(std::string name);
  Step push(char c);

  const std::string& name() const { return name_; }
  // It is a call, whatever follows: the name is known and the arguments have begun.
  bool is_call() const { return has_name_ && has_arguments_; }
  // Name and arguments are there; only the object's end is missing.
  bool is_whole() const { return is_call() && part_ == Part::kAfterValue; }
  // The arguments' text since the last call. "{}" for a whole object without any.
  std::string take_arguments();

 private:
  enum class Part : uint8_t { kOpen, kFirstKey, kKey, kColon, kValue, kAfterValue };
  enum class Use : uint8_t { kSkipped, kName, kArguments };
  Step begin_value(char c);
  Step scan(char c);
  Step end_value();
  Step end_quoted_arguments();

  JsonScanner scanner_;
  Part part_ = Part::kOpen;
  bool is_scanning_ = false;  // a key or a value
  Use use_ = Use::kSkipped;   // of the value
  bool is_bare_ = false;      // arguments alone
  bool has_name_ = false;
  bool has_arguments_ = false;
  bool passes_on_ = false;  // the value is the arguments' object
  std::string name_;
  std::string arguments_;
  std::string kept_;  // a key, the name, or arguments that are no object
};

}  // namespace ingot
