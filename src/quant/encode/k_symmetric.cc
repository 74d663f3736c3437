// SPDX-License-Identifier: Apache-2.0
// Q3_K and Q6_K: sixteen groups of 16, each with a small signed integer as its scale under one fp16
// scale of the block. Chosen as in k_affine.cc: the group's best scale alone, the block's scale,
// the integers around, the block's scale again.
#include "blocks/q3_k.h"
#include "blocks/q6_k.h"
#include "quant/encode/group_batch.h"
#include "quant/encode/half_lanes.h"
#include "quant/encode/layout_encoders.h"
#include "quant/encode/symmetric_fit.h"

namespace ingot::quant::INGOT_TARGET {
namespace {

constexpr size_t kSize = 16;

struct Levels {
  float zero;        // codes are in [-zero, zero - 1]
  float small_zero;  // and the integers of the groups in [-small_zero, small_zero - 1]
};

struct Integers {
  Lanes scale;
  Lanes error;
};

Integers choose_integers(const GroupBatch<kSize>& batch, const SymmetricFit& fit, Lanes block_scale,
                         const Levels& levels) {
  const float low = -levels.small_zero;
  const float high = levels.small_zero - 1.0F;
  const Lanes near = nearest(fit.scale * inverse_or_zero(block_scale), low, high);
  Integers best{};
  bool is_first = true;
  for (const float step : {0.0F, -1.0F, 1.0F}) {
    const Lanes scale_code = nearest(near + step, low, high);
    const Lanes scale = block_scale * scale_code;
    const Lanes inverse = inverse_or_zero(scale);
    Lanes error{};
    for (size_t i = 0; i < kSize; ++i) {
      const Lanes code = nearest(batch.x[i] * inverse, -levels.zero, levels.zero - 1.0F);
      const Lanes off = scale * code - batch.x[i];
      error += batch.w[i] * off * off;
    }
    if (is_first) {
      best = {scale_code, error};
      is_first = false;
      continue;
    }
    const auto is_better = error < best.error;
    best.scale = is_better ? scale_code : best.scale;
    best.error = is_better ? error : best.error;
  }
  return best;
}

Lanes refit(const GroupBatch<kSize>& batch, Lanes block_scale, const Integers& chosen, float zero) {
  const Lanes inverse = inverse_or_zero(block_scale * chosen.scale);
  Lanes sum_ll{};
  Lanes sum_xl{};
  for (size_t i = 0; i < kSize; ++i) {
    const Lanes code = nearest(batch.x[i] * inverse, -zero, zero - 1.0F);
    const Lanes weighted = batch.w[i] * code;
    sum_ll += weighted * code;
    sum_xl += weighted * batch.x[i];
  }
  const Lanes ss = sum_within<16>(chosen.scale * chosen.scale * sum_ll);
  const Lanes sx = sum_within<16>(chosen.scale * sum_xl);
  return round_to_half(ss > 0.0F ? sx / ss : block_scale);
}

// The group scale of largest magnitude takes the end with one integer more.
Lanes first_block_scale(Lanes scales, float small_zero) {
  const Lanes high = highest_within<16>(scales);
  const Lanes low = -highest_within<16>(-scales);
  return round_to_half((high > -low ? high : low) / -small_zero);
}

void pack(const uint8_t (*codes)[kSize], const Lanes& scales, Q3_K& block) {
  std::memset(block.group_scales, 0, sizeof(block.group_scales));
  std::memset(block.high_bits, 0, sizeof(block.high_bits));
  std::memset(block.codes, 0, sizeof(block.codes));
  for (size_t g = 0; g < 16; ++g) {
    const unsigned six = static_cast<unsigned>(static_cast<int>(scales[g]) + 32);
    block.group_scales[g % 8] |= static_cast<uint8_t>((six & 0xF) << (4 * (g / 8)));
    block.group_scales[8 + g % 4] |= static_cast<uint8_t>((six >> 4) << (2 * (g / 4)));
    uint8_t* low = block.codes + 32 * (g / 8) + 16 * (g % 2);
    uint8_t* high = block.high_bits + 16 * (g % 2);
    for (size_t i = 0; i < kSize; ++i) {
      low[i] = static_cast<uint8_t>(low[i] | ((codes[g][i] & 3) << (2 * (g % 8 / 2))));
      high[i] = static_cast<uint8_t>(high[i] | ((codes[g][i] >> 2) << (g / 2)));
    }
  }
}

void pack(const uint8_t (*codes)[kSize], const Lanes& scales, Q6_K& block) {
  for (size_t g = 0; g < 16; ++g)
    block.group_scales[g] = static_cast<int8_t>(scales[g]);
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
    const SymmetricFit fit =
        fit_symmetric<true>(batch.x, batch.w, -levels.zero, levels.zero - 1.0F, targets, rounds);
    Lanes block_scale = first_block_scale(fit.scale, levels.small_zero);
    Integers chosen = choose_integers(batch, fit, block_scale, levels);
    const Lanes other_scale = refit(batch, block_scale, chosen, levels.zero);
    const Integers other = choose_integers(batch, fit, other_scale, levels);
    const auto is_better = sum_within<16>(other.error) < sum_within<16>(chosen.error);
    block_scale = is_better ? other_scale : block_scale;
    chosen.scale = is_better ? other.scale : chosen.scale;

    const Lanes inverse = inverse_or_zero(block_scale * chosen.scale);
    Lanes codes[kSize];
    for (size_t i = 0; i < kSize; ++i) {
      codes[i] = nearest(batch.x[i] * inverse, -levels.zero, levels.zero - 1.0F) + levels.zero;
    }
    uint8_t bytes[kLanes][kSize];
    store_codes(codes, bytes);
    uint16_t scale_bits[kLanes];
    store_half_bits(block_scale, scale_bits);
    Block block;
    block.scale = Half{scale_bits[0]};
    pack(bytes, chosen.scale, block);
    std::memcpy(job.out + first / kLanes * sizeof(Block), &block, sizeof(block));
  });
}

constexpr float kTargets3[] = {-4.0F, -3.0F, -3.2F, -3.4F, -3.6F, -3.8F, -4.2F,
                               -4.4F, -4.7F, 2.6F,  2.8F,  3.0F,  3.2F,  3.4F};
constexpr float kTargets6[] = {-32.0F, -30.4F, -30.8F, -31.0F, -31.3F, -31.6F,
                               -32.3F, -32.6F, -32.9F, 31.0F,  31.3F};

}  // namespace

void encode_q3_k(const EncodeJob& job) {
  encode<Q3_K>(job, {4.0F, 32.0F}, kTargets3, 2);
}

void encode_q6_k(const EncodeJob& job) {
  encode<Q6_K>(job, {32.0F, 128.0F}, kTargets6, 2);
}

}  // namespace ingot::quant::INGOT_TARGET
