// SPDX-License-Identifier: Apache-2.0
// The values a template computes with: Python's, as far as Jinja shows them. A Value is 16 bytes
// and trivially copied; what it points to lives in the Heap of one rendering, never moves and is
// freed with it, so there are no counts, no cycles and no deep destructors. Strings are valid UTF-8
// throughout.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/check.h"

namespace ingot::jinja {

enum class Kind : uint8_t {
  kAbsent,  // ours alone: an argument that was not given, a name that is not bound
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kList,  // the first of the kinds that are a SequenceObject
  kTuple,
  kRange,
  kKeys,
  kValues,
  kItems,
  kGenerator,  // what map, select and their like return: true, without length, consumed by reading
  kDict,
  kNamespace,
  kLoop,
  kCycler,
  kJoiner,
  kMacro,
  kMethod,
  kFunction,
};

struct Builtin;
struct CyclerObject;
struct DictObject;
struct JoinerObject;
struct LoopObject;
struct MacroObject;
struct MethodObject;
struct NamespaceObject;
struct SequenceObject;
struct StringObject;
struct UndefinedObject;

class Value {
 public:
  Value() = default;
  static Value none() { return Value(Kind::kNone); }
  static Value boolean(bool value) {
    Value result(Kind::kBool);
    result.bits_ = value ? 1 : 0;
    return result;
  }
  static Value integer(int64_t value) {
    Value result(Kind::kInt);
    result.bits_ = static_cast<uint64_t>(value);
    return result;
  }
  static Value number(double value) {
    Value result(Kind::kFloat);
    result.bits_ = std::bit_cast<uint64_t>(value);
    return result;
  }
  template <class Object>
  static Value object(Kind kind, Object* object) {
    Value result(kind);
    result.bits_ = reinterpret_cast<uintptr_t>(object);
    return result;
  }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_absent() const { return kind_ == Kind::kAbsent; }
  bool is_undefined() const { return kind_ == Kind::kUndefined; }
  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_dict() const { return kind_ == Kind::kDict; }
  // Python's bool is an int.
  bool is_integral() const { return kind_ == Kind::kInt || kind_ == Kind::kBool; }
  bool is_number() const { return is_integral() || kind_ == Kind::kFloat; }
  bool is_sequence() const { return kind_ >= Kind::kList && kind_ <= Kind::kGenerator; }
  // What Python can index by position: not the views of a dict, not a generator.
  bool is_indexable() const { return kind_ >= Kind::kList && kind_ <= Kind::kRange; }

  // The number of a kInt or kBool.
  int64_t as_integer() const {
    INGOT_DCHECK(is_integral());
    return static_cast<int64_t>(bits_);
  }
  // Any number as a float.
  double as_number() const {
    return kind_ == Kind::kFloat ? std::bit_cast<double>(bits_)
                                 : static_cast<double>(static_cast<int64_t>(bits_));
  }
  StringObject& string() const { return at<StringObject>(); }
  inline std::string_view text() const;
  inline bool is_markup() const;
  SequenceObject& sequence() const { return at<SequenceObject>(); }
  inline std::span<Value> items() const;
  DictObject& dict() const { return at<DictObject>(); }
  NamespaceObject& names() const { return at<NamespaceObject>(); }
  LoopObject& loop() const { return at<LoopObject>(); }
  CyclerObject& cycler() const { return at<CyclerObject>(); }
  JoinerObject& joiner() const { return at<JoinerObject>(); }
  MacroObject& macro() const { return at<MacroObject>(); }
  MethodObject& method() const { return at<MethodObject>(); }
  const Builtin& function() const { return at<const Builtin>(); }
  UndefinedObject& undefined() const { return at<UndefinedObject>(); }
  // Which object it is; meaningless for numbers.
  uint64_t identity() const { return bits_; }

 private:
  explicit Value(Kind kind) : kind_(kind) {}
  template <class Object>
  Object& at() const {
    return *std::bit_cast<Object*>(bits_);
  }

  Kind kind_ = Kind::kAbsent;
  uint64_t bits_ = 0;  // the number, or the address of the object
};
static_assert(sizeof(Value) == 16);

struct StringObject {
  static constexpr size_t kUncounted = SIZE_MAX;
  std::string_view bytes;
  bool is_markup = false;  // markupsafe's Markup: `|safe` and `|escape` make it, `+` escapes for it
  // Caches for code point arithmetic: the count, and the place found last.
  size_t code_points = kUncounted;
  size_t cursor_index = 0;
  size_t cursor_byte = 0;
};

struct SequenceObject {
  std::span<Value> items;
  size_t taken = 0;       // of a generator
  bool is_group = false;  // groupby's (grouper, list) pair
  int64_t range[3] = {};  // start, stop, step of a range
};

struct DictEntry {
  Value key;
  Value value;
};

// In insertion order; nothing changes it after it is built. `order` sorts the entries by key, made
// at the first look-up in a dict that is too large to scan.
struct DictObject {
  std::span<DictEntry> entries;
  uint32_t* order = nullptr;
};

struct NamespaceObject {
  DictEntry* entries = nullptr;
  size_t size = 0;
  size_t capacity = 0;
};

struct Scope;

struct LoopObject {
  std::span<const Value> items;
  size_t index = 0;
  int64_t depth = 0;       // of a recursive loop, from 0
  uint32_t node = 0;       // the `for` statement
  Scope* scope = nullptr;  // where it stands
  bool is_recursive = false;
  Value last_changed;  // tuple of loop.changed's last arguments
};

struct CyclerObject {
  std::span<const Value> items;
  size_t position = 0;
};

struct JoinerObject {
  Value separator;
  bool is_used = false;
};

struct MacroObject {
  uint32_t node = 0;
  Scope* scope = nullptr;  // where it was defined
  std::string_view name;
};

struct MethodObject {
  Value self;
  const Builtin* method = nullptr;
};

// Remembers what was asked for, since the error comes later, when it is used.
struct UndefinedObject {
  Value owner;    // absent: a variable
  Value element;  // the subscript, where it is no string
  std::string_view name;
  std::string_view hint;  // the whole message, where there is one
};

inline std::string_view Value::text() const {
  return string().bytes;
}
inline bool Value::is_markup() const {
  return is_string() && string().is_markup;
}
inline std::span<Value> Value::items() const {
  return sequence().items;
}

struct Keyword {
  std::string_view name;
  Value value;
};

struct CallArgs {
  std::span<const Value> positional;
  std::span<const Keyword> keywords;
};

bool is_true(Value value);
// As Python's type(value).__name__.
std::string_view type_name(Value value);

}  // namespace ingot::jinja
