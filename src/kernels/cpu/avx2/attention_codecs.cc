// SPDX-License-Identifier: Apache-2.0
// Rows of the KV cache: written 8 values at a time to the same bytes as by the scalar codecs, and
// scored and mixed as they lie. Reading takes 1 to 7 instructions per 8 values, against one
// multiply-add for each query that shares the read: with 4 queries to a kv head, f16 is as much
// bound by arithmetic as by memory. Show it with `ingot bench kernels attention`.
#include "kernels/cpu/attention_tiles.h"
#include "kernels/cpu/avx2/attention.h"
#include "kernels/cpu/avx2/attention_rows.h"

namespace ingot::cpu {
namespace {

// Eight codes of at most 8 bits, one to a lane, to 8 bytes.
void store_8_bytes(__m256i codes, std::byte* to) {
  const __m128i words =
      _mm_packus_epi32(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
}

// The plain types: each value by itself.
struct F32Writer {
  static constexpr int64_t kBits = 32;
  static void store(__m256 value, std::byte* to) {
    _mm256_storeu_ps(reinterpret_cast<float*>(to), value);
  }
};
struct F16Writer {
  static constexpr int64_t kBits = 16;
  static void store(__m256 value, std::byte* to) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
  }
};
struct BF16Writer {
  static constexpr int64_t kBits = 16;
  static void store(__m256 value, std::byte* to) {
    const __m256i bits = _mm256_castps_si256(value);
    // Ties to even: add 0x7FFF and the lowest bit that stays. A NaN keeps its top bits, made quiet.
    const __m256i lowest = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_srli_epi32(
        _mm256_add_epi32(bits, _mm256_add_epi32(lowest, _mm256_set1_epi32(0x7FFF))), 16);
    const __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    const __m256i words = _mm256_blendv_epi8(rounded, quiet, is_nan);
    const __m256i packed = _mm256_packus_epi32(words, words);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08)));
  }
};

// To 8 bits with `Mantissa` of them for the mantissa: ties to even, the largest finite value for
// all that is larger, `NanCode` for what is not a number.
template <int Mantissa, int Bias, int LargestBits, int NanCode>
void store_fp8(__m256 value, std::byte* to) {
  constexpr int kShift = 23 - Mantissa;
  const __m256i bits = _mm256_castps_si256(value);
  const __m256i sign = _mm256_and_si256(_mm256_srli_epi32(bits, 24), _mm256_set1_epi32(0x80));
  const __m256i size = _mm256_and_si256(bits, _mm256_set1_epi32(0x7FFFFFFF));
  const __m256i is_nan = _mm256_cmpgt_epi32(size, _mm256_set1_epi32(0x7F800000));
  const __m256i held = _mm256_min_epi32(size, _mm256_set1_epi32(LargestBits));
  const __m256i lowest = _mm256_and_si256(_mm256_srli_epi32(held, kShift), _mm256_set1_epi32(1));
  const __m256i half = _mm256_set1_epi32((1 << (kShift - 1)) - 1);
  const __m256i rounded =
      _mm256_srli_epi32(_mm256_add_epi32(held, _mm256_add_epi32(lowest, half)), kShift);
  const __m256i normal = _mm256_sub_epi32(rounded, _mm256_set1_epi32((127 - Bias) << Mantissa));
  // Subnormals by adding the float whose last bit is worth one step of theirs.
  const __m256i magic = _mm256_set1_epi32((127 + 23 + 1 - Bias - Mantissa) << 23);
  const __m256 sum = _mm256_add_ps(_mm256_castsi256_ps(held), _mm256_castsi256_ps(magic));
  const __m256i subnormal = _mm256_sub_epi32(_mm256_castps_si256(sum), magic);
  const __m256i is_subnormal = _mm256_cmpgt_epi32(_mm256_set1_epi32((127 + 1 - Bias) << 23), held);
  __m256i code = _mm256_blendv_epi8(normal, subnormal, is_subnormal);
  code = _mm256_blendv_epi8(code, _mm256_set1_epi32(NanCode), is_nan);
  store_8_bytes(_mm256_or_si256(code, sign), to);
}

struct Fp8E4M3Writer {
  static constexpr int64_t kBits = 8;
  static void store(__m256 value, std::byte* to) {
    store_fp8<3, 7, 0x43E00000 /* 448 */, 0x7F>(value, to);
  }
};
struct Fp8E5M2Writer {
  static constexpr int64_t kBits = 8;
  static void store(__m256 value, std::byte* to) {
    store_fp8<2, 15, 0x47600000 /* 57344 */, 0x7E>(value, to);
  }
};

