// SPDX-License-Identifier: Apache-2.0
// Status and Result: how every fallible function reports. Messages name the thing, the numbers and
// the next move.
#pragma once

#include <fmt/core.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace ingot {

[[noreturn]] void check_failed(const char* file, int line, const char* what);

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
    if (std::get<Status>(state_).is_ok()) check_failed(__FILE__, __LINE__, "an error that is ok");
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

}  // namespace ingot
