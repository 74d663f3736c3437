// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_limits.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/numa.h"
#include "base/test_machine.h"

namespace ingot {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CpuList, ReadsNumbersAndRanges) {
  EXPECT_THAT(*parse_cpu_list("0-3,8\n"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(*parse_cpu_list("5,1-2,2"), ElementsAre(1, 2, 5));
  EXPECT_THAT(*parse_cpu_list(""), IsEmpty());
}

TEST(CpuList, RefusesWhatIsNone) {
  for (const char* text : {"x", "1-", "-1", "3-1", "1,,2", "0-99999999", "1 2"})
    EXPECT_FALSE(parse_cpu_list(text).is_ok()) << text;
}

TEST(UsableCores, CountsCoresAndNotTheirHardwareThreads) {
  TestMachine machine;
  for (int cpu = 0; cpu < 4; ++cpu) {  // cores {0, 4}, {1, 5} ...
    for (const int sibling : {cpu, cpu + 4}) {
      machine.write(
          fmt::format("sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", sibling),
          fmt::format("{},{}\n", cpu, cpu + 4));
    }
  }
  EXPECT_EQ(count_usable_cores({0, 1, 2, 3, 4, 5, 6, 7}, machine.root()), 4);
  EXPECT_THAT(one_per_core({0, 1, 2, 3, 4, 5, 6, 7}, machine.root()), ElementsAre(0, 1, 2, 3));
  // A mask with one of two siblings has that core all the same.
  EXPECT_THAT(one_per_core({3, 4, 5, 7}, machine.root()), ElementsAre(3, 4, 5));
}

TEST(UsableCores, CountsAllWhereTheMachineSaysNothing) {
  const TestMachine machine;
  EXPECT_EQ(count_usable_cores({0, 1, 2}, machine.root()), 3);
  EXPECT_EQ(count_usable_cores({}, machine.root()), 1);
}

TEST(UsableCores, ObeysTheQuotaOfItsControlGroupAndThoseAround) {
  TestMachine machine;
  machine.write("proc/self/cgroup", "0::/pods/one/task\n");
  machine.write("sys/fs/cgroup/pods/cpu.max", "300000 100000\n");
  machine.write("sys/fs/cgroup/pods/one/cpu.max", "max 100000\n");
  machine.write("sys/fs/cgroup/pods/one/task/cpu.max", "800000 100000\n");
  EXPECT_DOUBLE_EQ(cgroup_quota(machine.root()), 3);
  EXPECT_EQ(count_usable_cores({0, 1, 2, 3, 4, 5}, machine.root()), 3);
  machine.write("sys/fs/cgroup/pods/one/cpu.max", "50000 100000\n");
  EXPECT_EQ(count_usable_cores({0, 1, 2, 3}, machine.root()), 1);
}

TEST(UsableCores, FindsTheQuotaOfAContainer) {
  TestMachine machine;  // the group's path is the host's, the mount is the container's own
  machine.write("proc/self/cgroup", "0::/../../kubepods/pod7\n");
  machine.write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(count_usable_cores({0, 1, 2, 3}, machine.root()), 2);
}

TEST(UsableCores, ReadsControlGroupsOfVersionOne) {
  TestMachine machine;
  machine.write("proc/self/cgroup", "5:memory:/docker/a\n4:cpu,cpuacct:/docker/a\n0::/\n");
  machine.write("sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_quota_us", "250000\n");
  machine.write("sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.cfs_period_us", "100000\n");
  machine.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  machine.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(cgroup_quota(machine.root()), 2.5);
}

TEST(UsableCores, SurvivesBrokenFiles) {
  TestMachine machine;
  machine.write("proc/self/cgroup", "\n:\n0:\nx::\n0::/\n");
  machine.write("sys/fs/cgroup/cpu.max", "much\n");
  machine.write("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-\n");
  EXPECT_EQ(count_usable_cores({0, 1}, machine.root()), 2);
}

TEST(Numa, FindsTheNodesOfTheProcessorsWeMayUse) {
  TestMachine machine;
  machine.write("sys/devices/system/node/node0/cpulist", "0-3\n");
  machine.write("sys/devices/system/node/node1/cpulist", "4-7\n");
  machine.write("sys/devices/system/node/node10/cpulist", "\n");  // memory alone
  machine.write("sys/devices/system/node/possible", "0-1\n");
  const std::vector<NumaNode> nodes = numa_nodes({1, 2, 3, 4, 5}, machine.root());
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[1].id, 1);
  EXPECT_THAT(nodes[0].cpus, ElementsAre(1, 2, 3));
  EXPECT_THAT(nodes[1].cpus, ElementsAre(4, 5));
  EXPECT_THAT(numa_nodes({1, 2}, machine.root()), IsEmpty()) << "one node needs no placing";
  EXPECT_THAT(numa_nodes({1, 2}, machine.root() / "nothing"), IsEmpty());
}

TEST(Numa, PutsNeighboursOnOneNode) {
  const std::vector<NumaNode> even = {{0, {0, 1, 2, 3}}, {1, {4, 5, 6, 7}}};
  EXPECT_THAT(place_threads(8, even), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_THAT(place_threads(4, even), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(place_threads(3, even), ElementsAre(0, 0, 1));
  const std::vector<NumaNode> uneven = {{0, {0, 1, 2}}, {2, {3}}};
  EXPECT_THAT(place_threads(4, uneven), ElementsAre(0, 0, 0, 1));
}

TEST(Numa, KnowsItsModes) {
  EXPECT_EQ(*parse_numa_mode("auto"), NumaMode::kAuto);
  EXPECT_EQ(*parse_numa_mode("off"), NumaMode::kOff);
  EXPECT_FALSE(parse_numa_mode("distribute").is_ok());
}

}  // namespace
}  // namespace ingot
