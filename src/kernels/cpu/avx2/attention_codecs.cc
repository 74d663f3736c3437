// SPDX-License-Identifier: Apache-2.0
// Rows of the KV cache, 8 values at a time: the same bytes and floats as the scalar codecs. Reading
// takes 2 to 5 instructions per 8 values, against 8 or more multiply-adds on them for the queries
// that share a read. Show it with `ingot bench kernels attention`.
#include "kernels/cpu/avx2/attention.h"
#include "kernels/cpu/avx2/vectors.h"

namespace ingot::cpu {
namespace {

__m128i load_8_bytes(const std::byte* from) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
}

// Eight codes of at most 8 bits, one to a lane, to 8 bytes.
void store_8_bytes(__m256i codes, std::byte* to) {
  const __m128i words =
      _mm_packus_epi32(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
}

// The plain types: each value by itself.
struct F32Row {
  static constexpr int64_t kBits = 32;
  static __m256 load(const std::byte* from) { return F32Elements::load(from); }
  static void store(__m256 value, std::byte* to) {
    _mm256_storeu_ps(reinterpret_cast<float*>(to), value);
  }
};
struct F16Row {
  static constexpr int64_t kBits = 16;
  static __m256 load(const std::byte* from) { return F16Elements::load(from); }
  static void store(__m256 value, std::byte* to) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
  }
};
struct BF16Row {
  static constexpr int64_t kBits = 16;
  static __m256 load(const std::byte* from) { return BF16Elements::load(from); }
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

struct Fp8E4M3Row {
  static constexpr int64_t kBits = 8;
  // As fp16 bits with the exponent 8 too low. The two codes that are no numbers become fp16's.
  static __m256 load(const std::byte* from) {
    const __m128i words = _mm_cvtepu8_epi16(load_8_bytes(from));
    const __m128i size = _mm_and_si128(words, _mm_set1_epi16(0x7F));
    const __m128i sign = _mm_slli_epi16(_mm_srli_epi16(words, 7), 15);
    const __m128i nan =
        _mm_and_si128(_mm_cmpeq_epi16(size, _mm_set1_epi16(0x7F)), _mm_set1_epi16(0x7E00));
    const __m128i half = _mm_or_si128(_mm_or_si128(_mm_slli_epi16(size, 7), sign), nan);
    return _mm256_mul_ps(_mm256_cvtph_ps(half), _mm256_set1_ps(256.0F));
  }
  static void store(__m256 value, std::byte* to) {
    store_fp8<3, 7, 0x43E00000 /* 448 */, 0x7F>(value, to);
  }
};
struct Fp8E5M2Row {
  static constexpr int64_t kBits = 8;
  static __m256 load(const std::byte* from) {  // the upper byte of an fp16
    return _mm256_cvtph_ps(_mm_unpacklo_epi8(_mm_setzero_si128(), load_8_bytes(from)));
  }
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

// Reads a row of codes of `Bits` each by load(from), which gives 8 floats.
template <int64_t Bits, class Load>
void get_codes(const std::byte* from, int64_t dim, float* to, Load load) {
  int64_t i = 0;
  for (; i + 8 <= dim; i += 8)
    _mm256_storeu_ps(to + i, load(from + i * Bits / 8));
  if (i == dim) return;
  std::byte some[32] = {};
  __builtin_memcpy(some, from + i * Bits / 8, static_cast<size_t>(((dim - i) * Bits + 7) / 8));
  _mm256_maskstore_ps(to + i, lane_mask(dim - i), load(some));
}

template <class Row>
void store_plain(const float* from, int64_t dim, std::byte* row) {
  for_vectors(from, dim, [&](int64_t i, __m256 value, int64_t lanes) {
    put_codes<Row::kBits>(row + i * Row::kBits / 8, lanes,
                          [&](std::byte* to) { Row::store(value, to); });
  });
}
template <class Row>
void load_plain(const std::byte* rows, int64_t count, int64_t dim, float* to) {
  get_codes<Row::kBits>(rows, count * dim, to, Row::load);  // rows have no gaps
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
float half_value(uint16_t bits) {
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
}
__m256 get_half(const std::byte* from) {
  uint16_t bits;
  __builtin_memcpy(&bits, from, sizeof(bits));
  return _mm256_set1_ps(half_value(bits));
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

void store_int8(const float* from, int64_t dim, std::byte* row) {
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
void load_int8(const std::byte* rows, int64_t count, int64_t dim, float* to) {
  for (int64_t i = 0; i < count; ++i, rows += dim + 2, to += dim) {
    const __m256 scale = get_half(rows + dim);
    get_codes<8>(rows, dim, to, [scale](const std::byte* from) {
      return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(load_8_bytes(from))), scale);
    });
  }
}

__m256i nibble_shifts() {
  return _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
}
void store_int4(const float* from, int64_t dim, std::byte* row) {
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
void load_int4(const std::byte* rows, int64_t count, int64_t dim, float* to) {
  const int64_t code_bytes = (dim + 1) / 2;
  for (int64_t i = 0; i < count; ++i, rows += code_bytes + 4, to += dim) {
    const __m256 scale = get_half(rows + code_bytes);
    const __m256 base = get_half(rows + code_bytes + 2);
    get_codes<4>(rows, dim, to, [scale, base](const std::byte* from) {
      int32_t word;
      __builtin_memcpy(&word, from, sizeof(word));
      const __m256i codes = _mm256_and_si256(
          _mm256_srlv_epi32(_mm256_set1_epi32(word), nibble_shifts()), _mm256_set1_epi32(0xF));
      return _mm256_fmadd_ps(_mm256_cvtepi32_ps(codes), scale, base);
    });
  }
}

template <class Row>
constexpr KvRows plain_rows() {
  return {store_plain<Row>, load_plain<Row>};
}

template <class Row>
constexpr KvCodec plain(bool rotates_keys = false) {
  return {plain_rows<Row>(), plain_rows<Row>(), rotates_keys};
}

}  // namespace

constinit const KvCodec kCodecF32 = plain<F32Row>();
constinit const KvCodec kCodecF16 = plain<F16Row>();
constinit const KvCodec kCodecBf16 = plain<BF16Row>();
constinit const KvCodec kCodecFp8E4M3 = plain<Fp8E4M3Row>(true);
// Two bits of mantissa are enough for values but not for keys, whose errors the softmax magnifies.
constinit const KvCodec kCodecFp8E5M2 = {plain_rows<Fp8E4M3Row>(), plain_rows<Fp8E5M2Row>(), true};
constinit const KvCodec kCodecInt8 = {{store_int8, load_int8}, {store_int8, load_int8}, false};
constinit const KvCodec kCodecInt4 = {{store_int4, load_int4}, {store_int4, load_int4}, true};

}  // namespace ingot::cpu
