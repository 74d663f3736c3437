// SPDX-License-Identifier: Apache-2.0
// Status and Result (ingot/status.h), and what passes them on. Wrong input is a Status; wrong code
// is a CHECK (base/check.h).
#pragma once

#include <exception>
#include <new>

#include "base/check.h"
#include "ingot/status.h"

namespace ingot {

inline const Status& as_status(const Status& status) {
  return status;
}
template <class T>
Status as_status(const Result<T>& result) {
  return result.status();
}

// Runs library code that may throw and turns the exception into `failure`'s code. Library
// exceptions never travel further than the call that entered the library.
template <class Function>
auto catching(StatusCode failure, Function&& function) -> Result<decltype(function())> {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kResourceExhausted, "out of memory");
  } catch (const std::exception& error) {
    return Status(failure, error.what());
  }
}

}  // namespace ingot

// INGOT_TRY(status_expression): returns the error, if any, to the caller.
// INGOT_TRY(declaration, result_expression): unwraps the value into the declaration, or returns.
#define INGOT_TRY(...)                                                                        \
  INGOT_TRY_PICK(__VA_ARGS__, INGOT_TRY_MANY, INGOT_TRY_MANY, INGOT_TRY_MANY, INGOT_TRY_MANY, \
                 INGOT_TRY_MANY, INGOT_TRY_MANY, INGOT_TRY_ONE, )                             \
  (__VA_ARGS__)
#define INGOT_TRY_PICK(a, b, c, d, e, f, g, name, ...) name
#define INGOT_TRY_ONE(expression)                                             \
  do {                                                                        \
    if (auto ingot_status = (expression); !ingot_status.is_ok()) [[unlikely]] \
      return ::ingot::as_status(ingot_status);                                \
  } while (false)
#define INGOT_TRY_MANY(declaration, ...) \
  INGOT_TRY_NAMED(INGOT_TRY_CAT(ingot_result_, __LINE__), declaration, (__VA_ARGS__))
// NOLINTBEGIN(bugprone-macro-parentheses): names and declarations cannot stand in parentheses
#define INGOT_TRY_NAMED(name, declaration, expression) \
  auto name = expression;                              \
  if (!name.is_ok()) [[unlikely]]                      \
    return ::ingot::as_status(name);                   \
  declaration = *std::move(name)
// NOLINTEND(bugprone-macro-parentheses)
#define INGOT_TRY_CAT(a, b) INGOT_TRY_CAT2(a, b)
#define INGOT_TRY_CAT2(a, b) a##b
