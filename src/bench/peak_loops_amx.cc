// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/peak_loops.h"

namespace ingot {
namespace {

// Six tiles of sums over two of numbers: the unit has eight, and begins a product every 16 cycles.
constexpr int kSums = 6;
constexpr int64_t kTile = 16 * 16;  // sums in a tile

struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

template <class Products>
int64_t sum_up(int64_t rounds, Products products) {
  const TileConfig config;
  _tile_loadconfig(&config);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (int64_t i = 0; i < rounds; ++i)
    products();
  alignas(64) int32_t sums[kTile];
  _tile_stored(0, sums, 64);
  _tile_release();
  return sums[0];
}

int64_t bytes(int64_t rounds) {
  return sum_up(rounds, [] {
    _tile_dpbssd(0, 6, 7);
    _tile_dpbssd(1, 6, 7);
    _tile_dpbssd(2, 6, 7);
    _tile_dpbssd(3, 6, 7);
    _tile_dpbssd(4, 6, 7);
    _tile_dpbssd(5, 6, 7);
  });
}

int64_t halves(int64_t rounds) {
  return sum_up(rounds, [] {
    _tile_dpbf16ps(0, 6, 7);
    _tile_dpbf16ps(1, 6, 7);
    _tile_dpbf16ps(2, 6, 7);
    _tile_dpbf16ps(3, 6, 7);
    _tile_dpbf16ps(4, 6, 7);
    _tile_dpbf16ps(5, 6, 7);
  });
}

}  // namespace

bool amx_is_lent() {
  constexpr long kRequest = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}

const PeakLoop kPeakLoopsAmx[2] = {
    {OpKind::kInt8, "int8 tdpbssd", 2 * 64 * kTile* kSums, bytes},
    {OpKind::kBf16, "bf16 tdpbf16ps", 2 * 32 * kTile* kSums, halves},
};

}  // namespace ingot
