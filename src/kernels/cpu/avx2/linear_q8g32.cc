// SPDX-License-Identifier: Apache-2.0
// The layouts with groups of 32: one small unpacker each; the arithmetic is q8g32_core.h.
// One token: bound by the weights' bytes. Many: about 2.3 vector operations per 32 products for
// 4-bit codes, 4 for signed 8-bit ones. Show it with `ingot bench kernels linear`.
#include "blocks/iq4_nl.h"
#include "blocks/mxfp4.h"
#include "blocks/q4_0.h"
#include "blocks/q4_1.h"
#include "blocks/q5_0.h"
#include "blocks/q5_1.h"
#include "blocks/q8_0.h"
#include "kernels/code_levels.h"
#include "kernels/cpu/avx2/linear.h"
#include "kernels/cpu/avx2/q8g32_core.h"

namespace ingot::cpu {
namespace {

// 16 bytes to 32 nibbles: the low ones, then the high ones.
__m256i nibbles(const uint8_t (&codes)[16]) {
  const __m128i bytes = load_16_bytes(codes);
  return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(bytes, 4), bytes), _mm256_set1_epi8(0xF));
}

// 32 bits to 32 bytes of 0 or 16.
__m256i fifth_bits(const uint8_t (&bits)[4]) {
  const __m256i bytes = _mm256_shuffle_epi8(
      broadcast_4_bytes(bits),
      _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303));
  const __m256i bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201u));
  const __m256i is_set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
  return _mm256_and_si256(is_set, _mm256_set1_epi8(16));
}

// One half-precision field of up to eight blocks. Eight whole ones go by insertions: to write them
// to memory and load them as a vector would wait for the stores.
template <class Block>
[[gnu::always_inline]] inline __m256 gather(const Block* blocks, int64_t count,
                                            Half Block::*field) {
  const auto bits = [&](int64_t i) {
    return i < count ? static_cast<int16_t>((blocks[i].*field).bits) : int16_t{0};
  };
  return _mm256_cvtph_ps(
      _mm_setr_epi16(bits(0), bits(1), bits(2), bits(3), bits(4), bits(5), bits(6), bits(7)));
}

template <class B, int MaxCode, int Offset, bool IsSigned, bool HasMin>
struct Traits {
  using Block = B;
  static constexpr int64_t kMaxCode = MaxCode;
  static constexpr int kOffset = Offset;
  static constexpr bool kIsSigned = IsSigned;
  static constexpr bool kHasMin = HasMin;
  [[gnu::always_inline]] static void scales(const Block* blocks, int64_t count, Unpacked32& out) {
    out.scales = gather(blocks, count, &Block::scale);
    if constexpr (HasMin) out.mins = gather(blocks, count, &Block::min);
  }
};

struct Q40Weights : Traits<Q4_0, 15, 8, false, false> {
  static __m256i unpack(const Q4_0& block) { return nibbles(block.codes); }
};
struct Q41Weights : Traits<Q4_1, 15, 0, false, true> {
  static __m256i unpack(const Q4_1& block) { return nibbles(block.codes); }
};
struct Q50Weights : Traits<Q5_0, 31, 16, false, false> {
  static __m256i unpack(const Q5_0& block) {
    return _mm256_or_si256(nibbles(block.codes), fifth_bits(block.high_bits));
  }
};
struct Q51Weights : Traits<Q5_1, 31, 0, false, true> {
  static __m256i unpack(const Q5_1& block) {
    return _mm256_or_si256(nibbles(block.codes), fifth_bits(block.high_bits));
  }
};
struct Q80Weights : Traits<Q8_0, 128, 0, true, false> {
  static __m256i unpack(const Q8_0& block) { return load_32_bytes(block.codes); }
};
struct Iq4NlWeights : Traits<IQ4_NL, 127, 0, true, false> {
  static __m256i unpack(const IQ4_NL& block) {
    const __m256i levels = _mm256_broadcastsi128_si256(load_16_bytes(kIq4Codes));
    return _mm256_shuffle_epi8(levels, nibbles(block.codes));
  }
};
struct Mxfp4Weights : Traits<MXFP4, 24, 12, false, false> {
  static __m256i unpack(const MXFP4& block) {
    const __m256i levels = _mm256_add_epi8(_mm256_broadcastsi128_si256(load_16_bytes(kE2m1Codes)),
                                           _mm256_set1_epi8(12));
    return _mm256_shuffle_epi8(levels, nibbles(block.codes));
  }
  // 2^(scale - 128), as the codes are doubled: by bits, with the two subnormal ones and NaN.
  [[gnu::always_inline]] static void scales(const MXFP4* blocks, int64_t count, Unpacked32& out) {
    const auto byte = [&](int64_t i) {
      return i < count ? static_cast<char>(blocks[i].scale.bits) : char{0};
    };
    const __m256i exponents =
        _mm256_cvtepu8_epi32(_mm_setr_epi8(byte(0), byte(1), byte(2), byte(3), byte(4), byte(5),
                                           byte(6), byte(7), 0, 0, 0, 0, 0, 0, 0, 0));
    const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(exponents, _mm256_set1_epi32(1)), 23);
    const __m256i subnormal = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), exponents);
    const __m256i is_subnormal = _mm256_cmpgt_epi32(_mm256_set1_epi32(2), exponents);
    const __m256i is_nan = _mm256_cmpeq_epi32(exponents, _mm256_set1_epi32(0xFF));
    const __m256i bits = _mm256_or_si256(_mm256_blendv_epi8(normal, subnormal, is_subnormal),
                                         _mm256_and_si256(is_nan, _mm256_set1_epi32(0x7FC00000)));
    out.scales = _mm256_castsi256_ps(bits);
  }
};

}  // namespace

void linear_q4_0_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_codes<Q8G32Core<Q40Weights>>(args, begin, end);
}
void linear_q4_1_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_codes<Q8G32Core<Q41Weights>>(args, begin, end);
}
void linear_q5_0_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_codes<Q8G32Core<Q50Weights>>(args, begin, end);
}
void linear_q5_1_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_codes<Q8G32Core<Q51Weights>>(args, begin, end);
}
void linear_q8_0_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_codes<Q8G32Core<Q80Weights>>(args, begin, end);
}
void linear_iq4_nl_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_codes<Q8G32Core<Iq4NlWeights>>(args, begin, end);
}
void linear_mxfp4_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_codes<Q8G32Core<Mxfp4Weights>>(args, begin, end);
}

}  // namespace ingot::cpu
