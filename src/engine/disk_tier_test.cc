// SPDX-License-Identifier: Apache-2.0
#include "engine/disk_tier.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <numeric>

#include "engine/disk_page.h"
#include "engine/host_tier.h"
#include "engine/prefix_simulation.h"

namespace ingot {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr uint64_t kPageBytes = 4 * sizeof(uint64_t);

class DiskTierTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() /
                 fmt::format("ingot_disk_tier_{}_{}", ::getpid(),
                             testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  DiskTierOptions options() const {
    DiskTierOptions options;
    options.directory = directory_;
    options.limit_bytes = 1 << 20;
    options.page_tokens = 4;
    options.layout = "test";
    options.page_bytes = {kPageBytes, kPageBytes};
    return options;
  }
  std::unique_ptr<DiskTier> open() const { return *DiskTier::open(options()); }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      found.push_back(entry.path());
    return found;
  }

  std::filesystem::path directory_;
};

StoredPage page_of(TokenId token, uint32_t group = 0) {
  StoredPage page;
  page.space = page.parent = namespace_key({});
  page.tokens = {token};
  page.id = {.key = child_key(page.parent, page.tokens), .group = group};
  return page;
}

std::vector<std::byte> filled(int value) {
  return std::vector<std::byte>(kPageBytes, static_cast<std::byte>(value));
}

bool loads(PageStore& store, const StoredPage& page, int value) {
  std::vector<std::byte> out(kPageBytes);
  return store.load(page, out) && out == filled(value);
}

std::vector<TokenId> count_up(TokenId from, int64_t count) {
  std::vector<TokenId> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), from);
  return tokens;
}

TEST_F(DiskTierTest, FindsItsPagesAgainAfterARestart) {
  {
    const auto disk = open();
    EXPECT_TRUE(disk->put(page_of(1), filled(1)));
    EXPECT_TRUE(disk->put(page_of(1, 1), filled(2)));
    EXPECT_TRUE(loads(*disk, page_of(1), 1));  // written or not
  }
  const auto disk = open();
  EXPECT_THAT(disk->list(), testing::UnorderedElementsAre(page_of(1), page_of(1, 1)));
  EXPECT_TRUE(loads(*disk, page_of(1), 1));
  EXPECT_TRUE(loads(*disk, page_of(1, 1), 2));
  EXPECT_FALSE(loads(*disk, page_of(2), 1));
  EXPECT_EQ(disk->size_bytes(),
            std::filesystem::file_size(files()[0]) + std::filesystem::file_size(files()[1]));
}

TEST_F(DiskTierTest, LeavesFilesOfOtherModelsAlone) {
  {
    const auto disk = open();
    EXPECT_TRUE(disk->put(page_of(1), filled(1)));
  }
  for (int change = 0; change < 4; ++change) {
    DiskTierOptions other = options();
    if (change == 0) other.fingerprint[31] = 1;
    if (change == 1) other.layout = "other";
    if (change == 2) other.page_tokens = 8;
    if (change == 3) other.page_bytes = {kPageBytes + 1};
    const auto disk = *DiskTier::open(other);
    EXPECT_EQ(disk->pages(), 0) << change;
    EXPECT_FALSE(loads(*disk, page_of(1), 1)) << change;
  }
  EXPECT_TRUE(loads(*open(), page_of(1), 1));
}

TEST_F(DiskTierTest, IgnoresAndRemovesBrokenFiles) {
  for (int damage = 0; damage < 4; ++damage) {
    {
      const auto disk = open();
      EXPECT_TRUE(disk->put(page_of(1), filled(1)));
    }
    const std::filesystem::path path = directory_ / disk_page_name(page_of(1).id);
    const uint64_t size = std::filesystem::file_size(path);
    if (damage == 0) std::filesystem::resize_file(path, size - 1);
    if (damage == 1) std::filesystem::resize_file(path, 0);
    if (damage == 2) std::filesystem::resize_file(path, 100);
    if (damage == 3) std::filesystem::rename(path, directory_ / disk_page_name(page_of(2).id));
    const auto disk = open();
    EXPECT_EQ(disk->pages(), 0) << damage;
    EXPECT_THAT(files(), IsEmpty()) << damage;
  }
}

