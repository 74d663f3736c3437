// SPDX-License-Identifier: Apache-2.0
#include "blocks/elements.h"

#include <bit>
#include <cstring>

#include "base/check.h"
#include "base/float_types.h"

namespace ingot {
namespace {

enum class Specials { kIeee, kOneNan, kNone };

// A float of 1 + kExponent + kMantissa bits, exactly. Free of branches so that loops over it are
// vectorised, and of denormal operands, which cost the CPU some hundred cycles each.
template <int kExponent, int kMantissa, Specials kSpecials>
float decode_small(uint32_t bits) {
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  constexpr uint32_t kLargest = (1u << (kExponent + kMantissa)) - 1;
  constexpr uint32_t kTopExponent = kLargest & ~((1u << kMantissa) - 1);
  const uint32_t sign = (bits >> (kExponent + kMantissa)) << 31;
  const uint32_t magnitude = bits & kLargest;
  const float denormal = static_cast<float>(static_cast<int32_t>(magnitude)) *
                         std::bit_cast<float>((128u - kBias - kMantissa) << 23);
  const uint32_t normal = (magnitude << (23 - kMantissa)) + ((127u - kBias) << 23);
  // A mask, not a conditional: the compiler would make that a branch around the multiplication.
  const uint32_t is_normal = magnitude >= (1u << kMantissa) ? ~0u : 0u;
  uint32_t value = (normal & is_normal) | (std::bit_cast<uint32_t>(denormal) & ~is_normal);
  if constexpr (kSpecials == Specials::kIeee) {
    value |= magnitude >= kTopExponent ? 0x7F800000u : 0u;
  } else if constexpr (kSpecials == Specials::kOneNan) {
    value |= magnitude == kLargest ? 0x7FC00000u : 0u;
  }
  return std::bit_cast<float>(value | sign);
}

float decode_e8m0(uint32_t bits) {
  const uint32_t normal = bits == 0xFF ? 0x7FC00000u : bits << 23;
  return std::bit_cast<float>(bits == 0 ? 0x00400000u : normal);
}

template <class Stored, class Decode>
void decode_each(std::span<const std::byte> bytes, std::span<float> out, Decode decode) {
  const std::byte* __restrict from = bytes.data();
  float* __restrict to = out.data();
  const size_t count = out.size();
  for (size_t i = 0; i < count; ++i) {
    Stored stored{};
    std::memcpy(&stored, from + i * sizeof(Stored), sizeof(Stored));
    to[i] = decode(stored);
  }
}

template <class Stored>
void cast_each(std::span<const std::byte> bytes, std::span<float> out) {
  decode_each<Stored>(bytes, out, [](Stored stored) { return static_cast<float>(stored); });
}

template <Specials kSpecials, int kExponent, int kMantissa, class Stored>
void decode_small_each(std::span<const std::byte> bytes, std::span<float> out) {
  decode_each<Stored>(bytes, out, [](Stored stored) {
    return decode_small<kExponent, kMantissa, kSpecials>(stored);
  });
}

// Two elements a byte, the first in the low nibble.
void decode_e2m1(std::span<const std::byte> bytes, std::span<float> out) {
  const std::byte* __restrict from = bytes.data();
  float* __restrict to = out.data();
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto both = static_cast<uint32_t>(from[i]);
    to[2 * i] = decode_small<2, 1, Specials::kNone>(both & 0xF);
    to[2 * i + 1] = decode_small<2, 1, Specials::kNone>(both >> 4);
  }
}

// Four elements in three bytes, a little-endian run of 24 bits with the first element lowest.
template <int kExponent, int kMantissa>
void decode_six_bits(std::span<const std::byte> bytes, std::span<float> out) {
  const std::byte* __restrict from = bytes.data();
  float* __restrict to = out.data();
  for (size_t i = 0; i < out.size(); i += 4, from += 3) {
    const uint32_t run = static_cast<uint32_t>(from[0]) | (static_cast<uint32_t>(from[1]) << 8) |
                         (static_cast<uint32_t>(from[2]) << 16);
    for (uint32_t j = 0; j < 4; ++j) {
      to[i + j] = decode_small<kExponent, kMantissa, Specials::kNone>((run >> (6 * j)) & 0x3F);
    }
  }
}

// True when no stored value has all of `exponent`'s bits set, its mark of infinity and NaN.
template <class Bits>
bool none_has(std::span<const std::byte> bytes, Bits exponent) {
  const std::byte* __restrict from = bytes.data();
  const size_t count = bytes.size() / sizeof(Bits);
  Bits bad = 0;
  for (size_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, from + i * sizeof(Bits), sizeof(Bits));
    bad = static_cast<Bits>(bad | ((bits & exponent) == exponent ? 1 : 0));
  }
  return bad == 0;
}

