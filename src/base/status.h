// SPDX-License-Identifier: Apache-2.0
// Status and Result: how every fallible function reports. Wrong input is a Status; wrong code is a
// CHECK (base/check.h). Messages name the thing, the numbers and the next move.
#pragma once

#include <fmt/core.h>

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"

namespace ingot {

enum class StatusCode {
  kOk,
  kInvalidData,        // a file or request that breaks its own format
  kInvalidArgument,    // a flag or call argument out of range
  kNotFound,           // no such file, tensor, model
  kUnsupported,        // well-formed, but not something this build can do
  kResourceExhausted,  // a limit of limits.h, memory, disk
  kCancelled,
  kIo,       // the operating system refused
  kRefused,  // a template or policy said no
  kInternal,
};

std::string_view to_string(StatusCode code);

// Ok is one null pointer, so passing success around costs nothing. Immutable.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message);

  static Status ok() { return {}; }
  template <class... Args>
  static Status invalid_data(fmt::format_string<Args...> format, Args&&... args) {
    return {StatusCode::kInvalidData, fmt::format(format, std::forward<Args>(args)...)};
  }
  template <class... Args>
  static Status invalid_argument(fmt::format_string<Args...> format, Args&&... args) {
    return {StatusCode::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...)};
  }
  template <class... Args>
  static Status not_found(fmt::format_string<Args...> format, Args&&... args) {
    return {StatusCode::kNotFound, fmt::format(format, std::forward<Args>(args)...)};
  }
  template <class... Args>
  static Status unsupported(fmt::format_string<Args...> format, Args&&... args) {
    return {StatusCode::kUnsupported, fmt::format(format, std::forward<Args>(args)...)};
  }
  template <class... Args>
  static Status resource_exhausted(fmt::format_string<Args...> format, Args&&... args) {
    return {StatusCode::kResourceExhausted, fmt::format(format, std::forward<Args>(args)...)};
  }
  template <class... Args>
  static Status cancelled(fmt::format_string<Args...> format, Args&&... args) {
    return {StatusCode::kCancelled, fmt::format(format, std::forward<Args>(args)...)};
  }
  template <class... Args>
  static Status io(fmt::format_string<Args...> format, Args&&... args) {
    return {StatusCode::kIo, fmt::format(format, std::forward<Args>(args)...)};
  }
  template <class... Args>
  static Status refused(fmt::format_string<Args...> format, Args&&... args) {
    return {StatusCode::kRefused, fmt::format(format, std::forward<Args>(args)...)};
  }
  template <class... Args>
  static Status internal(fmt::format_string<Args...> format, Args&&... args) {
    return {StatusCode::kInternal, fmt::format(format, std::forward<Args>(args)...)};
  }

  bool is_ok() const { return state_ == nullptr; }
  explicit operator bool() const { return is_ok(); }
  StatusCode code() const { return state_ ? state_->code : StatusCode::kOk; }
  const std::string& message() const;
  // The same error with "context: " in front, for callers that know the file or the tensor.
  Status with_context(std::string_view context) const;

 private:
  struct State {
    StatusCode code;
    std::string message;
  };
  std::shared_ptr<const State> state_;  // shared and immutable: copying an error is cheap
};

// Either a value or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  using Value = T;
  Result(T value) : state_(std::move(value)) {}  // NOLINT(google-explicit-constructor): `return x;`
  Result(Status status) : state_(std::move(status)) {  // NOLINT(google-explicit-constructor): same
    INGOT_CHECK(!std::get<Status>(state_).is_ok());
  }

  bool is_ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return is_ok(); }
  const T& value() const& { return checked(); }
  T& value() & { return const_cast<T&>(checked()); }
  T&& value() && { return std::move(const_cast<T&>(checked())); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }
  Status status() const { return is_ok() ? Status::ok() : std::get<Status>(state_); }

 private:
  const T& checked() const {
    const T* value = std::get_if<T>(&state_);
    if (value == nullptr)
      check_failed(__FILE__, __LINE__, std::get<Status>(state_).message().c_str());
    return *value;
  }
  std::variant<T, Status> state_;
};

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
