// SPDX-License-Identifier: Apache-2.0
// Q4_0 and Q5_0: 32 weights under one scale, codes -8..7 or -16..15.
#include "blocks/q4_0.h"
#include "blocks/q5_0.h"
#include "quant/encode/five_bits.h"
#include "quant/encode/group_batch.h"
#include "quant/encode/half_lanes.h"
#include "quant/encode/layout_encoders.h"
#include "quant/encode/symmetric_fit.h"

namespace ingot::quant::INGOT_TARGET {
namespace {

// The extreme element goes to the end with one code more, or a little beside it.
constexpr float kQuick4[] = {-8.0F, -7.3F, -8.6F};
constexpr float kQuick5[] = {-16.0F, -15.4F, -16.7F};
constexpr float kThorough4[] = {-8.0F, -6.4F, -6.7F, -7.0F, -7.2F, -7.4F, -7.6F,
                                -7.8F, -8.2F, -8.4F, -8.6F, -8.8F, 7.0F,  7.4F};
constexpr float kThorough5[] = {-16.0F, -14.2F, -14.6F, -15.0F, -15.2F, -15.4F, -15.6F,
                                -15.8F, -16.2F, -16.4F, -16.6F, -16.8F, 15.0F,  15.4F};

void pack(const uint8_t* codes, Q4_0& block) {
  pack_nibbles(codes, block.codes);
}
void pack(const uint8_t* codes, Q5_0& block) {
  pack_nibbles(codes, block.codes);
  pack_fifth_bits(codes, block.high_bits);
}

template <class Block, bool kIsWeighted, size_t kTargets>
void encode(const EncodeJob& job, float zero, const float (&targets)[kTargets]) {
  for_each_batch<Block::kGroup>(
      job, [&](const GroupBatch<Block::kGroup>& batch, size_t first, size_t count) {
        const IntegerGrid grid{-zero, zero - 1.0F};
        const SymmetricFit fit =
            fit_symmetric<kIsWeighted>(batch.x, batch.w, grid, targets, kIsWeighted ? 3 : 1);
        const Lanes scale = round_to_half(fit.scale);
        const Lanes inverse = inverse_or_zero(scale);
        Lanes codes[Block::kGroup];
        for (size_t i = 0; i < Block::kGroup; ++i)
          codes[i] = grid(batch.x[i] * inverse) + zero;
        uint8_t bytes[kLanes][Block::kGroup];
        store_codes(codes, bytes);
        uint16_t bits[kLanes];
        store_half_bits(scale, bits);
        for (size_t g = 0; g < count; ++g) {
          Block block;
          block.scale = Half{bits[g]};
          pack(bytes[g], block);
          std::memcpy(job.out + (first + g) * sizeof(Block), &block, sizeof(block));
        }
      });
}

}  // namespace

void encode_q4_0(const EncodeJob& job) {
  if (job.importance == nullptr) return encode<Q4_0, false>(job, 8.0F, kQuick4);
  encode<Q4_0, true>(job, 8.0F, kThorough4);
}

void encode_q5_0(const EncodeJob& job) {
  if (job.importance == nullptr) return encode<Q5_0, false>(job, 16.0F, kQuick5);
  encode<Q5_0, true>(job, 16.0F, kThorough5);
}

}  // namespace ingot::quant::INGOT_TARGET
