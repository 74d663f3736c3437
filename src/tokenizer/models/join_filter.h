// SPDX-License-Identifier: Apache-2.0
// Which characters can stand side by side inside a token. Between any other two no merge can ever
// happen, so a long text falls into short ones there: BPE then works within the nearest cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot::tok {

// A set of pairs that may claim to hold more than it does. Immutable after load; thread-safe.
class JoinFilter {
 public:
  // Holds every pair.
  JoinFilter() = default;
  // Holds none yet; made for as many as a vocabulary of this size has.
  explicit JoinFilter(size_t vocab_size);

  void add(uint32_t left, uint32_t right) {
    const size_t bit = bit_of(left, right);
    bits_[bit / 64] |= uint64_t{1} << (bit % 64);
  }
  bool may_join(uint32_t left, uint32_t right) const {
    if (bits_.empty()) return true;
    const size_t bit = bit_of(left, right);
    return (bits_[bit / 64] >> (bit % 64) & 1) != 0;
  }

 private:
  size_t bit_of(uint32_t left, uint32_t right) const {
    const uint64_t key = uint64_t{left} << 32 | right;
    return static_cast<size_t>((key * 0x9E3779B97F4A7C15ULL) >> shift_);
  }
  std::vector<uint64_t> bits_;
  int shift_ = 0;
};

}  // namespace ingot::tok