__m256 load_some_floats(const float* from, int64_t count) {
  return _mm256_maskload_ps(from, lane_mask(count));
}

// Calls use(index, vector, lanes): whole vectors, then the rest with zeros behind.
template <class Use>
void for_vectors(const float* from, int64_t dim, Use use) {
  int64_t i = 0;
  for (; i + 8 <= dim; i += 8)
    use(i, _mm256_loadu_ps(from + i), 8);
  if (i < dim) use(i, load_some_floats(from + i, dim - i), dim - i);
}

// Writes 8 codes of `Bits` each by store(to), or only the first of them.
template <int64_t Bits, class Store>
void put_codes(std::byte* to, int64_t lanes, Store store) {
  if (lanes == 8) {
    store(to);
    return;
  }
  std::byte all[32];
  store(all);
  __builtin_memcpy(to, all, static_cast<size_t>((lanes * Bits + 7) / 8));
}

template <class Writer>
void store_plain(const float* from, int64_t dim, std::byte* row) {
  for_vectors(from, dim, [&](int64_t i, __m256 value, int64_t lanes) {
    put_codes<Writer::kBits>(row + i * Writer::kBits / 8, lanes,
                             [&](std::byte* to) { Writer::store(value, to); });
  });
}

constexpr float kLargestHalf = 65504.0F;
constexpr uint16_t kNotANumber = 0x7E00;

void put_half(uint16_t bits, std::byte* to) {
  __builtin_memcpy(to, &bits, sizeof(bits));
}
uint16_t half_bits(float value) {
  return static_cast<uint16_t>(
      _mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT)));
}
float largest_lane(__m256 v) {
  __m128 half = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  half = _mm_max_ps(half, _mm_movehl_ps(half, half));
  half = _mm_max_ss(half, _mm_movehdup_ps(half));
  return _mm_cvtss_f32(half);
}

struct Extent {
  float low;
  float high;
  bool is_finite;
};
Extent extent_of(const float* from, int64_t dim) {
  const __m256 infinity = _mm256_set1_ps(__builtin_inff());
  __m256 high = _mm256_sub_ps(_mm256_setzero_ps(), infinity);
  __m256 minus_low = high;
  __m256 strange = _mm256_setzero_ps();
  for_vectors(from, dim, [&](int64_t, __m256 value, int64_t lanes) {
    if (lanes < 8) {  // the first value stands in for those that are not there
      value =
          _mm256_blendv_ps(_mm256_set1_ps(from[0]), value, _mm256_castsi256_ps(lane_mask(lanes)));
    }
    high = _mm256_max_ps(value, high);
    minus_low = _mm256_max_ps(_mm256_sub_ps(_mm256_setzero_ps(), value), minus_low);
    const __m256 gap = _mm256_sub_ps(value, value);  // not a number unless finite
    strange = _mm256_or_ps(strange, _mm256_cmp_ps(gap, gap, _CMP_UNORD_Q));
  });
  return {0.0F - largest_lane(minus_low), largest_lane(high), _mm256_movemask_ps(strange) == 0};
}

float smaller(float a, float b) {
  return a < b ? a : b;
}
float larger(float a, float b) {
  return a > b ? a : b;
}
// round((value - base) / scale), held between low and high.
__m256i codes_of(__m256 value, float base, float scale, float low, float high) {
  const __m256 inverse = _mm256_set1_ps(scale > 0 ? 1.0F / scale : 0.0F);
  const __m256 ratio = _mm256_mul_ps(_mm256_sub_ps(value, _mm256_set1_ps(base)), inverse);
  return _mm256_cvtps_epi32(
      _mm256_max_ps(_mm256_set1_ps(low), _mm256_min_ps(_mm256_set1_ps(high), ratio)));
}

void int8_factors(const std::byte* rows, int64_t count, int64_t dim, float* to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = Int8Row::factor(rows + i * Int8Row::bytes(dim), dim);
}

template <class Row>
constexpr KvRows rows(void (*store)(const float*, int64_t, std::byte*)) {
  return {.store = store,
          .load = load_rows<Avx2, Row>,
          .score = score_runs<Avx2, Row>,
          .mix = mix_runs<Avx2, Row>};
}
constexpr KvRows with_unit(KvRows of, float unit) {
  of.unit = unit;
  return of;
}
constexpr KvRows with_factors(KvRows of, decltype(KvRows::factors) factors) {
  of.factors = factors;
  return of;
}
constexpr KvCodec both(KvRows of, bool rotates_keys) {
  return {of, of, rotates_keys};
}

}  // namespace

