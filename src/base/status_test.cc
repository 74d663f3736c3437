// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace ingot {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return Status::invalid_argument("{} is odd", value);
  return value / 2;
}

Result<int> quarter(int value) {
  INGOT_TRY(const int first, half(value));
  INGOT_TRY(const int second, half(first));
  return second;
}

Status check_even(int value) {
  INGOT_TRY(half(value));
  return Status::ok();
}

Result<std::unique_ptr<int>> boxed(int value) {
  INGOT_TRY(const int result, half(value));
  return std::make_unique<int>(result);
}

TEST(Status, IsOkByDefaultAndCarriesCodeAndMessage) {
  EXPECT_TRUE(Status().is_ok());
  EXPECT_EQ(Status::ok().message(), "");
  const Status status = Status::not_found("{}: no '{}'", "a.gguf", "x");
  EXPECT_FALSE(status.is_ok());
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "a.gguf: no 'x'");
}

TEST(Status, PutsContextInFront) {
  EXPECT_EQ(Status::io("full").with_context("a.gguf").message(), "a.gguf: full");
  EXPECT_EQ(Status::io("full").with_context("a.gguf").code(), StatusCode::kIo);
  EXPECT_TRUE(Status::ok().with_context("a.gguf").is_ok());
}

TEST(Status, EveryCodeHasAName) {
  for (int code = 0; code <= static_cast<int>(StatusCode::kInternal); ++code) {
    EXPECT_NE(to_string(static_cast<StatusCode>(code)), "unknown");
  }
}

TEST(Result, TryUnwrapsValuesAndPassesErrorsOn) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).status().message(), "3 is odd");
  EXPECT_EQ(quarter(5).status().message(), "5 is odd");
  EXPECT_TRUE(check_even(2).is_ok());
  EXPECT_EQ(check_even(1).code(), StatusCode::kInvalidArgument);
}

TEST(Result, HoldsTypesThatOnlyMove) {
  std::unique_ptr<int> value = *boxed(8);
  EXPECT_EQ(*value, 4);
}

TEST(ResultDeathTest, StopsWhenAnErrorIsTakenForAValue) {
  EXPECT_DEATH(static_cast<void>(*half(3)), "3 is odd");
}

TEST(Status, CatchesLibraryExceptions) {
  const auto thrown =
      catching(StatusCode::kInvalidData, []() -> int { throw std::runtime_error("broken"); });
  EXPECT_EQ(thrown.status().code(), StatusCode::kInvalidData);
  EXPECT_EQ(thrown.status().message(), "broken");
  const auto starved = catching(StatusCode::kInvalidData, []() -> int { throw std::bad_alloc(); });
  EXPECT_EQ(starved.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(*catching(StatusCode::kIo, [] { return 7; }), 7);
}

}  // namespace
}  // namespace ingot
