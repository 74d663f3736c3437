// SPDX-License-Identifier: Apache-2.0
// The rows of every cache type, one value at a time: the truth for all other codecs, which must
// write the same bytes and read the same floats.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/float_types.h"
#include "kernels/attention_ref.h"

namespace ingot::ref {
namespace {

float widen(float value) {
  return value;
}
template <class Element>
float widen(Element value) {
  return to_float(value);
}
void convert(float value, float& out) {
  out = value;
}
void convert(float value, Half& out) {
  out = to_half(value);
}
void convert(float value, BFloat16& out) {
  out = to_bfloat16(value);
}
void convert(float value, Float8E4M3& out) {
  out = to_float8_e4m3(value);
}
void convert(float value, Float8E5M2& out) {
  constexpr float kLargest = 57344.0F;
  out = to_float8_e5m2(std::isnan(value) ? value : std::clamp(value, -kLargest, kLargest));
}

template <class Element>
void store_plain(const float* from, int64_t dim, std::byte* row) {
  for (int64_t i = 0; i < dim; ++i) {
    Element value{};
    convert(from[i], value);
    std::memcpy(row + i * static_cast<int64_t>(sizeof(Element)), &value, sizeof(Element));
  }
}
template <class Element>
void load_plain(const std::byte* rows, int64_t count, int64_t dim, float* to) {
  for (int64_t i = 0; i < count * dim; ++i) {
    Element value{};
    std::memcpy(&value, rows + i * static_cast<int64_t>(sizeof(Element)), sizeof(Element));
    to[i] = widen(value);
  }
}

constexpr float kLargestHalf = 65504.0F;

void put_half(float value, std::byte* to) {
  const Half half = to_half(value);
  std::memcpy(to, &half, sizeof(half));
}
float get_half(const std::byte* from) {
  Half half{};
  std::memcpy(&half, from, sizeof(half));
  return to_float(half);
}
// As it will be read again.
float rounded_scale(float scale) {
  return to_float(to_half(std::min(scale, kLargestHalf)));
}
bool is_all_finite(const float* from, int64_t dim) {
  return std::all_of(from, from + dim, [](float value) { return std::isfinite(value); });
}
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

void store_int8(const float* from, int64_t dim, std::byte* row) {
  if (!is_all_finite(from, dim)) {
    std::fill_n(row, dim, std::byte{0});
    put_half(kNotANumber, row + dim);
    return;
  }
  float largest = 0;
  for (int64_t i = 0; i < dim; ++i)
    largest = std::max(largest, std::fabs(from[i]));
  const float scale = rounded_scale(largest / 127.0F);
  const float inverse = scale > 0 ? 1.0F / scale : 0.0F;
  for (int64_t i = 0; i < dim; ++i) {
    const float code = std::nearbyint(std::clamp(from[i] * inverse, -127.0F, 127.0F));
    row[i] = static_cast<std::byte>(static_cast<int8_t>(code));
  }
  put_half(scale, row + dim);
}

void load_int8(const std::byte* rows, int64_t count, int64_t dim, float* to) {
  for (int64_t i = 0; i < count; ++i, rows += dim + 2) {
    const float scale = get_half(rows + dim);
    for (int64_t d = 0; d < dim; ++d)
      *to++ = static_cast<float>(static_cast<int8_t>(rows[d])) * scale;
  }
}

void store_int4(const float* from, int64_t dim, std::byte* row) {
  const int64_t code_bytes = (dim + 1) / 2;
  std::fill_n(row, code_bytes, std::byte{0});
  if (!is_all_finite(from, dim)) {
    put_half(kNotANumber, row + code_bytes);
    put_half(kNotANumber, row + code_bytes + 2);
    return;
  }
  const auto [low, high] = std::minmax_element(from, from + dim);
  // Plus zero, so that it never is minus zero.
  const float base = to_float(to_half(std::clamp(*low, -kLargestHalf, kLargestHalf) + 0.0F));
  const float scale = rounded_scale((*high - *low) / 15.0F);
  const float inverse = scale > 0 ? 1.0F / scale : 0.0F;
  for (int64_t i = 0; i < dim; ++i) {
    const float code = std::nearbyint(std::clamp((from[i] - base) * inverse, 0.0F, 15.0F));
    row[i / 2] |= static_cast<std::byte>(static_cast<unsigned>(code) << (4 * (i % 2)));
  }
  put_half(scale, row + code_bytes);
  put_half(base, row + code_bytes + 2);
}

void load_int4(const std::byte* rows, int64_t count, int64_t dim, float* to) {
  const int64_t code_bytes = (dim + 1) / 2;
  for (int64_t i = 0; i < count; ++i, rows += code_bytes + 4) {
    const float scale = get_half(rows + code_bytes);
    const float base = get_half(rows + code_bytes + 2);
    for (int64_t d = 0; d < dim; ++d) {
      const unsigned code = (static_cast<unsigned>(rows[d / 2]) >> (4 * (d % 2))) & 0xFu;
      *to++ = static_cast<float>(code) * scale + base;  // the product is exact
    }
  }
}

template <class Element>
constexpr KvRows plain_rows() {
  return {store_plain<Element>, load_plain<Element>};
}

template <class Element>
constexpr KvCodec plain(bool rotates_keys = false) {
  return {plain_rows<Element>(), plain_rows<Element>(), rotates_keys};
}

}  // namespace

constinit const KvCodec kCodecF32 = plain<float>();
constinit const KvCodec kCodecF16 = plain<Half>();
constinit const KvCodec kCodecBf16 = plain<BFloat16>();
constinit const KvCodec kCodecFp8E4M3 = plain<Float8E4M3>(true);
// Two bits of mantissa are enough for values but not for keys, whose errors the softmax magnifies.
constinit const KvCodec kCodecFp8E5M2 = {plain_rows<Float8E4M3>(), plain_rows<Float8E5M2>(), true};
constinit const KvCodec kCodecInt8 = {{store_int8, load_int8}, {store_int8, load_int8}, false};
constinit const KvCodec kCodecInt4 = {{store_int4, load_int4}, {store_int4, load_int4}, true};

}  // namespace ingot::ref
