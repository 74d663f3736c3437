// SPDX-License-Identifier: Apache-2.0
// Q4_1 and Q5_1: 32 weights on one line, codes 0..15 or 0..31.
#include "blocks/q4_1.h"
#include "blocks/q5_1.h"
#include "quant/encode/affine_fit.h"
#include "quant/encode/five_bits.h"
#include "quant/encode/group_batch.h"
#include "quant/encode/half_lanes.h"
#include "quant/encode/layout_encoders.h"

namespace ingot::quant::INGOT_TARGET {
namespace {

constexpr float kQuick4[] = {15.0F, 15.9F};
constexpr float kQuick5[] = {31.0F, 31.8F};
constexpr float kThorough4[] = {15.0F, 14.2F, 14.4F, 14.6F, 14.8F, 15.2F, 15.4F,
                                15.6F, 15.8F, 16.0F, 16.3F, 16.6F, 17.0F, 17.5F};
constexpr float kThorough5[] = {31.0F, 30.2F, 30.4F, 30.6F, 30.8F, 31.2F, 31.4F,
                                31.6F, 31.8F, 32.0F, 32.3F, 32.6F, 33.0F, 33.5F};

void pack(const uint8_t* codes, Q4_1& block) {
  pack_nibbles(codes, block.codes);
}
void pack(const uint8_t* codes, Q5_1& block) {
  pack_nibbles(codes, block.codes);
  pack_fifth_bits(codes, block.high_bits);
}

template <class Block, bool kIsWeighted, size_t kTargets>
void encode(const EncodeJob& job, float top, const float (&targets)[kTargets]) {
  for_each_batch<Block::kGroup>(
      job, [&](const GroupBatch<Block::kGroup>& batch, size_t first, size_t count) {
        const AffineFit fit =
            fit_affine<kIsWeighted>(batch.x, batch.w, top, false, targets, kIsWeighted ? 3 : 1);
        const Lanes scale = round_to_half(fit.scale);
        const Lanes min = round_to_half(fit.min);
        const Lanes inverse = inverse_or_zero(scale);
        Lanes codes[Block::kGroup];
        for (size_t i = 0; i < Block::kGroup; ++i)
          codes[i] = nearest((batch.x[i] - min) * inverse, 0.0F, top);
        uint8_t bytes[kLanes][Block::kGroup];
        store_codes(codes, bytes);
        uint16_t scale_bits[kLanes];
        uint16_t min_bits[kLanes];
        store_half_bits(scale, scale_bits);
        store_half_bits(min, min_bits);
        for (size_t g = 0; g < count; ++g) {
          Block block;
          block.scale = Half{scale_bits[g]};
          block.min = Half{min_bits[g]};
          pack(bytes[g], block);
          std::memcpy(job.out + (first + g) * sizeof(Block), &block, sizeof(block));
        }
      });
}

}  // namespace

void encode_q4_1(const EncodeJob& job) {
  if (job.importance == nullptr) return encode<Q4_1, false>(job, 15.0F, kQuick4);
  encode<Q4_1, true>(job, 15.0F, kThorough4);
}

void encode_q5_1(const EncodeJob& job) {
  if (job.importance == nullptr) return encode<Q5_1, false>(job, 31.0F, kQuick5);
  encode<Q5_1, true>(job, 31.0F, kThorough5);
}

}  // namespace ingot::quant::INGOT_TARGET
