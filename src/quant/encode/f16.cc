// SPDX-License-Identifier: Apache-2.0
// F16 as a cast: to_half of base/float_types.h, bit for bit, sixteen at once. Not a choice of
// codes, but half of what `ingot quantize` writes for mixtures without blocks.
#include "base/float_types.h"
#include "quant/encode/lanes.h"
#include "quant/encode/layout_encoders.h"

namespace ingot::quant::INGOT_TARGET {
namespace {

LaneWords half_bits(Lanes v) {
  const LaneWords bits = reinterpret_cast<LaneWords>(v);
  const LaneWords size = bits & 0x7FFFFFFFu;
  const LaneWords normal = ((size + 0xFFFu + ((size >> 13) & 1u)) >> 13) - (112u << 10);
  // A sum with 0.5 has 2^-24, the unit of the smallest halves, as its last place.
  constexpr uint32_t kHalfBits = 0x3F000000u;
  const LaneWords tiny = reinterpret_cast<LaneWords>(magnitude(v) + 0.5F) - kHalfBits;
  LaneWords half = size < 0x38800000u ? tiny : normal;
  half = size >= 0x477FF000u ? LaneWords{} + 0x7C00u : half;  // from 65520 on
  half = size > 0x7F800000u ? LaneWords{} + 0x7E00u : half;
  return half | ((bits >> 16) & 0x8000u);
}

}  // namespace

void encode_f16(const EncodeJob& job) {
  for (size_t i = 0; i < job.elements; i += kLanes) {
    const size_t count = job.elements - i < kLanes ? job.elements - i : kLanes;
    alignas(64) float values[kLanes] = {};
    std::memcpy(values, job.values + i, count * sizeof(float));
    const LaneWords halves = half_bits(load(values));
    using LaneHalves [[gnu::vector_size(32)]] = uint16_t;
    const LaneHalves narrow = __builtin_convertvector(halves, LaneHalves);
    std::memcpy(job.out + i * sizeof(uint16_t), &narrow, count * sizeof(uint16_t));
  }
}

}  // namespace ingot::quant::INGOT_TARGET
