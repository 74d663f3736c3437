// SPDX-License-Identifier: Apache-2.0
// References of the layouts with blocks of 256, by activations in groups of 256. A block's products
// are summed as integers, so only the sum over blocks is rounded, in sequence. The fast twins do
// the same operations and give the same bits.
#include <cstring>

#include "blocks/iq4_xs.h"
#include "blocks/q2_k.h"
#include "blocks/q3_k.h"
#include "blocks/q4_k.h"
#include "blocks/q5_k.h"
#include "blocks/q6_k.h"
#include "kernels/code_levels.h"
#include "kernels/linear_ref.h"

namespace ingot::ref {
namespace {

// weight = scale * scales[i / 16] * codes[i] - min_scale * mins[i / 16]
struct Unpacked {
  float scale = 0;
  float min_scale = 0;
  int8_t scales[16] = {};
  int8_t mins[16] = {};
  int8_t codes[256] = {};
};

// The 6-bit scales and mins of Q4_K and Q5_K, one per 32 columns: the first four in the low six
// bits of bytes 0-3 and 4-7; of the last four the low nibbles are in bytes 8-11, the top bits in
// 0-7.
void unpack_scales(const uint8_t (&packed)[12], Unpacked& out) {
  for (int64_t i = 0; i < 16; ++i) {
    const uint8_t* at = packed + i / 2;
    const int scale = i < 8 ? at[0] & 63 : (at[4] & 0xF) | (at[-4] >> 6 << 4);
    const int min = i < 8 ? at[4] & 63 : (at[4] >> 4) | (at[0] >> 6 << 4);
    out.scales[i] = static_cast<int8_t>(scale);
    out.mins[i] = static_cast<int8_t>(min);
  }
}

// Element 128h + 32p + i of Q2_K, Q3_K: bits 2p of codes[32h + i].
int two_bits(const uint8_t (&codes)[64], int i) {
  return (codes[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3;
}

Unpacked unpack(const Q2_K& block) {
  Unpacked out{.scale = to_float(block.scale), .min_scale = to_float(block.min_scale)};
  for (int i = 0; i < 16; ++i) {
    out.scales[i] = static_cast<int8_t>(block.group_scales[i] & 0xF);
    out.mins[i] = static_cast<int8_t>(block.group_scales[i] >> 4);
  }
  for (int i = 0; i < 256; ++i)
    out.codes[i] = static_cast<int8_t>(two_bits(block.codes, i));
  return out;
}

Unpacked unpack(const Q3_K& block) {
  Unpacked out{.scale = to_float(block.scale)};
  for (int i = 0; i < 16; ++i) {
    const int low = (block.group_scales[i % 8] >> (i / 8 * 4)) & 0xF;
    const int high = (block.group_scales[8 + i % 4] >> (i / 4 * 2)) & 3;
    out.scales[i] = static_cast<int8_t>((low | (high << 4)) - 32);
  }
  for (int i = 0; i < 256; ++i) {
    const int high = (block.high_bits[i % 32] >> (i / 32)) & 1;
    out.codes[i] = static_cast<int8_t>(two_bits(block.codes, i) - 4 * (1 - high));
  }
  return out;
}

// Element 64k + i of Q4_K, Q5_K: the low nibble of codes[32k + i] for i < 32, then the high one.
int8_t nibble(const uint8_t (&codes)[128], int i) {
  return static_cast<int8_t>((codes[i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4)) & 0xF);
}

Unpacked unpack(const Q4_K& block) {
  Unpacked out{.scale = to_float(block.scale), .min_scale = to_float(block.min_scale)};
  unpack_scales(block.group_scales, out);
  for (int i = 0; i < 256; ++i)
    out.codes[i] = nibble(block.codes, i);
  return out;
}

Unpacked unpack(const Q5_K& block) {
  Unpacked out{.scale = to_float(block.scale), .min_scale = to_float(block.min_scale)};
  unpack_scales(block.group_scales, out);
  for (int i = 0; i < 256; ++i) {
    const int high = (block.high_bits[i % 32] >> (i / 32)) & 1;
    out.codes[i] = static_cast<int8_t>(nibble(block.codes, i) | (high << 4));
  }
  return out;
}

Unpacked unpack(const Q6_K& block) {
  Unpacked out{.scale = to_float(block.scale)};
  for (int i = 0; i < 16; ++i)
    out.scales[i] = block.group_scales[i];
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128;
    const int part = i % 128 / 32;
    const int low = (block.low_bits[half * 64 + part % 2 * 32 + i % 32] >> (part / 2 * 4)) & 0xF;
    const int high = (block.high_bits[half * 32 + i % 32] >> (part * 2)) & 3;
    out.codes[i] = static_cast<int8_t>((low | (high << 4)) - 32);
  }
  return out;
}

Unpacked unpack(const IQ4_XS& block) {
  Unpacked out{.scale = to_float(block.scale)};
  for (int i = 0; i < 16; ++i) {
    const int group = i / 2;
    const int low = (block.scales_low[group / 2] >> (group % 2 * 4)) & 0xF;
    const int high = (block.scales_high >> (group * 2)) & 3;
    out.scales[i] = static_cast<int8_t>((low | (high << 4)) - 32);
  }
  for (int i = 0; i < 256; ++i)
    out.codes[i] = kIq4Codes[(block.codes[i / 32 * 16 + i % 16] >> (i % 32 / 16 * 4)) & 0xF];
  return out;
}

template <class Block>
float dot(const std::byte* row, const Q8G256* x, int64_t blocks) {
  float total = 0;
  for (int64_t b = 0; b < blocks; ++b, ++x) {
    Block block{};
    std::memcpy(&block, row + b * static_cast<int64_t>(sizeof(Block)), sizeof(Block));
    const Unpacked weights = unpack(block);
    int sum = 0;
    int min_sum = 0;
    for (int i = 0; i < 256; ++i)
      sum += weights.scales[i / 16] * weights.codes[i] * x->codes[i];
    for (int i = 0; i < 16; ++i)
      min_sum += weights.mins[i] * x->sums[i];
    total += weights.scale * x->scale * static_cast<float>(sum);
    total -= weights.min_scale * x->scale * static_cast<float>(min_sum);
  }
  return total;
}

template <class Block>
void linear(const LinearArgs& args, int64_t begin, int64_t end) {
  const auto x_bytes =
      static_cast<int64_t>(activation_row_bytes(ActivationLayout::kQ8G256, args.cols));
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t token = 0; token < args.tokens; ++token) {
      const float sum =
          dot<Block>(args.weights + row * args.weight_row_bytes,
                     reinterpret_cast<const Q8G256*>(args.x + token * x_bytes), args.cols / 256);
      args.y[token * args.y_stride + row] = args.bias == nullptr ? sum : sum + args.bias[row];
    }
  }
}

}  // namespace

void linear_q2_k(const LinearArgs& args, int64_t begin, int64_t end) {
  linear<Q2_K>(args, begin, end);
}
void linear_q3_k(const LinearArgs& args, int64_t begin, int64_t end) {
  linear<Q3_K>(args, begin, end);
}
void linear_q4_k(const LinearArgs& args, int64_t begin, int64_t end) {
  linear<Q4_K>(args, begin, end);
}
void linear_q5_k(const LinearArgs& args, int64_t begin, int64_t end) {
  linear<Q5_K>(args, begin, end);
}
void linear_q6_k(const LinearArgs& args, int64_t begin, int64_t end) {
  linear<Q6_K>(args, begin, end);
}
void linear_iq4_xs(const LinearArgs& args, int64_t begin, int64_t end) {
  linear<IQ4_XS>(args, begin, end);
}

}  // namespace ingot::ref