void store_f32_avx2(const float* from, int64_t dim, std::byte* row) {
  store_plain<F32Writer>(from, dim, row);
}
void store_f16_avx2(const float* from, int64_t dim, std::byte* row) {
  store_plain<F16Writer>(from, dim, row);
}
void store_bf16_avx2(const float* from, int64_t dim, std::byte* row) {
  store_plain<BF16Writer>(from, dim, row);
}
void store_fp8_e4m3_avx2(const float* from, int64_t dim, std::byte* row) {
  store_plain<Fp8E4M3Writer>(from, dim, row);
}
void store_fp8_e5m2_avx2(const float* from, int64_t dim, std::byte* row) {
  store_plain<Fp8E5M2Writer>(from, dim, row);
}

void store_int8_avx2(const float* from, int64_t dim, std::byte* row) {
  const Extent extent = extent_of(from, dim);
  if (!extent.is_finite) {
    __builtin_memset(row, 0, static_cast<size_t>(dim));
    put_half(kNotANumber, row + dim);
    return;
  }
  const uint16_t bits = half_bits(smaller(larger(-extent.low, extent.high) / 127.0F, kLargestHalf));
  for_vectors(from, dim, [&](int64_t i, __m256 value, int64_t lanes) {
    const __m256i codes = codes_of(value, 0, half_value(bits), -127.0F, 127.0F);
    put_codes<8>(row + i, lanes, [&](std::byte* to) {
      store_8_bytes(_mm256_and_si256(codes, _mm256_set1_epi32(0xFF)), to);
    });
  });
  put_half(bits, row + dim);
}

void store_int4_avx2(const float* from, int64_t dim, std::byte* row) {
  const int64_t code_bytes = (dim + 1) / 2;
  const Extent extent = extent_of(from, dim);
  if (!extent.is_finite) {
    __builtin_memset(row, 0, static_cast<size_t>(code_bytes));
    put_half(kNotANumber, row + code_bytes);
    put_half(kNotANumber, row + code_bytes + 2);
    return;
  }
  const uint16_t base = half_bits(smaller(larger(extent.low, -kLargestHalf), kLargestHalf));
  const uint16_t scale = half_bits(smaller((extent.high - extent.low) / 15.0F, kLargestHalf));
  for_vectors(from, dim, [&](int64_t i, __m256 value, int64_t lanes) {
    __m256i codes = codes_of(value, half_value(base), half_value(scale), 0.0F, 15.0F);
    if (lanes < 8) codes = _mm256_and_si256(codes, lane_mask(lanes));
    codes = _mm256_sllv_epi32(codes, nibble_shifts());
    __m128i packed =
        _mm_or_si128(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1));
    packed = _mm_or_si128(packed, _mm_shuffle_epi32(packed, 0x4E));
    packed = _mm_or_si128(packed, _mm_shuffle_epi32(packed, 0xB1));
    const int32_t word = _mm_cvtsi128_si32(packed);
    put_codes<4>(row + i / 2, lanes, [word](std::byte* to) { __builtin_memcpy(to, &word, 4); });
  });
  put_half(scale, row + code_bytes);
  put_half(base, row + code_bytes + 2);
}

constexpr KvRows kFp8E4M3 =
    with_unit(rows<Fp8E4M3Row>(store_fp8_e4m3_avx2), Fp8E4M3Elements::kUnit);
constinit const KvCodec kCodecF32 = both(rows<F32Row>(store_f32_avx2), false);
constinit const KvCodec kCodecF16 = both(rows<F16Row>(store_f16_avx2), false);
constinit const KvCodec kCodecBf16 = both(rows<BF16Row>(store_bf16_avx2), false);
constinit const KvCodec kCodecFp8E4M3 = both(kFp8E4M3, true);
// Two bits of mantissa are enough for values but not for keys, whose errors the softmax magnifies.
constinit const KvCodec kCodecFp8E5M2 = {kFp8E4M3, rows<Fp8E5M2Row>(store_fp8_e5m2_avx2), true};
constinit const KvCodec kCodecInt8 =
    both(with_factors(rows<Int8Row>(store_int8_avx2), int8_factors), false);
constinit const KvCodec kCodecInt4 = both(rows<Int4Row>(store_int4_avx2), true);

}  // namespace ingot::cpu
