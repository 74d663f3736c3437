// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja/value.h"

namespace ingot::jinja {

bool is_true(Value value) {
  switch (value.kind()) {
    case Kind::kAbsent:
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return value.as_integer() != 0;
    case Kind::kFloat:
      return value.as_number() != 0;
    case Kind::kString:
      return !value.text().empty();
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
    case Kind::kKeys:
    case Kind::kValues:
    case Kind::kItems:
      return !value.items().empty();
    case Kind::kDict:
      return !value.dict().entries.empty();
    default:
      return true;
  }
}

std::string_view type_name(Value value) {
  switch (value.kind()) {
    case Kind::kAbsent:
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return value.is_markup() ? "Markup" : "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kRange:
      return "range";
    case Kind::kKeys:
      return "dict_keys";
    case Kind::kValues:
      return "dict_values";
    case Kind::kItems:
      return "dict_items";
    case Kind::kGenerator:
      return "generator";
    case Kind::kDict:
      return "dict";
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kLoop:
      return "LoopContext";
    case Kind::kCycler:
      return "Cycler";
    case Kind::kJoiner:
      return "Joiner";
    case Kind::kMacro:
      return "Macro";
    case Kind::kMethod:
      return "builtin_function_or_method";
    case Kind::kFunction:
      return "function";
  }
  return "object";
}

}  // namespace ingot::jinja
