// SPDX-License-Identifier: Apache-2.0
// The layouts with blocks of 256: one small unpacker each; the arithmetic is q8g256_core.h.
// One token: bound by the weights' bytes. Many: about 2.1 vector operations per 32 products for
// 4-bit codes, 2.5 to 4 for wider ones. Show it with `ingot bench kernels linear`.
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
__m256i moved_bits(__m256i bytes, int64_t mask, int64_t places) {
  const __m256i bits = _mm256_and_si256(bytes, _mm256_set1_epi8(static_cast<char>(mask)));
  return places >= 0 ? _mm256_slli_epi16(bits, static_cast<int>(places))
                     : _mm256_srli_epi16(bits, static_cast<int>(-places));
}

// Sixteen bytes, one per 16 columns: even ones first, as the core wants its scales.
__m128i even_odd(__m128i bytes) {
  return _mm_shuffle_epi8(bytes,
                          _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
}

// The 6-bit scales and mins of Q4_K and Q5_K, eight of each for 32 columns (see the reference): the
// three words become bytes of scales 0-3, scales 4-7, mins 0-3, mins 4-7.
void unpack_scales(const uint8_t (&packed)[12], Unpacked256& out) {
  const __m128i words = load_16_bytes(packed);  // codes follow: reading on is within the block
  const __m128i low = _mm_and_si128(
      _mm_srlv_epi32(_mm_shuffle_epi32(words, _MM_SHUFFLE(2, 1, 2, 0)), _mm_setr_epi32(0, 0, 0, 4)),
      _mm_setr_epi32(0x3F3F3F3F, 0x0F0F0F0F, 0x3F3F3F3F, 0x0F0F0F0F));
  const __m128i high =
      _mm_and_si128(_mm_srli_epi32(_mm_shuffle_epi32(words, _MM_SHUFFLE(1, 1, 0, 0)), 2),
                    _mm_setr_epi32(0, 0x30303030, 0, 0x30303030));
  const __m256i all = _mm256_cvtepu8_epi16(_mm_or_si128(low, high));
  out.scales = _mm256_permute4x64_epi64(all, _MM_SHUFFLE(1, 0, 1, 0));  // even and odd are the same
  const __m256i mins = _mm256_permute4x64_epi64(all, _MM_SHUFFLE(3, 3, 2, 2));
  out.mins = _mm256_unpacklo_epi16(mins, mins);
}

struct Q2KWeights {
  using Block = Q2_K;
  static constexpr int64_t kGroup = 16;
  static constexpr int64_t kMaxCode = 3;
  static constexpr bool kIsSigned = false;
  static constexpr Mins kMins = Mins::kAffine;
  static void unpack(const Q2_K& block, Unpacked256& out) {
    for (int64_t half = 0; half < 2; ++half) {
      const __m256i bytes = load_32_bytes(block.codes + half * 32);
      for (int64_t part = 0; part < 4; ++part)
        out.codes[half * 4 + part] = moved_bits(bytes, 3 << (2 * part), -2 * part);
    }
    const __m128i bytes = load_16_bytes(block.group_scales);
    out.scales = _mm256_and_si256(_mm256_cvtepu8_epi16(even_odd(bytes)), _mm256_set1_epi16(0xF));
    out.mins = _mm256_srli_epi16(_mm256_cvtepu8_epi16(bytes), 4);
    out.scale = widen(block.scale);
    out.min_scale = widen(block.min_scale);
  }
};

struct Q3KWeights {
  using Block = Q3_K;
  static constexpr int64_t kGroup = 16;
  static constexpr int64_t kMaxCode = 7;  // shifted by 4
  static constexpr bool kIsSigned = false;
  static constexpr Mins kMins = Mins::kOffset;
  static void unpack(const Q3_K& block, Unpacked256& out) {
    const __m256i high = load_32_bytes(block.high_bits);
    for (int64_t half = 0; half < 2; ++half) {
      const __m256i bytes = load_32_bytes(block.codes + half * 32);
      for (int64_t part = 0; part < 4; ++part) {
        const int64_t bit = half * 4 + part;
        out.codes[bit] = _mm256_or_si256(moved_bits(bytes, 3 << (2 * part), -2 * part),
                                         moved_bits(high, 1 << bit, 2 - bit));
      }
    }
    // Words 0, 1, 0, 1 hold the low nibbles of groups 0-3, 4-7, 8-11, 12-15; word 2 all top bits.
    const __m128i words = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(block.group_scales));
    const __m128i low = _mm_srlv_epi32(_mm_shuffle_epi32(words, _MM_SHUFFLE(1, 0, 1, 0)),
                                       _mm_setr_epi32(0, 0, 4, 4));
    int32_t top;
    __builtin_memcpy(&top, block.group_scales + 8, sizeof(top));
    const __m128i top_bits = _mm_slli_epi32(
        _mm_and_si128(_mm_srlv_epi32(_mm_set1_epi32(top), _mm_setr_epi32(0, 2, 4, 6)),
                      _mm_set1_epi8(3)),
        4);
    const __m128i bytes = _mm_sub_epi8(
        _mm_or_si128(_mm_and_si128(low, _mm_set1_epi8(0xF)), top_bits), _mm_set1_epi8(32));
    out.scales = _mm256_cvtepi8_epi16(even_odd(bytes));
    out.mins = _mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), 2);
    out.scale = widen(block.scale);
    out.min_scale = 0;
  }
};