TEST_F(DiskTierTest, RefusesAPayloadThatRotted) {
  {
    const auto disk = open();
    EXPECT_TRUE(disk->put(page_of(1), filled(1)));
  }
  {
    std::fstream file(directory_ / disk_page_name(page_of(1).id));
    file.seekp(-1, std::ios::end);
    file.put('x');
  }
  const auto disk = open();
  EXPECT_EQ(disk->pages(), 1);  // only the header is read at the start
  EXPECT_FALSE(loads(*disk, page_of(1), 1));
  disk->flush();
  EXPECT_THAT(files(), IsEmpty());
  EXPECT_TRUE(disk->put(page_of(1), filled(1)));  // and can be kept again
  EXPECT_TRUE(loads(*disk, page_of(1), 1));
}

TEST_F(DiskTierTest, TouchesNothingThatIsNotItsOwn) {
  std::filesystem::create_directories(directory_);
  std::ofstream(directory_ / "notes.txt") << "mine";
  std::ofstream(directory_ / "short-0.kvpage") << "mine";
  const std::string name = disk_page_name(page_of(1).id);
  std::filesystem::create_symlink("notes.txt", directory_ / name);
  ASSERT_EQ(::mkfifo((directory_ / disk_page_name(page_of(2).id)).c_str(), 0600), 0);
  std::ofstream(directory_ / (disk_page_name(page_of(3).id) + ".partial")) << "left behind";
  const auto disk = open();
  EXPECT_EQ(disk->pages(), 0);
  EXPECT_THAT(files(), SizeIs(4));  // all but the part that was left behind
  EXPECT_EQ(std::filesystem::file_size(directory_ / "notes.txt"), 4);
}

TEST_F(DiskTierTest, KeepsItsBytesBounded) {
  DiskTierOptions small = options();
  {
    const auto disk = open();
    EXPECT_TRUE(disk->put(page_of(0), filled(0)));
    disk->flush();
    small.limit_bytes = 3 * disk->size_bytes();
  }
  {
    const auto disk = *DiskTier::open(small);
    for (TokenId i = 1; i < 6; ++i) {
      EXPECT_TRUE(disk->put(page_of(i), filled(i)));
      disk->flush();
      EXPECT_TRUE(loads(*disk, page_of(1), 1)) << i;  // in use, so it stays
    }
    EXPECT_LE(disk->size_bytes(), small.limit_bytes);
    EXPECT_THAT(disk->take_dropped(), SizeIs(3));
    EXPECT_THAT(files(), SizeIs(3));
    EXPECT_TRUE(loads(*disk, page_of(5), 5));
  }
  small.limit_bytes /= 3;
  EXPECT_EQ((*DiskTier::open(small))->pages(), 1);
  EXPECT_THAT(files(), SizeIs(1));
}

TEST_F(DiskTierTest, GoesOnWithoutADirectoryItCannotUse) {
  std::ofstream(directory_) << "a file where the directory should be";
  const auto disk = open();
  EXPECT_FALSE(disk->put(page_of(1), filled(1)));
  EXPECT_FALSE(loads(*disk, page_of(1), 1));
  EXPECT_THAT(disk->list(), IsEmpty());
  disk->flush();
}

