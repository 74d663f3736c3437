// SPDX-License-Identifier: Apache-2.0
// Q3_K and Q6_K: sixteen groups of 16, codes -4..3 or -32..31.
#include "blocks/q3_k.h"
#include "blocks/q6_k.h"
#include "quant/encode/layout_encoders.h"
#include "quant/encode/scaled_groups.h"

namespace ingot::quant::INGOT_TARGET {
namespace {

constexpr size_t kSize = 16;

struct Levels {
  float zero;        // codes are in [-zero, zero - 1]
  float small_zero;  // and the integers of the groups in [-small_zero, small_zero - 1]
};

void put_scales(const Lanes& scales, Q3_K& block) {
  std::memset(block.group_scales, 0, sizeof(block.group_scales));
  for (size_t g = 0; g < 16; ++g) {
    const unsigned six = static_cast<unsigned>(static_cast<int>(scales[g]) + 32);
    block.group_scales[g % 8] |= static_cast<uint8_t>((six & 0xF) << (4 * (g / 8)));
    block.group_scales[8 + g % 4] |= static_cast<uint8_t>((six >> 4) << (2 * (g / 4)));
  }
}

void put_scales(const Lanes& scales, Q6_K& block) {
  for (size_t g = 0; g < 16; ++g)
    block.group_scales[g] = static_cast<int8_t>(scales[g]);
}

void put_codes(const uint8_t (*codes)[kSize], Q3_K& block) {
  std::memset(block.high_bits, 0, sizeof(block.high_bits));
  std::memset(block.codes, 0, sizeof(block.codes));
  for (size_t g = 0; g < 16; ++g) {
    uint8_t* low = block.codes + 32 * (g / 8) + 16 * (g % 2);
    uint8_t* high = block.high_bits + 16 * (g % 2);
    for (size_t i = 0; i < kSize; ++i) {
      low[i] = static_cast<uint8_t>(low[i] | ((codes[g][i] & 3) << (2 * (g % 8 / 2))));
      high[i] = static_cast<uint8_t>(high[i] | ((codes[g][i] >> 2) << (g / 2)));
    }
  }
}

void put_codes(const uint8_t (*codes)[kSize], Q6_K& block) {
  for (size_t half = 0; half < 2; ++half) {
    for (size_t side = 0; side < 2; ++side) {
      const uint8_t(*planes)[kSize] = codes + 8 * half + side;
      uint8_t* low = block.low_bits + 64 * half + 16 * side;
      uint8_t* high = block.high_bits + 32 * half + 16 * side;
      for (size_t i = 0; i < kSize; ++i) {
        low[i] = static_cast<uint8_t>((planes[0][i] & 0xF) | ((planes[4][i] & 0xF) << 4));
        low[i + 32] = static_cast<uint8_t>((planes[2][i] & 0xF) | ((planes[6][i] & 0xF) << 4));
        high[i] = static_cast<uint8_t>((planes[0][i] >> 4) | ((planes[2][i] >> 4) << 2) |
                                       ((planes[4][i] >> 4) << 4) | ((planes[6][i] >> 4) << 6));
      }
    }
  }
}

template <class Block, size_t kTargets>
void encode(const EncodeJob& job, const Levels& levels, const float (&targets)[kTargets],
            int rounds) {
  for_each_batch<kSize>(job, [&](const GroupBatch<kSize>& batch, size_t first, size_t) {
    const IntegerGrid grid{-levels.zero, levels.zero - 1.0F};
    const SymmetricFit fit = fit_symmetric<true>(batch.x, batch.w, grid, targets, rounds);
    const ScaledGroups groups = settle_groups<kLanes>(batch, fit.scale, levels.small_zero, grid);

    const Lanes inverse = inverse_or_zero(groups.block_scale * groups.integers);
    Lanes codes[kSize];
    for (size_t i = 0; i < kSize; ++i)
      codes[i] = grid(batch.x[i] * inverse) + levels.zero;
    uint8_t bytes[kLanes][kSize];
    store_codes(codes, bytes);
    uint16_t scale_bits[kLanes];
    store_half_bits(groups.block_scale, scale_bits);
    Block block;
    block.scale = Half{scale_bits[0]};
    put_scales(groups.integers, block);
    put_codes(bytes, block);
    std::memcpy(job.out + first / kLanes * sizeof(Block), &block, sizeof(block));
  });
}

constexpr float kTargets3[] = {-4.0F, -3.0F, -3.2F, -3.4F, -3.6F, -3.8F, -4.2F,
                               -4.4F, -4.7F, 2.6F,  2.8F,  3.0F,  3.2F,  3.4F};
constexpr float kTargets6[] = {-32.0F, -30.4F, -30.8F, -31.0F, -31.3F, -31.6F,
                               -32.3F, -32.6F, -32.9F, 31.0F,  31.3F};

template <class Block>
void replace_codes(const uint8_t* codes, std::byte* at) {
  Block block;
  uint8_t groups[Block::kGroup / kSize][kSize];
  std::memcpy(&block, at, sizeof(block));
  std::memcpy(groups, codes, sizeof(groups));
  put_codes(groups, block);
  std::memcpy(at, &block, sizeof(block));
}

}  // namespace

void replace_q3_k_codes(const uint8_t* codes, std::byte* block) {
  replace_codes<Q3_K>(codes, block);
}

void replace_q6_k_codes(const uint8_t* codes, std::byte* block) {
  replace_codes<Q6_K>(codes, block);
}

void encode_q3_k(const EncodeJob& job) {
  encode<Q3_K>(job, {4.0F, 32.0F}, kTargets3, 2);
}

void encode_q6_k(const EncodeJob& job) {
  encode<Q6_K>(job, {32.0F, 128.0F}, kTargets6, 2);
}

}  // namespace ingot::quant::INGOT_TARGET