struct Q4KWeights {
  using Block = Q4_K;
  static constexpr int64_t kGroup = 32;
  static constexpr int64_t kMaxCode = 15;
  static constexpr bool kIsSigned = false;
  static constexpr Mins kMins = Mins::kAffine;
  static void unpack(const Q4_K& block, Unpacked256& out) {
    for (int64_t i = 0; i < 4; ++i) {
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
  static constexpr int64_t kGroup = 32;
  static constexpr int64_t kMaxCode = 31;
  static constexpr bool kIsSigned = false;
  static constexpr Mins kMins = Mins::kAffine;
  static void unpack(const Q5_K& block, Unpacked256& out) {
    const __m256i high = load_32_bytes(block.high_bits);
    for (int64_t i = 0; i < 4; ++i) {
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
  static constexpr int64_t kGroup = 16;
  static constexpr int64_t kMaxCode = 63;  // shifted by 32
  static constexpr bool kIsSigned = false;
  static constexpr Mins kMins = Mins::kOffset;
  static void unpack(const Q6_K& block, Unpacked256& out) {
    for (int64_t half = 0; half < 2; ++half) {
      const __m256i low_a = load_32_bytes(block.low_bits + half * 64);
      const __m256i low_b = load_32_bytes(block.low_bits + half * 64 + 32);
      const __m256i high = load_32_bytes(block.high_bits + half * 32);
      __m256i* codes = out.codes + half * 4;
      codes[0] = _mm256_or_si256(low_nibbles(low_a), moved_bits(high, 0x03, 4));
      codes[1] = _mm256_or_si256(low_nibbles(low_b), moved_bits(high, 0x0C, 2));
      codes[2] = _mm256_or_si256(high_nibbles(low_a), moved_bits(high, 0x30, 0));
      codes[3] = _mm256_or_si256(high_nibbles(low_b), moved_bits(high, 0xC0, -2));
    }
    const __m128i bytes = load_16_bytes(block.group_scales);
    out.scales = _mm256_cvtepi8_epi16(even_odd(bytes));
    out.mins = _mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), 5);
    out.scale = widen(block.scale);
    out.min_scale = 0;
  }
};

struct Iq4XsWeights {
  using Block = IQ4_XS;
  static constexpr int64_t kGroup = 32;
  static constexpr int64_t kMaxCode = 127;
  static constexpr bool kIsSigned = true;
  static constexpr Mins kMins = Mins::kNone;
  static void unpack(const IQ4_XS& block, Unpacked256& out) {
    const __m256i levels = _mm256_broadcastsi128_si256(load_16_bytes(kIq4Codes));
    for (int64_t i = 0; i < 8; ++i) {
      const __m128i bytes = load_16_bytes(block.codes + i * 16);
      const __m256i both = _mm256_set_m128i(_mm_srli_epi16(bytes, 4), bytes);
      out.codes[i] = _mm256_shuffle_epi8(levels, low_nibbles(both));
    }
    uint32_t low;
    __builtin_memcpy(&low, block.scales_low, sizeof(low));
    const uint64_t bytes = _pdep_u64(low, 0x0F0F0F0F0F0F0F0Fu) |
                           (_pdep_u64(block.scales_high, 0x0303030303030303u) << 4);
    const __m128i words = _mm_cvtepu8_epi16(_mm_cvtsi64_si128(static_cast<int64_t>(bytes)));
    out.scales = _mm256_broadcastsi128_si256(_mm_sub_epi16(words, _mm_set1_epi16(32)));
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
  linear_by_codes<Q8G256Core<Iq4XsWeights>>(args, begin, end);
}

}  // namespace ingot::cpu
