// SPDX-License-Identifier: Apache-2.0
// Q2_K, Q4_K and Q5_K: groups on lines of their own, whose scales and mins are small integers under
// two fp16 scales of the block. First each group's best line alone; then the block's two scales;
// then for every group the integers around its line are tried with the codes they imply; then the
// block's scales that are best for those codes, and the integers once more. The better stays.
#include "blocks/q2_k.h"
#include "blocks/q4_k.h"
#include "blocks/q5_k.h"
#include "quant/encode/affine_fit.h"
#include "quant/encode/group_batch.h"
#include "quant/encode/half_lanes.h"
#include "quant/encode/layout_encoders.h"

namespace ingot::quant::INGOT_TARGET {
namespace {

struct Levels {
  float top;            // highest code of an element
  float highest_small;  // highest integer of a group's scale or min
};

struct BlockScales {  // of all blocks in the lanes; each run of kWidth lanes is alike
  Lanes scale;
  Lanes min_scale;
};

struct Integers {
  Lanes scale;
  Lanes min;
  Lanes error;  // of the group
};

template <size_t kSize>
Integers choose_integers(const GroupBatch<kSize>& batch, Lanes inverse_sum_w, const AffineFit& fit,
                         const BlockScales& by, const Levels& levels) {
  const float highest = levels.highest_small;
  const Lanes inverse_min_scale = inverse_or_zero(by.min_scale);
  const Lanes near_scale = nearest(fit.scale * inverse_or_zero(by.scale), 0.0F, highest);
  const Lanes near_min = by.min_scale * nearest(-fit.min * inverse_min_scale, 0.0F, highest);
  Integers best{};
  bool is_first = true;
  for (const float step : {0.0F, -1.0F, 1.0F}) {
    const Lanes scale_code = nearest(near_scale + step, 0.0F, highest);
    const Lanes scale = by.scale * scale_code;
    const Lanes inverse = inverse_or_zero(scale);
    Lanes excess{};
    for (size_t i = 0; i < kSize; ++i) {
      const Lanes code = nearest((batch.x[i] + near_min) * inverse, 0.0F, levels.top);
      excess += batch.w[i] * (scale * code - batch.x[i]);
    }
    const Lanes min_code = nearest(excess * inverse_sum_w * inverse_min_scale, 0.0F, highest);
    const Lanes min = by.min_scale * min_code;
    Lanes error{};
    for (size_t i = 0; i < kSize; ++i) {
      const Lanes code = nearest((batch.x[i] + min) * inverse, 0.0F, levels.top);
      const Lanes off = (scale * code - min) - batch.x[i];
      error += batch.w[i] * off * off;
    }
    if (is_first) {
      best = {scale_code, min_code, error};
      is_first = false;
      continue;
    }
    const auto is_better = error < best.error;
    best.scale = is_better ? scale_code : best.scale;
    best.min = is_better ? min_code : best.min;
    best.error = is_better ? error : best.error;
  }
  return best;
}

// The two scales with the least error for these integers and the codes that go with them.
template <size_t kWidth, size_t kSize>
BlockScales refit(const GroupBatch<kSize>& batch, const BlockScales& by, const Integers& chosen,
                  float top) {
  const Lanes scale = by.scale * chosen.scale;
  const Lanes min = by.min_scale * chosen.min;
  const Lanes inverse = inverse_or_zero(scale);
  Lanes sum_w{};
  Lanes sum_l{};
  Lanes sum_ll{};
  Lanes sum_x{};
  Lanes sum_xl{};
  for (size_t i = 0; i < kSize; ++i) {
    const Lanes code = nearest((batch.x[i] + min) * inverse, 0.0F, top);
    const Lanes weighted = batch.w[i] * code;
    sum_w += batch.w[i];
    sum_l += weighted;
    sum_ll += weighted * code;
    sum_x += batch.w[i] * batch.x[i];
    sum_xl += weighted * batch.x[i];
  }
  const Lanes ss = sum_within<kWidth>(chosen.scale * chosen.scale * sum_ll);
  const Lanes sm = sum_within<kWidth>(chosen.scale * chosen.min * sum_l);
  const Lanes mm = sum_within<kWidth>(chosen.min * chosen.min * sum_w);
  const Lanes sx = sum_within<kWidth>(chosen.scale * sum_xl);
  const Lanes mx = sum_within<kWidth>(chosen.min * sum_x);
  const Lanes determinant = ss * mm - sm * sm;
  const auto is_solvable = determinant > 1e-6F * ss * mm;
  const Lanes best_scale = (sx * mm - mx * sm) / determinant;
  const Lanes best_min = (sx * sm - mx * ss) / determinant;
  const auto is_valid = is_solvable & (best_scale > 0.0F) & (best_min >= 0.0F);
  return {round_to_half(is_valid ? best_scale : by.scale),
          round_to_half(is_valid ? best_min : by.min_scale)};
}

template <size_t kWidth, size_t kSize>
void settle(const GroupBatch<kSize>& batch, const AffineFit& fit, const Levels& levels,
            BlockScales& by, Integers& chosen) {
  Lanes sum_w{};
  for (const Lanes& weight : batch.w)
    sum_w += weight;
  const Lanes inverse_sum_w = inverse_or_zero(sum_w);
  const float unit = 1.0F / levels.highest_small;
  by = {round_to_half(highest_within<kWidth>(fit.scale) * unit),
        round_to_half(highest_within<kWidth>(-fit.min) * unit)};
  chosen = choose_integers(batch, inverse_sum_w, fit, by, levels);
  const BlockScales other_by = refit<kWidth>(batch, by, chosen, levels.top);
  const Integers other = choose_integers(batch, inverse_sum_w, fit, other_by, levels);
  const auto is_better = sum_within<kWidth>(other.error) < sum_within<kWidth>(chosen.error);
  by.scale = is_better ? other_by.scale : by.scale;
  by.min_scale = is_better ? other_by.min_scale : by.min_scale;
  chosen.scale = is_better ? other.scale : chosen.scale;
  chosen.min = is_better ? other.min : chosen.min;
}

// What a block is packed from: bytes of its groups.
struct Small {
  uint8_t scale[kLanes];
  uint8_t min[kLanes];
};

Small to_bytes(const Integers& chosen) {
  Small small;
  for (size_t g = 0; g < kLanes; ++g) {
    small.scale[g] = static_cast<uint8_t>(chosen.scale[g]);
    small.min[g] = static_cast<uint8_t>(chosen.min[g]);
  }
  return small;
}

void put_scales(const uint8_t* scale, const uint8_t* min, uint8_t (&to)[16]) {
  for (size_t g = 0; g < 16; ++g)
    to[g] = static_cast<uint8_t>(scale[g] | (min[g] << 4));
}

// Eight scales and eight mins of six bits (docs/formats/blocks.md).
void put_scales(const uint8_t* scale, const uint8_t* min, uint8_t (&to)[12]) {
  for (size_t g = 0; g < 4; ++g) {
    to[g] = static_cast<uint8_t>(scale[g] | ((scale[g + 4] >> 4) << 6));
    to[g + 4] = static_cast<uint8_t>(min[g] | ((min[g + 4] >> 4) << 6));
    to[g + 8] = static_cast<uint8_t>((scale[g + 4] & 0xF) | ((min[g + 4] & 0xF) << 4));
  }
}

void put_codes(const uint8_t (*codes)[16], Q2_K& block) {
  for (size_t half = 0; half < 2; ++half) {
    for (size_t side = 0; side < 2; ++side) {
      const uint8_t(*planes)[16] = codes + 8 * half + side;
      for (size_t i = 0; i < 16; ++i) {
        block.codes[32 * half + 16 * side + i] = static_cast<uint8_t>(
            planes[0][i] | (planes[2][i] << 2) | (planes[4][i] << 4) | (planes[6][i] << 6));
      }
    }
  }
}

void pack_pairs(const uint8_t (*codes)[32], uint8_t* to) {
  for (size_t pair = 0; pair < 4; ++pair) {
    for (size_t i = 0; i < 32; ++i) {
      to[32 * pair + i] =
          static_cast<uint8_t>((codes[2 * pair][i] & 0xF) | ((codes[2 * pair + 1][i] & 0xF) << 4));
    }
  }
}

void put_codes(const uint8_t (*codes)[32], Q4_K& block) {
  pack_pairs(codes, block.codes);
}

void put_codes(const uint8_t (*codes)[32], Q5_K& block) {
  pack_pairs(codes, block.codes);
  for (size_t i = 0; i < 32; ++i) {
    unsigned bits = 0;
    for (size_t g = 0; g < 8; ++g)
      bits |= static_cast<unsigned>(codes[g][i] >> 4) << g;
    block.high_bits[i] = static_cast<uint8_t>(bits);
  }
}

template <class Block, size_t kWidth, size_t kTargets>
void encode(const EncodeJob& job, const Levels& levels, const float (&targets)[kTargets],
            int rounds) {
  constexpr size_t kSize = Block::kGroup / kWidth;
  for_each_batch<kSize>(job, [&](const GroupBatch<kSize>& batch, size_t first, size_t count) {
    const AffineFit fit = fit_affine<true>(batch.x, batch.w, levels.top, true, targets, rounds);
    BlockScales by;
    Integers chosen;
    settle<kWidth>(batch, fit, levels, by, chosen);

    const Lanes min = by.min_scale * chosen.min;
    const Lanes inverse = inverse_or_zero(by.scale * chosen.scale);
    Lanes codes[kSize];
    for (size_t i = 0; i < kSize; ++i)
      codes[i] = nearest((batch.x[i] + min) * inverse, 0.0F, levels.top);
    uint8_t bytes[kLanes][kSize];
    store_codes(codes, bytes);
    const Small small = to_bytes(chosen);
    uint16_t scale_bits[kLanes];
    uint16_t min_bits[kLanes];
    store_half_bits(by.scale, scale_bits);
    store_half_bits(by.min_scale, min_bits);
    for (size_t g = 0; g < count; g += kWidth) {
      Block block;
      block.scale = Half{scale_bits[g]};
      block.min_scale = Half{min_bits[g]};
      put_scales(small.scale + g, small.min + g, block.group_scales);
      put_codes(bytes + g, block);
      std::memcpy(job.out + (first + g) / kWidth * sizeof(Block), &block, sizeof(block));
    }
  });
}

constexpr float kTargets2[] = {3.0F, 2.2F, 2.4F, 2.6F, 2.8F, 3.2F, 3.4F, 3.6F, 3.8F, 4.2F, 4.6F};
constexpr float kTargets4[] = {15.0F, 14.2F, 14.4F, 14.6F, 14.8F, 15.2F, 15.4F,
                               15.6F, 15.8F, 16.0F, 16.3F, 16.6F, 17.0F, 17.5F};
constexpr float kTargets5[] = {31.0F, 30.2F, 30.4F, 30.6F, 30.8F, 31.2F, 31.4F,
                               31.6F, 31.8F, 32.0F, 32.3F, 32.6F, 33.0F, 33.5F};

template <class Block, size_t kSize>
void replace_codes(const uint8_t* codes, std::byte* at) {
  Block block;
  uint8_t groups[Block::kGroup / kSize][kSize];
  std::memcpy(&block, at, sizeof(block));
  std::memcpy(groups, codes, sizeof(groups));
  put_codes(groups, block);
  std::memcpy(at, &block, sizeof(block));
}

}  // namespace

void replace_q2_k_codes(const uint8_t* codes, std::byte* block) {
  replace_codes<Q2_K, 16>(codes, block);
}

void replace_q4_k_codes(const uint8_t* codes, std::byte* block) {
  replace_codes<Q4_K, 32>(codes, block);
}

void replace_q5_k_codes(const uint8_t* codes, std::byte* block) {
  replace_codes<Q5_K, 32>(codes, block);
}

void encode_q2_k(const EncodeJob& job) {
  encode<Q2_K, 16>(job, {3.0F, 15.0F}, kTargets2, 3);
}

void encode_q4_k(const EncodeJob& job) {
  encode<Q4_K, 8>(job, {15.0F, 63.0F}, kTargets4, 3);
}

void encode_q5_k(const EncodeJob& job) {
  encode<Q5_K, 8>(job, {31.0F, 63.0F}, kTargets5, 3);
}

}  // namespace ingot::quant::INGOT_TARGET
