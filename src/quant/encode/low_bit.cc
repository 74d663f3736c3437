// SPDX-License-Identifier: Apache-2.0
// Large blocks of very few levels under one scale: the ternary TQ1_0 and TQ2_0, the binary Q1_0,
// and Q2_0. Models trained for them have weights on such a grid, which is kept exactly; for others
// this is the best that one scale can do.
#include "blocks/q1_0.h"
#include "blocks/q2_0.h"
#include "blocks/tq1_0.h"
#include "blocks/tq2_0.h"
#include "quant/encode/group_batch.h"
#include "quant/encode/half_lanes.h"
#include "quant/encode/layout_encoders.h"
#include "quant/encode/symmetric_fit.h"

namespace ingot::quant::INGOT_TARGET {
namespace {

// Most weights are far below the extreme one: it lies well beyond the last level.
constexpr float kTernaryTargets[] = {1.0F, 1.3F, 1.7F, 2.1F, 2.5F, 3.0F, 3.6F, 4.4F, 5.5F};
constexpr float kQ2Targets[] = {2.0F,  1.0F, 1.5F,  2.4F,  2.8F,  3.2F,  3.7F, 4.3F,
                                -1.0F, 5.0F, -1.5F, -2.0F, -2.5F, -3.0F, -3.6F};

void pack(const uint8_t* codes, TQ2_0& block) {
  for (size_t half = 0; half < 2; ++half) {
    const uint8_t* x = codes + 128 * half;
    for (size_t i = 0; i < 32; ++i) {
      block.codes[32 * half + i] =
          static_cast<uint8_t>(x[i] | (x[i + 32] << 2) | (x[i + 64] << 4) | (x[i + 96] << 6));
    }
  }
}

// Digits in base 3, first digit first, as a fraction of 256 rounded up (blocks/tq1_0.h).
uint8_t fraction(const uint8_t* codes, size_t stride, size_t digits) {
  unsigned value = 0;
  for (size_t n = 0; n < 5; ++n)
    value = 3 * value + (n < digits ? codes[n * stride] : 0u);
  return static_cast<uint8_t>((value * 256 + 242) / 243);
}

void pack(const uint8_t* codes, TQ1_0& block) {
  for (size_t i = 0; i < 32; ++i)
    block.fives[i] = fraction(codes + i, 32, 5);
  for (size_t i = 0; i < 16; ++i)
    block.fives[32 + i] = fraction(codes + 160 + i, 16, 5);
  for (size_t i = 0; i < 4; ++i)
    block.fours[i] = fraction(codes + 240 + i, 4, 4);
}

void pack(const uint8_t* codes, Q2_0& block) {
  for (size_t i = 0; i < sizeof(block.codes); ++i) {
    const uint8_t* x = codes + 4 * i;
    block.codes[i] = static_cast<uint8_t>(x[0] | (x[1] << 2) | (x[2] << 4) | (x[3] << 6));
  }
}

void pack(const uint8_t* codes, Q1_0& block) {
  for (size_t i = 0; i < sizeof(block.codes); ++i) {
    unsigned bits = 0;
    for (size_t k = 0; k < 8; ++k)
      bits |= static_cast<unsigned>(codes[8 * i + k]) << k;
    block.codes[i] = static_cast<uint8_t>(bits);
  }
}

template <class Block>
void write_blocks(Lanes (&codes)[Block::kGroup], Lanes scale, size_t count, std::byte* out) {
  uint8_t bytes[kLanes][Block::kGroup];
  store_codes(codes, bytes);
  uint16_t bits[kLanes];
  store_half_bits(scale, bits);
  for (size_t g = 0; g < count; ++g) {
    Block block;
    block.scale = Half{bits[g]};
    pack(bytes[g], block);
    std::memcpy(out + g * sizeof(Block), &block, sizeof(block));
  }
}

// Codes are levels plus one.
template <class Block, size_t kTargets>
void encode(const EncodeJob& job, const IntegerGrid& grid, const float (&targets)[kTargets]) {
  constexpr size_t kSize = Block::kGroup;
  for_each_batch<kSize>(job, [&](const GroupBatch<kSize>& batch, size_t first, size_t count) {
    const SymmetricFit fit = fit_symmetric<true>(batch.x, batch.w, grid, targets, 3);
    // Levels that are alike on both sides need no sign of their own.
    const bool is_even = grid.high == -grid.low;
    const Lanes scale = round_to_half(is_even ? magnitude(fit.scale) : fit.scale);
    const Lanes inverse = inverse_or_zero(scale);
    Lanes codes[kSize];
    for (size_t i = 0; i < kSize; ++i)
      codes[i] = grid(batch.x[i] * inverse) + 1.0F;
    write_blocks<Block>(codes, scale, count, job.out + first * sizeof(Block));
  });
}

}  // namespace

void encode_tq1_0(const EncodeJob& job) {
  encode<TQ1_0>(job, {-1.0F, 1.0F}, kTernaryTargets);
}

void encode_tq2_0(const EncodeJob& job) {
  encode<TQ2_0>(job, {-1.0F, 1.0F}, kTernaryTargets);
}

void encode_q2_0(const EncodeJob& job) {
  encode<Q2_0>(job, {-1.0F, 2.0F}, kQ2Targets);
}

// Two levels: the best scale is the weighted mean magnitude.
void encode_q1_0(const EncodeJob& job) {
  constexpr size_t kSize = Q1_0::kGroup;
  for_each_batch<kSize>(job, [&](const GroupBatch<kSize>& batch, size_t first, size_t count) {
    Lanes sum{};
    Lanes sum_w{};
    Lanes codes[kSize];
    for (size_t i = 0; i < kSize; ++i) {
      sum += batch.w[i] * magnitude(batch.x[i]);
      sum_w += batch.w[i];
      codes[i] = batch.x[i] < 0.0F ? Lanes{} : broadcast(1.0F);
    }
    write_blocks<Q1_0>(codes, round_to_half(sum / sum_w), count, job.out + first * sizeof(Q1_0));
  });
}

}  // namespace ingot::quant::INGOT_TARGET