bool doubles_are_finite_floats(std::span<const std::byte> bytes) {
  bool is_good = true;
  for (size_t at = 0; at < bytes.size(); at += sizeof(double)) {
    double value;
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
    is_good = is_good && (bits & 0x7F800000u) != 0x7F800000u;
  }
  return is_good;
}

template <class Stored, class Encode>
void encode_each(std::span<const float> values, std::span<std::byte> out, Encode encode) {
  for (size_t i = 0; i < values.size(); ++i) {
    const Stored stored = encode(values[i]);
    std::memcpy(out.data() + i * sizeof(Stored), &stored, sizeof(Stored));
  }
}

}  // namespace

void decode_elements(Layout layout, std::span<const std::byte> bytes, std::span<float> out) {
  switch (layout) {
    case Layout::kF32:
      if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
      return;
    case Layout::kF16:
      return decode_small_each<Specials::kIeee, 5, 10, uint16_t>(bytes, out);
    case Layout::kBF16:
      return decode_each<uint16_t>(bytes, out, [](uint16_t stored) {
        return std::bit_cast<float>(static_cast<uint32_t>(stored) << 16);
      });
    case Layout::kF64:
      return cast_each<double>(bytes, out);
    case Layout::kF8_E4M3:
      return decode_small_each<Specials::kOneNan, 4, 3, uint8_t>(bytes, out);
    case Layout::kF8_E5M2:
      return decode_small_each<Specials::kIeee, 5, 2, uint8_t>(bytes, out);
    case Layout::kF8_E8M0:
      return decode_each<uint8_t>(bytes, out, decode_e8m0);
    case Layout::kI8:
      return cast_each<int8_t>(bytes, out);
    case Layout::kI16:
      return cast_each<int16_t>(bytes, out);
    case Layout::kI32:
      return cast_each<int32_t>(bytes, out);
    case Layout::kI64:
      return cast_each<int64_t>(bytes, out);
    case Layout::kU8:
      return cast_each<uint8_t>(bytes, out);
    case Layout::kU16:
      return cast_each<uint16_t>(bytes, out);
    case Layout::kU32:
      return cast_each<uint32_t>(bytes, out);
    case Layout::kU64:
      return cast_each<uint64_t>(bytes, out);
    case Layout::kBool:
      return decode_each<uint8_t>(bytes, out,
                                  [](uint8_t stored) { return stored != 0 ? 1.0F : 0.0F; });
    case Layout::kC64:
      return decode_each<std::array<float, 2>>(
          bytes, out, [](const std::array<float, 2>& stored) { return stored[0]; });
    case Layout::kF4_E2M1:
      return decode_e2m1(bytes, out);
    case Layout::kF6_E2M3:
      return decode_six_bits<2, 3>(bytes, out);
    case Layout::kF6_E3M2:
      return decode_six_bits<3, 2>(bytes, out);
    default:
      check_failed(__FILE__, __LINE__, "decode_elements got a layout with scales");
  }
}

bool elements_are_finite(Layout layout, std::span<const std::byte> bytes) {
  switch (layout) {
    case Layout::kF32:
    case Layout::kC64:
      return none_has<uint32_t>(bytes, 0x7F800000u);
    case Layout::kF16:
      return none_has<uint16_t>(bytes, 0x7C00u);
    case Layout::kBF16:
      return none_has<uint16_t>(bytes, 0x7F80u);
    case Layout::kF64:
      return doubles_are_finite_floats(bytes);
    case Layout::kF8_E4M3:
      return none_has<uint8_t>(bytes, 0x7Fu);
    case Layout::kF8_E5M2:
      return none_has<uint8_t>(bytes, 0x7Cu);
    case Layout::kF8_E8M0:
      return none_has<uint8_t>(bytes, 0xFFu);
    default:
      return true;  // integers, and floats too small to have infinities
  }
}

bool can_encode_elements(Layout layout) {
  return layout == Layout::kF32 || layout == Layout::kF16 || layout == Layout::kBF16 ||
         layout == Layout::kF8_E4M3 || layout == Layout::kF8_E5M2;
}

void encode_elements(Layout layout, std::span<const float> values, std::span<std::byte> out) {
  INGOT_CHECK(can_encode_elements(layout));
  INGOT_CHECK(out.size() == values.size() * info(layout).block_bytes);
  switch (layout) {
    case Layout::kF16:
      return encode_each<Half>(values, out, to_half);
    case Layout::kBF16:
      return encode_each<BFloat16>(values, out, to_bfloat16);
    case Layout::kF8_E4M3:
      return encode_each<Float8E4M3>(values, out, to_float8_e4m3);
    case Layout::kF8_E5M2:
      return encode_each<Float8E5M2>(values, out, to_float8_e5m2);
    default:
      if (!values.empty()) std::memcpy(out.data(), values.data(), out.size());
  }
}

}  // namespace ingot
