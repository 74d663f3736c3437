// SPDX-License-Identifier: Apache-2.0
// The tile registers: 0 to 3 are sums (tokens by 16 rows), 4 and 5 inputs (tokens by 64 bytes of
// columns), 6 and 7 weights (columns by 16 rows, as a panel has them). Each thread sets their
// shapes before it uses them and gives them back.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace ingot::cpu {
namespace {

// Compilers do not know that tile loads read memory: what they are to see must be there before.
inline void settle_memory() {
  asm volatile("" ::: "memory");
}

class TileShapes {
 public:
  // `tokens` rows of sums and of inputs, each input `column_bytes` long (64 at most).
  TileShapes(int64_t tokens, int64_t column_bytes) {
    for (int i = 0; i < 8; ++i) {
      const bool is_weights = i >= 6;
      const bool is_input = i == 4 || i == 5;
      config_.rows[i] = static_cast<uint8_t>(is_weights ? column_bytes / 4 : tokens);
      config_.column_bytes[i] = static_cast<uint16_t>(is_input ? column_bytes : 64);
    }
    _tile_loadconfig(&config_);
  }
  ~TileShapes() { _tile_release(); }
  TileShapes(const TileShapes&) = delete;
  TileShapes& operator=(const TileShapes&) = delete;

 private:
  struct alignas(64) Config {
    uint8_t palette = 1;
    uint8_t start_row = 0;
    uint8_t reserved[14] = {};
    uint16_t column_bytes[16] = {};
    uint8_t rows[16] = {};
  };
  static_assert(sizeof(Config) == 64);
  Config config_;
};

}  // namespace
}  // namespace ingot::cpu
