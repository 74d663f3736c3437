// SPDX-License-Identifier: Apache-2.0
// MXFP4 and NVFP4: four-bit floats (0 0.5 1 1.5 2 3 4 6 and their negatives) under a scale that is
// a power of two, or a float of eight bits. Few scales are possible, so the ones around the best
// are tried and the one with the least error stays.
#include "blocks/mxfp4.h"
#include "blocks/nvfp4.h"
#include "quant/encode/five_bits.h"
#include "quant/encode/group_batch.h"
#include "quant/encode/layout_encoders.h"
#include "quant/encode/symmetric_fit.h"

namespace ingot::quant::INGOT_TARGET {
namespace {

// Magnitude of the nearest level: halves up to 2, integers up to 4, even ones above.
Lanes nearest_size(Lanes size) {
  const Lanes most = broadcast(6.0F);
  const Lanes bounded = size < most ? size : most;  // NaN becomes the largest
  const Lanes fine = round(bounded * 2.0F) * 0.5F;
  const Lanes coarse = round(bounded * 0.5F) * 2.0F;
  const Lanes middle = round(bounded);
  return bounded < 2.0F ? fine : (bounded < 4.0F ? middle : coarse);
}

struct FloatGrid {
  Lanes operator()(Lanes v) const {
    const Lanes size = nearest_size(magnitude(v));
    return v < 0.0F ? -size : size;
  }
};

// The number of the level, sign in bit 3.
Lanes code_of(Lanes v) {
  const Lanes size = nearest_size(magnitude(v));
  const Lanes high = size > 4.0F ? broadcast(7.0F) : size + 2.0F;  // 3 is 5, 4 is 6
  const Lanes code = size > 2.0F ? high : size * 2.0F;
  const auto is_negative = (v < 0.0F) & (size > 0.0F);
  return is_negative ? code + 8.0F : code;
}

template <size_t kSize>
Lanes error_of(const GroupBatch<kSize>& batch, Lanes scale, Lanes inverse) {
  Lanes error{};
  for (size_t i = 0; i < kSize; ++i) {
    const Lanes off = scale * FloatGrid{}(batch.x[i] * inverse) - batch.x[i];
    error += batch.w[i] * off * off;
  }
  return error;
}

template <size_t kSize>
void code_bytes(const GroupBatch<kSize>& batch, Lanes inverse, uint8_t (&bytes)[kLanes][kSize]) {
  Lanes codes[kSize];
  for (size_t i = 0; i < kSize; ++i)
    codes[i] = code_of(batch.x[i] * inverse);
  store_codes(codes, bytes);
}

// 2^(code - 127) and its inverse, for codes in [1, 253].
Lanes power_of_two(LaneWords code) {
  return reinterpret_cast<Lanes>(code << 23);
}
Lanes inverse_power_of_two(LaneWords code) {
  return reinterpret_cast<Lanes>((254u - code) << 23);
}

// The code that puts the extreme element between the levels 4 and 8, or one beside it.
LaneWords choose_power(const GroupBatch<MXFP4::kGroup>& batch) {
  const LaneWords exponent = reinterpret_cast<LaneWords>(magnitude(extreme(batch.x))) >> 23;
  const LaneWords least = LaneWords{} + 1u;
  LaneWords best = exponent > 3u ? exponent - 2u : least;
  best = best < 252u ? best : LaneWords{} + 252u;
  Lanes best_error = error_of(batch, power_of_two(best), inverse_power_of_two(best));
  const LaneWords first = best;
  for (const int step : {-1, 1}) {
    const LaneWords code = step < 0 ? (first > 1u ? first - 1u : first) : first + 1u;
    const Lanes error = error_of(batch, power_of_two(code), inverse_power_of_two(code));
    const auto is_better = error < best_error;
    best = is_better ? code : best;
    best_error = is_better ? error : best_error;
  }
  return best;
}

// An unsigned E4M3 by its code in [0, 126], and the code just below a value.
Lanes small_float(LaneWords code) {
  const LaneWords normal = (((code >> 3) + 120u) << 23) | ((code & 7u) << 20);
  const LaneInts mantissa = reinterpret_cast<LaneInts>(code & 7u);
  const Lanes tiny = __builtin_convertvector(mantissa, Lanes) * 0x1p-9F;
  return code < 8u ? tiny : reinterpret_cast<Lanes>(normal);
}
LaneWords code_below(Lanes value) {
  const Lanes size = lower_of(magnitude(value), broadcast(448.0F));
  const LaneWords bits = reinterpret_cast<LaneWords>(size);
  const LaneWords normal = (bits >> 20) - (120u << 3);
  const Lanes small = size < 0x1p-6F ? size : Lanes{};
  const LaneWords tiny =
      reinterpret_cast<LaneWords>(__builtin_convertvector(small * 0x1p9F, LaneInts));
  return size < 0x1p-6F ? tiny : normal;
}

constexpr float kTargets[] = {6.0F, 4.0F, 4.5F, 5.0F, 5.5F, 6.5F, 7.0F, 3.5F};

LaneWords choose_small_float(const GroupBatch<16>& batch) {
  const SymmetricFit fit = fit_symmetric<true>(batch.x, batch.w, FloatGrid{}, kTargets, 2);
  const LaneWords below = code_below(fit.scale);
  LaneWords best = below;
  Lanes best_error = error_of(batch, small_float(below), inverse_or_zero(small_float(below)));
  for (const int step : {-1, 1, 2}) {
    const LaneWords moved = below + static_cast<uint32_t>(step);
    const LaneWords code = moved < 127u ? moved : below;  // wraps below zero
    const Lanes scale = small_float(code);
    const Lanes error = error_of(batch, scale, inverse_or_zero(scale));
    const auto is_better = error < best_error;
    best = is_better ? code : best;
    best_error = is_better ? error : best_error;
  }
  return best;
}

}  // namespace

void encode_mxfp4(const EncodeJob& job) {
  constexpr size_t kSize = MXFP4::kGroup;
  for_each_batch<kSize>(job, [&](const GroupBatch<kSize>& batch, size_t first, size_t count) {
    const LaneWords scale = choose_power(batch);
    uint8_t bytes[kLanes][kSize];
    code_bytes(batch, inverse_power_of_two(scale), bytes);
    for (size_t g = 0; g < count; ++g) {
      MXFP4 block;
      block.scale = Float8E8M0{static_cast<uint8_t>(scale[g])};
      pack_nibbles(bytes[g], block.codes);
      std::memcpy(job.out + (first + g) * sizeof(block), &block, sizeof(block));
    }
  });
}

void encode_nvfp4(const EncodeJob& job) {
  constexpr size_t kSize = 16;
  constexpr size_t kWidth = NVFP4::kGroup / kSize;
  for_each_batch<kSize>(job, [&](const GroupBatch<kSize>& batch, size_t first, size_t count) {
    const LaneWords scale = choose_small_float(batch);
    uint8_t bytes[kLanes][kSize];
    code_bytes(batch, inverse_or_zero(small_float(scale)), bytes);
    for (size_t g = 0; g < count; g += kWidth) {
      NVFP4 block;
      for (size_t k = 0; k < kWidth; ++k) {
        block.group_scales[k] = Float8E4M3{static_cast<uint8_t>(scale[g + k])};
        for (size_t i = 0; i < 8; ++i) {
          const uint8_t* codes = bytes[g + k];
          block.codes[8 * k + i] = static_cast<uint8_t>(codes[i] | (codes[i + 8] << 4));
        }
      }
      std::memcpy(job.out + (first + g) / kWidth * sizeof(block), &block, sizeof(block));
    }
  });
}

}  // namespace ingot::quant::INGOT_TARGET
