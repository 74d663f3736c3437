// SPDX-License-Identifier: Apache-2.0
// IQ4_NL and IQ4_XS: sixteen uneven levels, finer near zero.
#include "blocks/iq4_nl.h"
#include "blocks/iq4_xs.h"
#include "blocks/iq_grids.h"
#include "quant/encode/five_bits.h"
#include "quant/encode/layout_encoders.h"
#include "quant/encode/scaled_groups.h"

namespace ingot::quant::INGOT_TARGET {
namespace {

constexpr size_t kSize = 32;

// Walks up the levels; a value stays where it is nearer to the level below. NaN takes the lowest.
struct UnevenGrid {
  Lanes operator()(Lanes v) const {
    Lanes level = broadcast(static_cast<float>(kIq4Levels[0]));
    for (size_t k = 1; k < 16; ++k) {
      const float between = 0.5F * static_cast<float>(kIq4Levels[k - 1] + kIq4Levels[k]);
      level = v > between ? broadcast(static_cast<float>(kIq4Levels[k])) : level;
    }
    return level;
  }
};

Lanes code_of(Lanes v) {
  Lanes code{};
  for (size_t k = 1; k < 16; ++k) {
    const float between = 0.5F * static_cast<float>(kIq4Levels[k - 1] + kIq4Levels[k]);
    code = v > between ? code + 1.0F : code;
  }
  return code;
}

constexpr float kTargets[] = {-127.0F, -131.0F, -123.0F, -119.0F, -115.0F, -111.0F, -104.0F,
                              113.0F,  117.0F,  109.0F,  105.0F,  101.0F,  97.0F,   89.0F};

void code_bytes(const GroupBatch<kSize>& batch, Lanes inverse, uint8_t (&bytes)[kLanes][kSize]) {
  Lanes codes[kSize];
  for (size_t i = 0; i < kSize; ++i)
    codes[i] = code_of(batch.x[i] * inverse);
  store_codes(codes, bytes);
}

void pack(const uint8_t (*codes)[kSize], const float* integers, IQ4_XS& block) {
  block.scales_high = 0;
  std::memset(block.scales_low, 0, sizeof(block.scales_low));
  for (size_t g = 0; g < 8; ++g) {
    const auto six = static_cast<unsigned>(static_cast<int>(integers[g]) + 32);
    block.scales_low[g / 2] |= static_cast<uint8_t>((six & 0xF) << (4 * (g % 2)));
    block.scales_high = static_cast<uint16_t>(block.scales_high | ((six >> 4) << (2 * g)));
    pack_nibbles(codes[g], block.codes + 16 * g);
  }
}

}  // namespace

void encode_iq4_nl(const EncodeJob& job) {
  for_each_batch<kSize>(job, [&](const GroupBatch<kSize>& batch, size_t first, size_t count) {
    const SymmetricFit fit = fit_symmetric<true>(batch.x, batch.w, UnevenGrid{}, kTargets, 2);
    const Lanes scale = round_to_half(fit.scale);
    uint8_t bytes[kLanes][kSize];
    code_bytes(batch, inverse_or_zero(scale), bytes);
    uint16_t bits[kLanes];
    store_half_bits(scale, bits);
    for (size_t g = 0; g < count; ++g) {
      IQ4_NL block;
      block.scale = Half{bits[g]};
      pack_nibbles(bytes[g], block.codes);
      std::memcpy(job.out + (first + g) * sizeof(block), &block, sizeof(block));
    }
  });
}

void encode_iq4_xs(const EncodeJob& job) {
  for_each_batch<kSize>(job, [&](const GroupBatch<kSize>& batch, size_t first, size_t count) {
    const SymmetricFit fit = fit_symmetric<true>(batch.x, batch.w, UnevenGrid{}, kTargets, 2);
    const ScaledGroups groups = settle_groups<8>(batch, fit.scale, 32.0F, UnevenGrid{});
    uint8_t bytes[kLanes][kSize];
    code_bytes(batch, inverse_or_zero(groups.block_scale * groups.integers), bytes);
    uint16_t bits[kLanes];
    store_half_bits(groups.block_scale, bits);
    float integers[kLanes];
    store(groups.integers, integers);
    for (size_t g = 0; g < count; g += 8) {
      IQ4_XS block;
      block.scale = Half{bits[g]};
      pack(bytes + g, integers + g, block);
      std::memcpy(job.out + (first + g) / 8 * sizeof(block), &block, sizeof(block));
    }
  });
}

}  // namespace ingot::quant::INGOT_TARGET
