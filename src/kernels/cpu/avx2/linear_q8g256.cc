// SPDX-License-Identifier: Apache-2.0
// The layouts with blocks of 256: one small unpacker each; the arithmetic is q8g256_core.h.
// One token: bound by the weights' bytes. Many: about 2.1 vector operations per 32 products for
// 4-bit codes, 2.5 to 4 for wider ones. Show it with `bench_kernels linear`.
#include "blocks/iq4_xs.h"
#include "blocks/q2_k.h"
#include "blocks/q3_k.h"
#include "blocks/q4_k.h"
#include "blocks/q5_k.h"
#include "blocks/q6_k.h"
#include "kernels/code_levels.h"
#include "kernels/cpu/avx2/linear.h"
#include "kernels/cpu/avx2/q8g256_core.h"

namespace ingot::cpu {
namespace {

float widen(Half value) {
  return _cvtsh_ss(value.bits);
}

__m256i low_nibbles(__m256i bytes) {
  return _mm256_and_si256(bytes, _mm256_set1_epi8(0xF));
}
__m256i high_nibbles(__m256i bytes) {
  return low_nibbles(_mm256_srli_epi16(bytes, 4));
}
// `mask` chooses bits of every byte; they move to a higher (negative: lower) place in it.
__m256i moved_bits(__m256i bytes, int mask, int places) {
  const __m256i bits = _mm256_and_si256(bytes, _mm256_set1_epi8(static_cast<char>(mask)));
  return places >= 0 ? _mm256_slli_epi16(bits, places) : _mm256_srli_epi16(bits, -places);
}

// Eight 16-bit values, each for 32 columns, to sixteen, each for 16.
__m256i doubled(__m128i words) {
  return _mm256_set_m128i(_mm_unpackhi_epi16(words, words), _mm_unpacklo_epi16(words, words));
}

// The 6-bit scales and mins of Q4_K and Q5_K (see the reference), all eight at once in bytes.
void unpack_scales(const uint8_t (&packed)[12], Unpacked256& out) {
  uint32_t words[3];
  __builtin_memcpy(words, packed, sizeof(words));
  const uint32_t scales_low = words[0] & 0x3F3F3F3Fu;
  const uint32_t mins_low = words[1] & 0x3F3F3F3Fu;
  const uint32_t scales_high = (words[2] & 0x0F0F0F0Fu) | ((words[0] >> 2) & 0x30303030u);
  const uint32_t mins_high = ((words[2] >> 4) & 0x0F0F0F0Fu) | ((words[1] >> 2) & 0x30303030u);
  const __m256i all = _mm256_cvtepu8_epi16(
      _mm_setr_epi32(static_cast<int32_t>(scales_low), static_cast<int32_t>(scales_high),
                     static_cast<int32_t>(mins_low), static_cast<int32_t>(mins_high)));
  out.scales = doubled(_mm256_castsi256_si128(all));
  out.mins = doubled(_mm256_extracti128_si256(all, 1));
}

struct Q2KWeights {
  using Block = Q2_K;
  static constexpr int kGroup = 16;
  static constexpr int kMaxCode = 3;
  static constexpr bool kIsSigned = false;
  static constexpr Mins kMins = Mins::kAffine;
  static void unpack(const Q2_K& block, Unpacked256& out) {
    for (int half = 0; half < 2; ++half) {
      const __m256i bytes = load_32_bytes(block.codes + half * 32);
      for (int part = 0; part < 4; ++part)
        out.codes[half * 4 + part] = moved_bits(bytes, 3 << (2 * part), -2 * part);
    }
    const __m256i bytes = _mm256_cvtepu8_epi16(load_16_bytes(block.group_scales));
    out.scales = _mm256_and_si256(bytes, _mm256_set1_epi16(0xF));
    out.mins = _mm256_srli_epi16(bytes, 4);
    out.scale = widen(block.scale);
    out.min_scale = widen(block.min_scale);
  }
};

struct Q3KWeights {
  using Block = Q3_K;
  static constexpr int kGroup = 16;
  static constexpr int kMaxCode = 7;  // shifted by 4
  static constexpr bool kIsSigned = false;
  static constexpr Mins kMins = Mins::kOffset;
  static void unpack(const Q3_K& block, Unpacked256& out) {
    const __m256i high = load_32_bytes(block.high_bits);
    for (int half = 0; half < 2; ++half) {
      const __m256i bytes = load_32_bytes(block.codes + half * 32);
      for (int part = 0; part < 4; ++part) {
        const int bit = half * 4 + part;
        out.codes[bit] = _mm256_or_si256(moved_bits(bytes, 3 << (2 * part), -2 * part),
                                         moved_bits(high, 1 << bit, 2 - bit));
      }
    }
    uint32_t words[3];
    __builtin_memcpy(words, block.group_scales, sizeof(words));
    const auto four_scales = [&](int i) {  // of groups 4i ...
      const uint32_t low = (words[i % 2] >> (i / 2 * 4)) & 0x0F0F0F0Fu;
      return static_cast<int32_t>(low | (((words[2] >> (2 * i)) & 0x03030303u) << 4));
    };
    const __m128i bytes =
        _mm_setr_epi32(four_scales(0), four_scales(1), four_scales(2), four_scales(3));
    out.scales = _mm256_cvtepi8_epi16(_mm_sub_epi8(bytes, _mm_set1_epi8(32)));
    out.mins = _mm256_slli_epi16(out.scales, 2);
    out.scale = widen(block.scale);
    out.min_scale = 0;
  }
};

struct Q4KWeights {
  using Block = Q4_K;
  static constexpr int kGroup = 32;
  static constexpr int kMaxCode = 15;
  static constexpr bool kIsSigned = false;
  static constexpr Mins kMins = Mins::kAffine;
  static void unpack(const Q4_K& block, Unpacked256& out) {
    for (int i = 0; i < 4; ++i) {
      const __m256i bytes = load_32_bytes(block.codes + i * 32);
      out.codes[2 * i] = low_nibbles(bytes);
      out.codes[2 * i + 1] = high_nibbles(bytes);
    }
    unpack_scales(block.group_scales, out);
    out.scale = widen(block.scale);
    out.min_scale = widen(block.min_scale);
  }
};

struct Q5KWeights {
  using Block = Q5_K;
  static constexpr int kGroup = 32;
  static constexpr int kMaxCode = 31;
  static constexpr bool kIsSigned = false;
  static constexpr Mins kMins = Mins::kAffine;
  static void unpack(const Q5_K& block, Unpacked256& out) {
    const __m256i high = load_32_bytes(block.high_bits);
    for (int i = 0; i < 4; ++i) {
      const __m256i bytes = load_32_bytes(block.codes + i * 32);
      out.codes[2 * i] =
          _mm256_or_si256(low_nibbles(bytes), moved_bits(high, 1 << (2 * i), 4 - 2 * i));
      out.codes[2 * i + 1] =
          _mm256_or_si256(high_nibbles(bytes), moved_bits(high, 2 << (2 * i), 3 - 2 * i));
    }
    unpack_scales(block.group_scales, out);
    out.scale = widen(block.scale);
    out.min_scale = widen(block.min_scale);
  }
};

struct Q6KWeights {
  using Block = Q6_K;
  static constexpr int kGroup = 16;
  static constexpr int kMaxCode = 63;  // shifted by 32
  static constexpr bool kIsSigned = false;
  static constexpr Mins kMins = Mins::kOffset;
  static void unpack(const Q6_K& block, Unpacked256& out) {
    for (int half = 0; half < 2; ++half) {
      const __m256i low_a = load_32_bytes(block.low_bits + half * 64);
      const __m256i low_b = load_32_bytes(block.low_bits + half * 64 + 32);
      const __m256i high = load_32_bytes(block.high_bits + half * 32);
      __m256i* codes = out.codes + half * 4;
      codes[0] = _mm256_or_si256(low_nibbles(low_a), moved_bits(high, 0x03, 4));
      codes[1] = _mm256_or_si256(low_nibbles(low_b), moved_bits(high, 0x0C, 2));
      codes[2] = _mm256_or_si256(high_nibbles(low_a), moved_bits(high, 0x30, 0));
      codes[3] = _mm256_or_si256(high_nibbles(low_b), moved_bits(high, 0xC0, -2));
    }
    out.scales = _mm256_cvtepi8_epi16(load_16_bytes(block.group_scales));
    out.mins = _mm256_slli_epi16(out.scales, 5);
    out.scale = widen(block.scale);
    out.min_scale = 0;
  }
};

struct IQ4XSWeights {
  using Block = IQ4_XS;
  static constexpr int kGroup = 32;
  static constexpr int kMaxCode = 127;
  static constexpr bool kIsSigned = true;
  static constexpr Mins kMins = Mins::kNone;
  static void unpack(const IQ4_XS& block, Unpacked256& out) {
    const __m256i levels = _mm256_broadcastsi128_si256(load_16_bytes(kIq4Codes));
    for (int i = 0; i < 8; ++i) {
      const __m128i bytes = load_16_bytes(block.codes + i * 16);
      const __m256i both = _mm256_set_m128i(_mm_srli_epi16(bytes, 4), bytes);
      out.codes[i] = _mm256_shuffle_epi8(levels, low_nibbles(both));
    }
    uint32_t low;
    __builtin_memcpy(&low, block.scales_low, sizeof(low));
    const uint64_t bytes = _pdep_u64(low, 0x0F0F0F0F0F0F0F0Fu) |
                           (_pdep_u64(block.scales_high, 0x0303030303030303u) << 4);
    const __m128i words = _mm_cvtepu8_epi16(_mm_cvtsi64_si128(static_cast<int64_t>(bytes)));
    out.scales = doubled(_mm_sub_epi16(words, _mm_set1_epi16(32)));
    out.mins = _mm256_setzero_si256();
    out.scale = widen(block.scale);
    out.min_scale = 0;
  }
};

}  // namespace

void linear_q2_k_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_codes<Q8G256Core<Q2KWeights>>(args, begin, end);
}
void linear_q3_k_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_codes<Q8G256Core<Q3KWeights>>(args, begin, end);
}
void linear_q4_k_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_codes<Q8G256Core<Q4KWeights>>(args, begin, end);
}
void linear_q5_k_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_codes<Q8G256Core<Q5KWeights>>(args, begin, end);
}
void linear_q6_k_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_codes<Q8G256Core<Q6KWeights>>(args, begin, end);
}
void linear_iq4_xs_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_codes<Q8G256Core<IQ4XSWeights>>(args, begin, end);
}

}  // namespace ingot::cpu
