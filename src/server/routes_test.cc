// SPDX-License-Identifier: Apache-2.0
#include "server/routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "api/openapi.h"
#include "server/server.h"

namespace ingot {
namespace {

// "/v1/models/{model}" as the table of routes spells it.
std::string pattern_of(std::string_view path) {
  const size_t brace = path.find('{');
  return std::string(path.substr(0, brace)) + (brace == std::string_view::npos ? "" : "*");
}

TEST(Routes, AllAreDocumentedAsTheyAre) {
  for (const Route& route : routes()) {
    if (route.path == "/") continue;  // a page for people
    const auto found = std::ranges::find_if(api_routes(), [&](const ApiRoute& told) {
      return told.method == route.method && pattern_of(told.path) == route.path;
    });
    EXPECT_NE(found, api_routes().end()) << route.method << " " << route.path;
    if (found == api_routes().end()) continue;
    EXPECT_EQ(found->is_public, route.access == Route::Access::kPublic) << route.path;
  }
}

TEST(Routes, WhatIsDocumentedIsAnswered) {
  for (const ApiRoute& told : api_routes()) {
    EXPECT_TRUE(std::ranges::any_of(routes(),
                                    [&](const Route& route) {
                                      return told.method == route.method &&
                                             pattern_of(told.path) == route.path;
                                    }))
        << told.method << " " << told.path;
  }
}

}  // namespace
}  // namespace ingot
