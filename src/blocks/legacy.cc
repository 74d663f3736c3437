// SPDX-License-Identifier: Apache-2.0
// The oldest GGML blocks, 32 elements under one fp16 scale: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1.
// The scalar truth for their kernels; low nibbles are the first half of a block, high the second.
#include "blocks/q4_0.h"
#include "blocks/q4_1.h"
#include "blocks/q5_0.h"
#include "blocks/q5_1.h"
#include "blocks/q8_0.h"
#include "blocks/q8_1.h"
#include "blocks/spread_bits.h"

namespace ingot {
namespace {

constexpr size_t kHalf = 16;

// The codes of a block as bytes: nibbles, and a fifth bit where the block has one.
struct Codes {
  int8_t values[2 * kHalf];
};

Codes unpack_nibbles(const uint8_t (&packed)[kHalf]) {
  Codes codes{};
  for (size_t i = 0; i < kHalf; ++i)
    codes.values[i] = static_cast<int8_t>(packed[i] & 0xF);
  for (size_t i = 0; i < kHalf; ++i)
    codes.values[kHalf + i] = static_cast<int8_t>(packed[i] >> 4);
  return codes;
}

Codes unpack_five_bits(const uint8_t (&packed)[kHalf], const uint8_t (&high_bits)[4]) {
  Codes codes = unpack_nibbles(packed);
  uint8_t high[2 * kHalf];
  for (size_t i = 0; i < 4; ++i)
    spread_bits(high_bits[i], high + 8 * i);
  for (size_t i = 0; i < 2 * kHalf; ++i) {
    codes.values[i] = static_cast<int8_t>(codes.values[i] | (high[i] << 4));
  }
  return codes;
}

void scale_codes(const int8_t* codes, int offset, float scale, float* __restrict out) {
  for (size_t i = 0; i < 2 * kHalf; ++i)
    out[i] = static_cast<float>(codes[i] - offset) * scale;
}

void scale_and_shift(const Codes& codes, float scale, float min, float* __restrict out) {
  for (size_t i = 0; i < 2 * kHalf; ++i)
    out[i] = static_cast<float>(codes.values[i]) * scale + min;
}

}  // namespace

void dequantize(const Q4_0& block, std::span<float, Q4_0::kGroup> out) {
  scale_codes(unpack_nibbles(block.codes).values, 8, to_float(block.scale), out.data());
}

void dequantize(const Q4_1& block, std::span<float, Q4_1::kGroup> out) {
  scale_and_shift(unpack_nibbles(block.codes), to_float(block.scale), to_float(block.min),
                  out.data());
}

void dequantize(const Q5_0& block, std::span<float, Q5_0::kGroup> out) {
  scale_codes(unpack_five_bits(block.codes, block.high_bits).values, 16, to_float(block.scale),
              out.data());
}

void dequantize(const Q5_1& block, std::span<float, Q5_1::kGroup> out) {
  scale_and_shift(unpack_five_bits(block.codes, block.high_bits), to_float(block.scale),
                  to_float(block.min), out.data());
}

void dequantize(const Q8_0& block, std::span<float, Q8_0::kGroup> out) {
  scale_codes(block.codes, 0, to_float(block.scale), out.data());
}

void dequantize(const Q8_1& block, std::span<float, Q8_1::kGroup> out) {
  scale_codes(block.codes, 0, to_float(block.scale), out.data());
}

}  // namespace ingot
