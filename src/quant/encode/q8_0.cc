// SPDX-License-Identifier: Apache-2.0
// Q8_0: the largest magnitude becomes code 127, the rest are rounded. At eight bits a search for a
// better scale gains less than the rounding of the scale to fp16 costs.
#include "blocks/q8_0.h"

#include "quant/encode/group_batch.h"
#include "quant/encode/half_lanes.h"
#include "quant/encode/layout_encoders.h"

namespace ingot::quant::INGOT_TARGET {
namespace {

void encode_sixteen(const float* values, size_t count, Q8_0* out) {
  Lanes peaks[kLanes];
  for (size_t g = 0; g < kLanes; ++g) {
    const float* x = values + (g < count ? g : 0) * Q8_0::kGroup;
    peaks[g] = higher_of(magnitude(load(x)), magnitude(load(x + kLanes)));
  }
  transpose(peaks);
  Lanes peak{};
  for (const Lanes& lane : peaks)
    peak = higher_of(lane, peak);
  const Lanes scale = round_to_half(peak * (1.0F / 127.0F));
  const Lanes inverse = inverse_or_zero(scale);
  uint16_t bits[kLanes];
  store_half_bits(scale, bits);
  for (size_t g = 0; g < count; ++g) {
    out[g].scale = Half{bits[g]};
    for (size_t half = 0; half < 2; ++half) {
      const Lanes x = load(values + g * Q8_0::kGroup + half * kLanes);
      const Lanes code = nearest(x * inverse[g], -127.0F, 127.0F);
      const LaneBytes bytes =
          __builtin_convertvector(__builtin_convertvector(code, LaneInts), LaneBytes);
      std::memcpy(out[g].codes + half * kLanes, &bytes, sizeof(bytes));
    }
  }
}

}  // namespace

void encode_q8_0(const EncodeJob& job) {
  const size_t blocks = job.elements / Q8_0::kGroup;
  for (size_t first = 0; first < blocks; first += kLanes) {
    const size_t count = blocks - first < kLanes ? blocks - first : kLanes;
    Q8_0 out[kLanes];
    encode_sixteen(job.values + first * Q8_0::kGroup, count, out);
    std::memcpy(job.out + first * sizeof(Q8_0), out, count * sizeof(Q8_0));
  }
}

}  // namespace ingot::quant::INGOT_TARGET
