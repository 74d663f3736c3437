// SPDX-License-Identifier: Apache-2.0
#include "engine/host_tier.h"

#include <gmock/gmock.h>

namespace ingot {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

StoredPage page_of(TokenId token, uint32_t group = 0) {
  StoredPage page;
  page.space = page.parent = namespace_key({});
  page.tokens = {token};
  page.id = {.key = child_key(page.parent, page.tokens), .group = group};
  return page;
}

std::vector<std::byte> filled(int value, size_t size = 10) {
  return std::vector<std::byte>(size, static_cast<std::byte>(value));
}

bool loads(PageStore& store, const StoredPage& page, int value) {
  std::vector<std::byte> out(10);
  return store.load(page, out) && out == filled(value);
}

TEST(HostTier, GivesBackWhatItWasGiven) {
  HostTier host(100, nullptr);
  EXPECT_TRUE(host.put(page_of(1), filled(1)));
  EXPECT_TRUE(host.put(page_of(1, 1), filled(2)));
  EXPECT_TRUE(loads(host, page_of(1), 1));
  EXPECT_TRUE(loads(host, page_of(1, 1), 2));
  EXPECT_FALSE(loads(host, page_of(2), 1));
  EXPECT_EQ(host.size_bytes(), 20);
  host.erase(page_of(1).id);
  EXPECT_FALSE(loads(host, page_of(1), 1));
  EXPECT_THAT(host.take_dropped(), IsEmpty());
}

TEST(HostTier, ComparesTheTokensAndNotTheKeyAlone) {
  HostTier host(100, nullptr);
  EXPECT_TRUE(host.put(page_of(1), filled(1)));
  StoredPage twin = page_of(1);
  twin.tokens = {2};
  EXPECT_FALSE(host.put(twin, filled(2)));
  EXPECT_FALSE(loads(host, twin, 1));
  EXPECT_TRUE(loads(host, page_of(1), 1));
}

TEST(HostTier, DropsTheLeastRecentlyUsedAndSaysSo) {
  HostTier host(30, nullptr);
  for (TokenId i = 1; i <= 3; ++i)
    EXPECT_TRUE(host.put(page_of(i), filled(i)));
  EXPECT_TRUE(loads(host, page_of(1), 1));
  EXPECT_TRUE(host.put(page_of(4), filled(4)));
  EXPECT_THAT(host.take_dropped(), ElementsAre(page_of(2).id));
  EXPECT_THAT(host.take_dropped(), IsEmpty());
  EXPECT_TRUE(loads(host, page_of(1), 1));
  EXPECT_EQ(host.size_bytes(), 30);
}

TEST(HostTier, RefusesWhatIsLargerThanItself) {
  HostTier host(5, nullptr);
  EXPECT_FALSE(host.put(page_of(1), filled(1)));
  EXPECT_EQ(host.pages(), 0);
}

TEST(HostTier, PassesOnToTheNextTier) {
  HostTier below(20, nullptr);
  HostTier host(10, &below);
  for (TokenId i = 1; i <= 4; ++i)
    EXPECT_TRUE(host.put(page_of(i), filled(i)));
  EXPECT_THAT(host.take_dropped(), ElementsAre(page_of(1).id));
  EXPECT_TRUE(loads(host, page_of(2), 2));
  EXPECT_TRUE(loads(host, page_of(4), 4));
  EXPECT_EQ(host.list().size(), 3);
  host.flush();
  EXPECT_TRUE(loads(below, page_of(4), 4));
}

}  // namespace
}  // namespace ingot
