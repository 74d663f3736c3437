// SPDX-License-Identifier: Apache-2.0
// Rows of the KV cache: written 8 values at a time to the same bytes as by the scalar codecs, and
// scored and mixed as they lie. Reading takes 2 to 8 instructions per 8 values, against two
// multiply-adds for each query that shares the read. Show it with `ingot bench kernels attention`.
#include "kernels/cpu/attention_tiles.h"
#include "kernels/cpu/neon/attention.h"
#include "kernels/cpu/neon/attention_rows.h"

namespace ingot::cpu {
namespace {

// Eight codes, one to a lane, to the low 8 bits of each.
uint8x8_t narrow_8(uint32x4_t low, uint32x4_t high) {
  return vmovn_u16(vcombine_u16(vmovn_u32(low), vmovn_u32(high)));
}
void store_8_bytes(uint8x8_t codes, std::byte* to) {
  vst1_u8(reinterpret_cast<uint8_t*>(to), codes);
}

// The plain types: each value by itself.
struct F32Writer {
  static constexpr int64_t kBits = 32;
  static void store(Floats8 value, std::byte* to) { store_8(reinterpret_cast<float*>(to), value); }
};
struct F16Writer {
  static constexpr int64_t kBits = 16;
  static void store(Floats8 value, std::byte* to) {
    const float16x8_t halves = vcvt_high_f16_f32(vcvt_f16_f32(value.low), value.high);
    vst1q_u16(reinterpret_cast<uint16_t*>(to), vreinterpretq_u16_f16(halves));
  }
};
struct BF16Writer {
  static constexpr int64_t kBits = 16;
  static uint16x4_t words_of(float32x4_t value) {
    const uint32x4_t bits = vreinterpretq_u32_f32(value);
    // Ties to even: add 0x7FFF and the lowest bit that stays. A NaN keeps its top bits, made quiet.
    const uint32x4_t lowest = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    const uint32x4_t rounded = vaddq_u32(bits, vaddq_u32(lowest, vdupq_n_u32(0x7FFF)));
    const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
    return vshrn_n_u32(vbslq_u32(vceqq_f32(value, value), rounded, quiet), 16);
  }
  static void store(Floats8 value, std::byte* to) {
    vst1q_u16(reinterpret_cast<uint16_t*>(to),
              vcombine_u16(words_of(value.low), words_of(value.high)));
  }
};

// To 8 bits with `Mantissa` of them for the mantissa: ties to even, the largest finite value for
// all that is larger, `NanCode` for what is not a number.
template <int Mantissa, int Bias, uint32_t LargestBits, uint32_t NanCode>
uint32x4_t fp8_codes(float32x4_t value) {
  constexpr int kShift = 23 - Mantissa;
  const uint32x4_t bits = vreinterpretq_u32_f32(value);
  const uint32x4_t sign = vandq_u32(vshrq_n_u32(bits, 24), vdupq_n_u32(0x80));
  const uint32x4_t size = vandq_u32(bits, vdupq_n_u32(0x7FFFFFFF));
  const uint32x4_t is_nan = vcgtq_u32(size, vdupq_n_u32(0x7F800000));
  const uint32x4_t held = vminq_u32(size, vdupq_n_u32(LargestBits));
  const uint32x4_t lowest = vandq_u32(vshrq_n_u32(held, kShift), vdupq_n_u32(1));
  const uint32x4_t half = vdupq_n_u32((1u << (kShift - 1)) - 1);
  const uint32x4_t rounded = vshrq_n_u32(vaddq_u32(held, vaddq_u32(lowest, half)), kShift);
  const uint32x4_t normal = vsubq_u32(rounded, vdupq_n_u32((127u - Bias) << Mantissa));
  // Subnormals by adding the float whose last bit is worth one step of theirs.
  const uint32x4_t magic = vdupq_n_u32((127u + 23 + 1 - Bias - Mantissa) << 23);
  const float32x4_t sum = vaddq_f32(vreinterpretq_f32_u32(held), vreinterpretq_f32_u32(magic));
  const uint32x4_t subnormal = vsubq_u32(vreinterpretq_u32_f32(sum), magic);
  const uint32x4_t is_subnormal = vcltq_u32(held, vdupq_n_u32((127u + 1 - Bias) << 23));
  uint32x4_t code = vbslq_u32(is_subnormal, subnormal, normal);
  code = vbslq_u32(is_nan, vdupq_n_u32(NanCode), code);
  return vorrq_u32(code, sign);
}

struct Fp8E4M3Writer {
  static constexpr int64_t kBits = 8;
  static void store(Floats8 value, std::byte* to) {
    constexpr uint32_t k448 = 0x43E00000;
    store_8_bytes(
        narrow_8(fp8_codes<3, 7, k448, 0x7F>(value.low), fp8_codes<3, 7, k448, 0x7F>(value.high)),
        to);
  }
};
struct Fp8E5M2Writer {
  static constexpr int64_t kBits = 8;
  static void store(Floats8 value, std::byte* to) {
    constexpr uint32_t k57344 = 0x47600000;
    store_8_bytes(narrow_8(fp8_codes<2, 15, k57344, 0x7E>(value.low),
                           fp8_codes<2, 15, k57344, 0x7E>(value.high)),
                  to);
  }
};

// Calls use(index, vector, lanes): whole vectors, then the rest with zeros behind.
template <class Use>
void for_vectors(const float* from, int64_t dim, Use use) {
  int64_t i = 0;
  for (; i + 8 <= dim; i += 8)
    use(i, load_8(from + i), 8);
  if (i < dim) use(i, load_some(from + i, dim - i), dim - i);
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
  for_vectors(from, dim, [&](int64_t i, Floats8 value, int64_t lanes) {
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
  return vget_lane_u16(vreinterpret_u16_f16(vcvt_f16_f32(vdupq_n_f32(value))), 0);
}

struct Extent {
  float low;
  float high;
  bool is_finite;
};
// A NaN makes both ends one; an infinity is an end.
Extent extent_of(const float* from, int64_t dim) {
  float32x4_t low = vdupq_n_f32(from[0]);
  float32x4_t high = low;
  for (int64_t i = 0; i < dim; i += 8) {
    const Floats8 value = load_some(from + i, dim - i, from[0]);
    low = vminq_f32(low, vminq_f32(value.low, value.high));
    high = vmaxq_f32(high, vmaxq_f32(value.low, value.high));
  }
  // Plus zero, so that neither end is minus zero.
  const Extent extent{vminvq_f32(low) + 0.0F, vmaxvq_f32(high) + 0.0F, false};
  const bool is_finite = extent.low - extent.low == 0 && extent.high - extent.high == 0;
  return {extent.low, extent.high, is_finite};
}

float smaller(float a, float b) {
  return a < b ? a : b;
}
float larger(float a, float b) {
  return a > b ? a : b;
}
// round((value - base) / scale), held between low and high.
struct Coder {
  float base;
  float inverse;
  float low;
  float high;

  uint32x4_t codes_of_4(float32x4_t value) const {
    const float32x4_t ratio = vmulq_n_f32(vsubq_f32(value, vdupq_n_f32(base)), inverse);
    const float32x4_t held = vmaxq_f32(vdupq_n_f32(low), vminq_f32(vdupq_n_f32(high), ratio));
    return vreinterpretq_u32_s32(vcvtnq_s32_f32(held));
  }
  uint8x8_t codes_of(Floats8 value) const {
    return narrow_8(codes_of_4(value.low), codes_of_4(value.high));
  }
};
float inverse_of(uint16_t scale) {
  const float value = half_value(scale);
  return value > 0 ? 1.0F / value : 0.0F;
}

void store_int8(const float* from, int64_t dim, std::byte* row) {
  const Extent extent = extent_of(from, dim);
  if (!extent.is_finite) {
    __builtin_memset(row, 0, static_cast<size_t>(dim));
    put_half(kNotANumber, row + dim);
    return;
  }
  const uint16_t scale =
      half_bits(smaller(larger(-extent.low, extent.high) / 127.0F, kLargestHalf));
  const Coder coder{0, inverse_of(scale), -127.0F, 127.0F};
  for_vectors(from, dim, [&](int64_t i, Floats8 value, int64_t lanes) {
    const uint8x8_t codes = coder.codes_of(value);
    put_codes<8>(row + i, lanes, [codes](std::byte* to) { store_8_bytes(codes, to); });
  });
  put_half(scale, row + dim);
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
  const Coder coder{half_value(base), inverse_of(scale), 0.0F, 15.0F};
  for_vectors(from, dim, [&](int64_t i, Floats8 value, int64_t lanes) {
    uint64_t codes = vget_lane_u64(vreinterpret_u64_u8(coder.codes_of(value)), 0);
    if (lanes < 8) codes &= (uint64_t{1} << (8 * lanes)) - 1;
    // Byte 2i + 1 moves into the upper half of byte 2i; then the even bytes together.
    const uint8x8_t pairs = vreinterpret_u8_u64(vdup_n_u64(codes | (codes >> 4)));
    const uint32_t word = vget_lane_u32(vreinterpret_u32_u8(vuzp1_u8(pairs, pairs)), 0);
    put_codes<4>(row + i / 2, lanes,
                 [word](std::byte* to) { __builtin_memcpy(to, &word, sizeof(word)); });
  });
  put_half(scale, row + code_bytes);
  put_half(base, row + code_bytes + 2);
}

void int8_factors(const std::byte* rows, int64_t count, int64_t dim, float* to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = Int8Row::factor(rows + i * Int8Row::bytes(dim), dim);
}

template <class Row>
constexpr KvRows rows(void (*store)(const float*, int64_t, std::byte*)) {
  return {.store = store,
          .load = load_rows<Neon, Row>,
          .score = score_runs<Neon, Row>,
          .mix = mix_runs<Neon, Row>};
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
constexpr KvRows kFp8E4M3Rows =
    with_unit(rows<Fp8E4M3Row>(store_plain<Fp8E4M3Writer>), Fp8E4M3Elements::kUnit);

}  // namespace

constinit const KvCodec kCodecF32 = both(rows<F32Row>(store_plain<F32Writer>), false);
constinit const KvCodec kCodecF16 = both(rows<F16Row>(store_plain<F16Writer>), false);
constinit const KvCodec kCodecBf16 = both(rows<BF16Row>(store_plain<BF16Writer>), false);
constinit const KvCodec kCodecFp8E4M3 = both(kFp8E4M3Rows, true);
// Two bits of mantissa are enough for values but not for keys, whose errors the softmax magnifies.
constinit const KvCodec kCodecFp8E5M2 = {kFp8E4M3Rows, rows<Fp8E5M2Row>(store_plain<Fp8E5M2Writer>),
                                         true};
constinit const KvCodec kCodecInt8 =
    both(with_factors(rows<Int8Row>(store_int8), int8_factors), false);
constinit const KvCodec kCodecInt4 = both(rows<Int4Row>(store_int4), true);

}  // namespace ingot::cpu