TEST_F(DiskTierTest, DropsPagesThatTheDiskRefuses) {
  const auto disk = open();
  EXPECT_TRUE(disk->put(page_of(1), filled(1)));
  disk->flush();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit full{.rlim_cur = 100, .rlim_max = before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  const bool is_queued = disk->put(page_of(2), filled(2));
  disk->flush();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(is_queued);
  EXPECT_THAT(disk->take_dropped(), testing::ElementsAre(page_of(2).id));
  EXPECT_FALSE(loads(*disk, page_of(2), 2));
  EXPECT_THAT(files(), SizeIs(1));  // nothing is left of the attempt
  EXPECT_TRUE(loads(*disk, page_of(1), 1));
  EXPECT_TRUE(disk->put(page_of(2), filled(2)));  // there is space again
  disk->flush();
  EXPECT_THAT(files(), SizeIs(2));
}

TEST_F(DiskTierTest, StopsWritingWhenTheDiskKeepsRefusing) {
  const auto disk = open();
  std::filesystem::remove_all(directory_);
  int refused = 0;
  for (TokenId i = 0; i < 20; ++i) {
    refused += disk->put(page_of(i), filled(i)) ? 0 : 1;
    disk->flush();
  }
  EXPECT_EQ(refused, 12);
  EXPECT_EQ(disk->pages(), 0);
}

TEST_F(DiskTierTest, DropsPagesWhenTheWriterFallsBehind) {
  DiskTierOptions narrow = options();
  narrow.queue_pages = 2;
  const auto disk = *DiskTier::open(narrow);
  int kept = 0;
  for (TokenId i = 0; i < 1000; ++i)
    kept += disk->put(page_of(i), filled(i % 100)) ? 1 : 0;
  EXPECT_GE(kept, 2);
  disk->flush();
  EXPECT_THAT(files(), SizeIs(kept));
}

// For the thread sanitizer: both threads at work on the same pages.
TEST_F(DiskTierTest, ReadsErasesAndRewritesWhileTheWriterWrites) {
  DiskTierOptions small = options();
  small.limit_bytes = uint64_t{20} * 300;
  const auto disk = *DiskTier::open(small);
  for (uint64_t i = 0; i < 3000; ++i) {
    const auto token = static_cast<TokenId>(random_bits(1, 2 * i) % 40);
    switch (random_bits(1, 2 * i + 1) % 4) {
      case 0:
        disk->erase(page_of(token).id);
        break;
      case 1:
        (void)disk->take_dropped();
        break;
      case 2: {
        std::vector<std::byte> out(kPageBytes);
        if (disk->load(page_of(token), out)) {
          ASSERT_EQ(out, filled(token));
        }
        break;
      }
      default:
        (void)disk->put(page_of(token), filled(token));
        break;
    }
  }
  disk->flush();
  EXPECT_LE(disk->size_bytes(), small.limit_bytes);
  EXPECT_EQ(files().size(), disk->pages());
}

TEST_F(DiskTierTest, CarriesTheTreeOverARestart) {
  const PrefixNamespace space{.salt = "tenant"};
  FakeCache::Options shape{.pages = {16, 16}, .windows = {0, 6}};
  {
    const auto disk = open();
    HostTier host(4 * kPageBytes, disk.get());
    shape.store = &host;
    FakeCache cache(shape);
    ASSERT_TRUE(cache.run(space, count_up(0, 22)));
    ASSERT_TRUE(cache.run(space, count_up(0, 10)));
    cache.tree->evict(0, 3);
    cache.tree->save();
  }
  const auto disk = open();
  HostTier host(4 * kPageBytes, disk.get());
  shape.store = &host;
  FakeCache cache(shape);
  cache.tree->restore();
  EXPECT_EQ(cache.tree->stats().nodes, 6);
  PrefixMatch match = cache.tree->match(space, count_up(0, 30), 30);
  EXPECT_EQ(match.tokens, 22);
  EXPECT_GE(match.loaded_pages, 6);
  const std::vector<uint64_t> values = slot_values(space, count_up(0, 22));
  for (int64_t at = 0; at < 22; ++at) {
    const PageId id = at < 20 ? match.pages[0][static_cast<size_t>(at / 4)] : match.partial[0];
    EXPECT_EQ(cache.memory.slot(0, id, at % 4), values[static_cast<size_t>(at)]);
  }
  cache.tree->release(match);
  PrefixMatch none = cache.tree->match({}, count_up(0, 30), 30);
  EXPECT_EQ(none.tokens, 0);
  cache.tree->release(none);
}

TEST_F(DiskTierTest, RestoreErasesPagesWithoutParents) {
  const PrefixNamespace space;
  {
    const auto disk = open();
    FakeCache cache({.pages = {16}, .windows = {0}, .store = disk.get()});
    ASSERT_TRUE(cache.run(space, count_up(0, 16)));
    cache.tree->save();
  }
  const PageKey second = child_key(child_key(namespace_key(space), count_up(0, 4)), count_up(4, 4));
  std::filesystem::remove(directory_ / disk_page_name({.key = second, .group = 0}));
  const auto disk = open();
  FakeCache cache({.pages = {16}, .windows = {0}, .store = disk.get()});
  cache.tree->restore();
  EXPECT_EQ(cache.tree->stats().nodes, 1);
  disk->flush();
  EXPECT_THAT(files(), SizeIs(1));
}

}  // namespace
}  // namespace ingot
