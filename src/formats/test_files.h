// SPDX-License-Identifier: Apache-2.0
// Files of tests: names that no other run has, and bytes to put into them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace ingot {

inline std::filesystem::path temp_file(const std::string& name) {
  return std::filesystem::path(testing::TempDir()) / fmt::format("ingot-{}-{}", ::getpid(), name);
}

inline std::vector<std::byte> random_bytes(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes)
    byte = static_cast<std::byte>(random());
  return bytes;
}

}  // namespace ingot
