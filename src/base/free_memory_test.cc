// SPDX-License-Identifier: Apache-2.0
#include "base/free_memory.h"

#include <gtest/gtest.h>

#include "base/test_machine.h"

namespace ingot {
namespace {

constexpr uint64_t kMiB = 1 << 20;

TEST(FreeMemory, IsWhatTheMachineSays) {
  const TestMachine machine;
  EXPECT_EQ(free_memory_bytes(machine.root()), 0U);
  machine.write("proc/meminfo", "MemTotal: 9000000 kB\nMemFree: 5 kB\nMemAvailable: 1048576 kB\n");
  EXPECT_EQ(free_memory_bytes(machine.root()), 1024 * kMiB);
}

TEST(FreeMemory, ObeysTheLimitsOfItsControlGroupAndThoseAround) {
  const TestMachine machine;
  machine.write("proc/meminfo", "MemAvailable: 1048576 kB\n");
  machine.write("proc/self/cgroup", "0::/pods/one\n");
  machine.write("sys/fs/cgroup/pods/one/memory.max", "max\n");
  machine.write("sys/fs/cgroup/pods/one/memory.current", "104857600\n");
  EXPECT_EQ(free_memory_bytes(machine.root()), 1024 * kMiB);
  machine.write("sys/fs/cgroup/pods/memory.max", "314572800\n");
  machine.write("sys/fs/cgroup/pods/memory.current", "209715200\n");
  EXPECT_EQ(free_memory_bytes(machine.root()), 100 * kMiB);
  // Files in memory can go.
  machine.write("sys/fs/cgroup/pods/memory.stat",
                "anon 104857600\ninactive_file 41943040\nactive_file 62914560\n");
  EXPECT_EQ(free_memory_bytes(machine.root()), 200 * kMiB);
}

TEST(FreeMemory, ReadsControlGroupsOfVersionOne) {
  const TestMachine machine;
  machine.write("proc/meminfo", "MemAvailable: 1048576 kB\n");
  machine.write("proc/self/cgroup", "5:memory:/docker/a\n4:cpu,cpuacct:/docker/a\n");
  machine.write("sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes", "209715200\n");
  machine.write("sys/fs/cgroup/memory/docker/a/memory.usage_in_bytes", "314572800\n");
  EXPECT_EQ(free_memory_bytes(machine.root()), 0U);
  machine.write("sys/fs/cgroup/memory/docker/a/memory.stat", "total_inactive_file 209715200\n");
  EXPECT_EQ(free_memory_bytes(machine.root()), 100 * kMiB);
}

}  // namespace
}  // namespace ingot
