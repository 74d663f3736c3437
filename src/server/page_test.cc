// SPDX-License-Identifier: Apache-2.0
#include "server/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ingot {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string policy() {
  for (const auto& [name, value] : web_page_head().headers) {
    if (name == "Content-Security-Policy") return value;
  }
  return {};
}

TEST(Page, IsOneWholeDocument) {
  EXPECT_THAT(web_page(), StartsWith("<!doctype html>"));
  EXPECT_TRUE(web_page().ends_with("</html>\n"));
}

TEST(Page, FetchesNothing) {
  EXPECT_THAT(web_page(), Not(HasSubstr("<script src")));
  EXPECT_THAT(web_page(), Not(HasSubstr("rel=\"stylesheet\"")));
  EXPECT_THAT(web_page(), Not(HasSubstr("@import")));
  EXPECT_THAT(web_page(), Not(HasSubstr("innerHTML")));
}

TEST(Page, TravelsWithAPolicyOfHashesOnly) {
  EXPECT_THAT(policy(), StartsWith("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(policy(), HasSubstr("style-src 'sha256-"));
  EXPECT_THAT(policy(), HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(policy(), Not(HasSubstr("unsafe")));
  EXPECT_THAT(policy(), Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace ingot
