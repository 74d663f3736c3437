// SPDX-License-Identifier: Apache-2.0
#include "engine/page_pool.h"

#include <gmock/gmock.h>

namespace ingot {
namespace {

TEST(PagePool, GivesEveryPageOnceAndThenNone) {
  PagePool pool(3);
  EXPECT_EQ(pool.take(), 0);
  EXPECT_EQ(pool.take(), 1);
  EXPECT_EQ(pool.take(), 2);
  EXPECT_EQ(pool.take(), std::nullopt);
  EXPECT_EQ(pool.free_pages(), 0);
  EXPECT_EQ(pool.size(), 3);
}

TEST(PagePool, FreesAPageWithItsLastReferenceAndReusesItFirst) {
  PagePool pool(4);
  const PageId a = *pool.take();
  const PageId b = *pool.take();
  pool.add_reference(a);
  pool.release(b);
  pool.release(a);
  EXPECT_EQ(pool.references(a), 1);
  EXPECT_EQ(pool.free_pages(), 3);
  pool.release(a);
  EXPECT_EQ(pool.references(a), 0);
  EXPECT_EQ(pool.take(), a);
}

class Recorder : public PageWatcher {
 public:
  void page_became_idle(PageId id) override { events.push_back(id); }
  void page_became_busy(PageId id) override { events.push_back(-id); }
  std::vector<PageId> events;
};

TEST(PagePool, TellsTheWatcherWhenOnlyTheHolderIsLeft) {
  PagePool pool(4);
  Recorder recorder;
  pool.set_watcher(&recorder);
  (void)pool.take();
  const PageId id = *pool.take();
  pool.hold(id);
  EXPECT_FALSE(pool.is_idle(id));
  pool.add_reference(id);
  pool.release(id);
  EXPECT_THAT(recorder.events, testing::IsEmpty());
  pool.release(id);
  EXPECT_TRUE(pool.is_idle(id));
  pool.add_reference(id);
  EXPECT_THAT(recorder.events, testing::ElementsAre(id, -id));
  EXPECT_EQ(pool.held_pages(), 1);
  pool.unhold(id);
  EXPECT_EQ(pool.references(id), 1);
  pool.release(id);
  EXPECT_EQ(pool.free_pages(), 3);
}

TEST(PagePoolDeathTest, StopsOnMisuse) {
  PagePool pool(2);
  const PageId id = *pool.take();
  EXPECT_DEATH(pool.release(id + 1), "references > 0");
  EXPECT_DEATH(pool.release(kNoPage), "id >= 0");
  EXPECT_DEATH(pool.add_reference(2), "size");
  pool.hold(id);
  EXPECT_DEATH(pool.hold(id), "is_held");
  pool.release(id);
  EXPECT_DEATH(pool.release(id), "is_held");  // the tree's reference is not the caller's to drop
}

}  // namespace
}  // namespace ingot
