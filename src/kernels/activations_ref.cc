// SPDX-License-Identifier: Apache-2.0
#include "kernels/activations_ref.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/float_types.h"

namespace ingot::ref {
namespace {

// The largest code, and the largest value below which most / value would overflow; nothing a float
// sum could see is lost.
struct CodeRange {
  float most;
  float smallest;
};
constexpr CodeRange kInt8{127, 0x1p-120F};
constexpr CodeRange kInt13{kMostOfI16G128, 0x1p-115F};

// Writes `count` codes and returns their scale.
template <class Code>
float quantize(const float* x, int64_t count, CodeRange range, Code* codes) {
  // Compared as bits, so that a NaN is larger than everything.
  uint32_t largest_bits = 0;
  for (int64_t i = 0; i < count; ++i)
    largest_bits = std::max(largest_bits, std::bit_cast<uint32_t>(x[i]) & 0x7FFFFFFFu);
  const auto largest = std::bit_cast<float>(largest_bits);
  const bool is_finite = std::isfinite(largest);
  const bool is_usable = is_finite && largest >= range.smallest;
  const float inverse = is_usable ? range.most / largest : 0.0F;
  for (int64_t i = 0; i < count; ++i)
    codes[i] = is_usable ? static_cast<Code>(std::nearbyint(x[i] * inverse)) : Code{0};
  if (!is_finite) return std::numeric_limits<float>::quiet_NaN();
  return is_usable ? largest / range.most : 0.0F;
}

int sum(const int8_t* codes, int64_t count) {
  int total = 0;
  for (int64_t i = 0; i < count; ++i)
    total += codes[i];
  return total;
}

}  // namespace

void pack_bf16(const PackArgs& args, int64_t begin, int64_t end) {
  const int64_t width = (args.cols + 31) / 32 * 32;
  for (int64_t token = begin; token < end; ++token) {
    auto* out = reinterpret_cast<BFloat16*>(args.out) + token * width;
    for (int64_t col = 0; col < width; ++col)
      out[col] = col < args.cols ? to_bfloat16(args.x[token * args.cols + col]) : BFloat16{0};
  }
}

void pack_q8g32(const PackArgs& args, int64_t begin, int64_t end) {
  const auto row_bytes =
      static_cast<int64_t>(activation_row_bytes(ActivationLayout::kQ8G32, args.cols));
  for (int64_t token = begin; token < end; ++token) {
    const float* x = args.x + token * args.cols;
    auto* blocks = reinterpret_cast<Q8G32*>(args.out + token * row_bytes);
    for (int64_t col = 0; col < args.cols; col += kPackedColumns) {
      Q8G32& block = blocks[col / kPackedColumns];
      block = Q8G32{};
      for (int64_t group = 0; group < 8 && col + group * 32 < args.cols; ++group) {
        int8_t* codes = block.codes + group * 32;
        block.scales[group] = quantize(x + col + group * 32, 32, kInt8, codes);
        block.sums[group] = sum(codes, 32);
        block.weighed[group] = block.scales[group] * static_cast<float>(block.sums[group]);
      }
    }
  }
}

void pack_i16g128(const PackArgs& args, int64_t begin, int64_t end) {
  for (int64_t token = begin; token < end; ++token) {
    const float* x = args.x + token * args.cols;
    auto* block = reinterpret_cast<I16G128*>(args.out) + token * (args.cols / kPackedColumns);
    for (int64_t col = 0; col < args.cols; col += kPackedColumns, ++block) {
      for (int64_t group = 0; group < 2; ++group) {
        int16_t* codes = block->codes + group * 128;
        const float* from = x + col + group * 128;
        block->scales[group] = quantize(from, 128, kInt13, codes);
        int sizes = 0;
        for (int64_t i = 0; i < 128; ++i)
          sizes += std::abs(codes[i]);
        if (sizes > kMostSumOfI16G128) {
          const int most = kMostOfI16G128 * kUsedSumOfI16G128 / sizes;
          const CodeRange range{static_cast<float>(most), kInt13.smallest};
          block->scales[group] = quantize(from, 128, range, codes);
        }
        block->crossed[group] = 0;
        for (int64_t i = 0; i < 128; i += 4)
          block->crossed[group] += codes[i] * codes[i + 2] + codes[i + 1] * codes[i + 3];
      }
    }
  }
}

void pack_q8g256(const PackArgs& args, int64_t begin, int64_t end) {
  const auto row_bytes =
      static_cast<int64_t>(activation_row_bytes(ActivationLayout::kQ8G256, args.cols));
  for (int64_t token = begin; token < end; ++token) {
    const float* x = args.x + token * args.cols;
    auto* blocks = reinterpret_cast<Q8G256*>(args.out + token * row_bytes);
    for (int64_t col = 0; col < args.cols; col += kPackedColumns) {
      Q8G256& block = blocks[col / kPackedColumns];
      block.scale = quantize(x + col, kPackedColumns, kInt8, block.codes);
      for (int64_t group = 0; group < 16; ++group)
        block.sums_of_16[group] = static_cast<int16_t>(sum(block.codes + group * 16, 16));
      for (int64_t group = 0; group < 8; ++group)
        block.sums_of_32[group] = static_cast<int16_t>(sum(block.codes + group * 32, 32));
    }
  }
}

}  // namespace ingot::ref
