// SPDX-License-Identifier: Apache-2.0
// Follows one JSON value character by character and says where it ends. For text that comes in
// parts and is passed on before it is whole. Keeps nothing of it; no recursion, bounded depth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ingot {

// Single thread. After kDone, kDoneBefore or kBad it must be reset().
class JsonScanner {
 public:
  enum class Step : uint8_t {
    kMore,
    kDone,        // the value ends with this character
    kDoneBefore,  // a number ended before it
    kBad,         // this character cannot stand here
  };
  Step push(char c);
  void reset();
  // The next character is part of a string. Control characters are let through there, which JSON
  // would have escaped: models write line ends into strings.
  bool is_in_string() const { return state_ == State::kString; }

 private:
  enum class State : uint8_t {
    kValue,
    kFirstKey,    // or the object's end
    kFirstValue,  // or the array's end
    kKey,
    kColon,
    kAfter,  // a comma or the container's end
    kString,
    kEscape,
    kHex,
    kWord,  // the rest of true, false or null
    kMinus,
    kZero,
    kDigits,
    kPoint,
    kFraction,
    kExponent,
    kExponentSign,
    kExponentDigits,
  };
  Step begin_value(char c);
  Step open(char c);
  Step close(char c);
  Step after_value();  // a value has ended with this character
  Step in_string(char c);
  Step in_number(char c);
  Step between(char c);

  State state_ = State::kValue;
  std::string stack_;  // open brackets
  bool is_key_ = false;
  int hex_left_ = 0;
  std::string_view word_;  // what is left of it
};

}  // namespace ingot
