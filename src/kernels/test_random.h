// SPDX-License-Identifier: Apache-2.0
// Fresh random input for kernel tests: the seed differs in every run and is printed on failure
// (INGOT_TEST_SEED=n repeats one). Outputs start as NaN, so that what is not written shows.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "base/float_types.h"
#include "blocks/layout.h"

namespace ingot {

inline uint64_t test_seed() {
  static const uint64_t kSeed = [] {
    const char* given = std::getenv("INGOT_TEST_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  }();
  return kSeed;
}

inline std::vector<float> poisoned(int64_t count) {
  return std::vector<float>(static_cast<size_t>(count), std::numeric_limits<float>::quiet_NaN());
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed), trace_(__FILE__, __LINE__, message(seed)) {}

  float normal() { return normal_(engine_); }
  float uniform(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(engine_);
  }
  int64_t whole(int64_t low, int64_t high) {  // both ends included
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  std::vector<float> normals(int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values)
      value = normal();
    return values;
  }

  // `count` weights in whole blocks. Blocks are random bytes, kept when what they decode to is
  // neither extreme nor dust: that reaches every code, scale and table entry of any layout.
  std::vector<std::byte> weights(Layout layout, int64_t count) {
    const LayoutInfo& about = info(layout);
    std::vector<std::byte> bytes;
    std::vector<std::byte> block(about.block_bytes);
    for (int64_t done = 0; done < count; done += about.block_elements) {
      do {
        fill_block(layout, block);
      } while (!is_moderate(layout, block));
      bytes.insert(bytes.end(), block.begin(), block.end());
    }
    return bytes;
  }

 private:
  static std::string message(uint64_t seed) { return "INGOT_TEST_SEED=" + std::to_string(seed); }
  template <class T>
  static void put(std::span<std::byte> block, T value) {
    std::memcpy(block.data(), &value, sizeof(value));
  }
  void fill_block(Layout layout, std::span<std::byte> block) {
    if (layout == Layout::kF32) return put(block, normal());
    if (layout == Layout::kF64) return put(block, static_cast<double>(normal()));
    if (layout == Layout::kF16) return put(block, to_half(normal()));
    if (layout == Layout::kBF16) return put(block, to_bfloat16(normal()));
    for (std::byte& byte : block)
      byte = static_cast<std::byte>(engine_() & 0xFF);
  }
  static bool is_moderate(Layout layout, std::span<const std::byte> block) {
    std::vector<float> values(info(layout).block_elements);
    dequantize(layout, block, values);
    float largest = 0;
    for (const float value : values) {
      if (!std::isfinite(value)) return false;
      largest = std::max(largest, std::fabs(value));
    }
    return largest < 1e2F && (largest > 1e-3F || info(layout).block_elements == 1);
  }

  std::mt19937_64 engine_;
  std::normal_distribution<float> normal_;
  testing::ScopedTrace trace_;
};

}  // namespace ingot
