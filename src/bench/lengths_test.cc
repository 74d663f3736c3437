// SPDX-License-Identifier: Apache-2.0
#include "bench/lengths.h"

#include <gtest/gtest.h>

#include <set>

namespace ingot {
namespace {

TEST(Lengths, ParsesANumberARangeAndAList) {
  EXPECT_EQ(parse_lengths("128", "--input-len", 1)->draw(7, 3), 128);
  const Lengths range = *parse_lengths("3:5", "--input-len", 1);
  const Lengths list = *parse_lengths("10,20,40", "--input-len", 1);
  std::set<int64_t> from_range;
  std::set<int64_t> from_list;
  for (uint64_t i = 0; i < 200; ++i) {
    from_range.insert(range.draw(1, i));
    from_list.insert(list.draw(1, i));
  }
  EXPECT_EQ(from_range, (std::set<int64_t>{3, 4, 5}));
  EXPECT_EQ(from_list, (std::set<int64_t>{10, 20, 40}));
  for (const char* text : {"128", "3:5", "10,20,40"})
    EXPECT_EQ(parse_lengths(text, "x", 1)->to_string(), text);
}

TEST(Lengths, DrawsTheSameForTheSameSeed) {
  const Lengths range = *parse_lengths("1:1000000", "x", 1);
  EXPECT_EQ(range.draw(5, 9), range.draw(5, 9));
  EXPECT_NE(range.draw(5, 9), range.draw(6, 9));
  EXPECT_NE(range.draw(5, 9), range.draw(5, 10));
}

TEST(Lengths, DrawsEvenly) {
  const Lengths range = *parse_lengths("0:9", "x", 0);
  std::vector<int> counts(10);
  for (uint64_t i = 0; i < 10000; ++i)
    ++counts[static_cast<size_t>(range.draw(11, i))];
  for (const int count : counts) {  // 1000 each, deviation 30: five of them
    EXPECT_GT(count, 850);
    EXPECT_LT(count, 1150);
  }
}

TEST(Lengths, RefusesWhatIsNoLengthAndNamesTheFlag) {
  for (const char* text : {"", "a", "-1", "0", "5:3", "3:", ":3", "1,,2", "1,", "1.5", "3:4:5",
                           "99999999999999999999", "2000000000"}) {
    const Result<Lengths> result = parse_lengths(text, "--input-len", 1);
    ASSERT_FALSE(result.is_ok()) << text;
    EXPECT_NE(result.status().message().find("--input-len"), std::string::npos);
  }
}

TEST(Numbers, ParsesAList) {
  EXPECT_EQ(*parse_numbers("1,2,4,8", "-b", 1), (std::vector<int64_t>{1, 2, 4, 8}));
  EXPECT_FALSE(parse_numbers("1,2:4", "-b", 1).is_ok());
}

}  // namespace
}  // namespace ingot
