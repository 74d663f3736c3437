// SPDX-License-Identifier: Apache-2.0
// References of the layouts with groups of 32, by activations in groups of 32. Products of codes
// are summed as integers, so only the sum over groups is rounded: eight groups as one tree, the
// trees in sequence. The fast twins do the same operations and give the same bits.
#include <cstring>

#include "blocks/iq4_nl.h"
#include "blocks/mxfp4.h"
#include "blocks/q4_0.h"
#include "blocks/q4_1.h"
#include "blocks/q5_0.h"
#include "blocks/q5_1.h"
#include "blocks/q8_0.h"
#include "kernels/code_levels.h"
#include "kernels/linear_ref.h"

namespace ingot::ref {
namespace {

struct Group {  // weight = scale * code + min
  float scale = 0;
  float min = 0;
  int8_t codes[32] = {};
};

template <class Block>
int nibble(const Block& block, int i) {
  return i < 16 ? block.codes[i] & 0xF : block.codes[i - 16] >> 4;
}
template <class Block>
int high_bit(const Block& block, int i) {
  return (block.high_bits[i / 8] >> (i % 8)) & 1;
}

Group unpack(const Q4_0& block) {
  Group group{.scale = to_float(block.scale)};
  for (int i = 0; i < 32; ++i)
    group.codes[i] = static_cast<int8_t>(nibble(block, i) - 8);
  return group;
}
Group unpack(const Q4_1& block) {
  Group group{.scale = to_float(block.scale), .min = to_float(block.min)};
  for (int i = 0; i < 32; ++i)
    group.codes[i] = static_cast<int8_t>(nibble(block, i));
  return group;
}
Group unpack(const Q5_0& block) {
  Group group{.scale = to_float(block.scale)};
  for (int i = 0; i < 32; ++i)
    group.codes[i] = static_cast<int8_t>(nibble(block, i) + 16 * high_bit(block, i) - 16);
  return group;
}
Group unpack(const Q5_1& block) {
  Group group{.scale = to_float(block.scale), .min = to_float(block.min)};
  for (int i = 0; i < 32; ++i)
    group.codes[i] = static_cast<int8_t>(nibble(block, i) + 16 * high_bit(block, i));
  return group;
}
Group unpack(const Q8_0& block) {
  Group group{.scale = to_float(block.scale)};
  for (int i = 0; i < 32; ++i)
    group.codes[i] = block.codes[i];
  return group;
}
Group unpack(const IQ4_NL& block) {
  Group group{.scale = to_float(block.scale)};
  for (int i = 0; i < 32; ++i)
    group.codes[i] = kIq4Codes[nibble(block, i)];
  return group;
}
Group unpack(const MXFP4& block) {
  Group group{.scale = to_float(block.scale) * 0.5F};  // the codes are doubled to be whole
  for (int i = 0; i < 32; ++i)
    group.codes[i] = kE2m1Codes[nibble(block, i)];
  return group;
}

// One group's share of an output.
float product(const Group& group, const Q8G32& x, int64_t index) {
  int sum = 0;
  for (int i = 0; i < 32; ++i)
    sum += group.codes[i] * x.codes[index * 32 + i];
  const float scaled = group.scale * x.scales[index] * static_cast<float>(sum);
  return scaled + group.min * (x.scales[index] * static_cast<float>(x.sums[index]));
}

template <class Block>
float dot(const std::byte* row, const Q8G32* x, int64_t groups) {
  float total = 0;
  for (int64_t first = 0; first < groups; first += 8, ++x) {
    float p[8] = {};
    for (int64_t i = 0; i < 8 && first + i < groups; ++i) {
      Block block{};
      std::memcpy(&block, row + (first + i) * static_cast<int64_t>(sizeof(Block)), sizeof(Block));
      p[i] = product(unpack(block), *x, i);
    }
    total += ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
  }
  return total;
}

template <class Block>
void linear(const LinearArgs& args, int64_t begin, int64_t end) {
  const auto x_bytes =
      static_cast<int64_t>(activation_row_bytes(ActivationLayout::kQ8G32, args.cols));
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t token = 0; token < args.tokens; ++token) {
      const float sum =
          dot<Block>(args.weights + row * args.weight_row_bytes,
                     reinterpret_cast<const Q8G32*>(args.x + token * x_bytes), args.cols / 32);
      args.y[token * args.y_stride + row] = args.bias == nullptr ? sum : sum + args.bias[row];
    }
  }
}

}  // namespace

void linear_q4_0(const LinearArgs& args, int64_t begin, int64_t end) {
  linear<Q4_0>(args, begin, end);
}
void linear_q4_1(const LinearArgs& args, int64_t begin, int64_t end) {
  linear<Q4_1>(args, begin, end);
}
void linear_q5_0(const LinearArgs& args, int64_t begin, int64_t end) {
  linear<Q5_0>(args, begin, end);
}
void linear_q5_1(const LinearArgs& args, int64_t begin, int64_t end) {
  linear<Q5_1>(args, begin, end);
}
void linear_q8_0(const LinearArgs& args, int64_t begin, int64_t end) {
  linear<Q8_0>(args, begin, end);
}
void linear_iq4_nl(const LinearArgs& args, int64_t begin, int64_t end) {
  linear<IQ4_NL>(args, begin, end);
}
void linear_mxfp4(const LinearArgs& args, int64_t begin, int64_t end) {
  linear<MXFP4>(args, begin, end);
}

}  // namespace ingot::ref
