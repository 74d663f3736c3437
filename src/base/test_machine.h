// SPDX-License-Identifier: Apache-2.0
// For tests: a folder with the files in which a machine describes itself (/sys, /proc).
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace ingot {

class TestMachine {
 public:
  TestMachine() {
    std::string name = testing::TempDir() + "machineXXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  ~TestMachine() { std::filesystem::remove_all(root_); }
  TestMachine(const TestMachine&) = delete;
  TestMachine& operator=(const TestMachine&) = delete;

  const std::filesystem::path& root() const { return root_; }
  void write(const std::filesystem::path& path, std::string_view text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

 private:
  std::filesystem::path root_;
};

}  // namespace ingot
