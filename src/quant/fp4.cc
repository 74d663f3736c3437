// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "quant/float_codes.h"
#include "quant/magnitude.h"
#include "quant/pack_bits.h"

namespace ingot {
namespace {

constexpr std::array<float, 8> kFp4Levels = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
constexpr float kFp4Most = 6;

// The nearest of the 4-bit floats; ties go to the even code.
uint8_t e2m1_code(float value) {
  const float magnitude = std::fabs(value);
  uint8_t code = 0;
  while (code < 7) {
    const float middle = (kFp4Levels[code] + kFp4Levels[code + 1U]) / 2;
    if (magnitude < middle || (magnitude == middle && code % 2 == 0)) break;
    ++code;
  }
  return static_cast<uint8_t>(code | (std::signbit(value) && code > 0 ? 8 : 0));
}

float e2m1_value(uint8_t code) {
  return (code & 8) != 0 ? -kFp4Levels[code & 7U] : kFp4Levels[code];
}

float loss_of(std::span<const float> group, float scale) {
  float loss = 0;
  for (const float value : group) {
    const float error = value - e2m1_value(e2m1_code(value / scale)) * scale;
    loss += error * error;
  }
  return loss;
}

// Packs groups of `size` columns; scale_of(group) gives the code of its scale, value_of(code) what
// it multiplies by.
template <class ScaleOf, class ValueOf>
QuantizedWeight encode(std::span<const float> values, int64_t rows, int64_t cols, size_t size,
                       PackedTensors tensors, const Exec& exec, ScaleOf scale_of,
                       ValueOf value_of) {
  QuantizedWeight result;
  result.tensors = std::move(tensors);
  result.values.resize(values.size());
  std::vector<uint8_t> codes(values.size() / 2);
  std::vector<uint8_t> scales(values.size() / size);
  const auto groups = static_cast<size_t>(cols) / size;
  exec.for_ranges(rows, 8, [&](int64_t begin, int64_t end) {
    for (size_t g = static_cast<size_t>(begin) * groups; g < static_cast<size_t>(end) * groups;
         ++g) {
      const std::span<const float> group = values.subspan(g * size, size);
      scales[g] = scale_of(group);
      const float scale = value_of(scales[g]);
      for (size_t i = 0; i < size; ++i) {
        const size_t at = g * size + i;
        const uint8_t code = scale > 0 ? e2m1_code(group[i] / scale) : uint8_t{0};
        codes[at / 2] = static_cast<uint8_t>(codes[at / 2] | code << (at % 2 * 4));
        result.values[at] = e2m1_value(code) * scale;
      }
    }
  });
  result.tensors[0].bytes = bytes_of(std::span<const uint8_t>(codes));
  result.tensors[1].bytes = bytes_of(std::span<const uint8_t>(scales));
  return result;
}

// Of several codes the one whose scale loses least.
template <class ValueOf>
uint8_t best_of(std::span<const float> group, int first, int last, ValueOf value_of) {
  int best = first;
  float best_loss = -1;
  for (int code = first; code <= last; ++code) {
    const float scale = value_of(static_cast<uint8_t>(code));
    if (!(scale > 0)) continue;
    const float loss = loss_of(group, scale);
    if (best_loss < 0 || loss < best_loss) {
      best = code;
      best_loss = loss;
    }
  }
  return static_cast<uint8_t>(best);
}

}  // namespace

PackedTensors mxfp4_tensors(int64_t rows, int64_t cols) {
  return {{".weight_packed", Layout::kU8, {extent(rows), extent(cols / 2)}, {}},
          {".weight_scale", Layout::kU8, {extent(rows), extent(cols / 32)}, {}}};
}

QuantizedWeight quantize_mxfp4(std::span<const float> values, int64_t rows, int64_t cols,
                               const Exec& exec) {
  const auto value_of = [](uint8_t code) { return to_float(Float8E8M0{code}); };
  return encode(
      values, rows, cols, 32, mxfp4_tensors(rows, cols), exec,
      [&](std::span<const float> group) -> uint8_t {
        const float most = largest(group);
        if (!(most > 0)) return 0;
        // The largest value lands in [3, 6], or is clipped where that loses less.
        const int exponent = std::ilogb(most / kFp4Most) + 127;
        return best_of(group, std::clamp(exponent, 1, 252), std::clamp(exponent + 1, 1, 253),
                       value_of);
      },
      value_of);
}

PackedTensors nvfp4_tensors(int64_t rows, int64_t cols) {
  return {{".weight_packed", Layout::kU8, {extent(rows), extent(cols / 2)}, {}},
          {".weight_scale", Layout::kF8_E4M3, {extent(rows), extent(cols / 16)}, {}},
          {".weight_global_scale", Layout::kF32, {1}, {}}};
}

QuantizedWeight quantize_nvfp4(std::span<const float> values, int64_t rows, int64_t cols,
                               const Exec& exec) {
  // The file's number divides: the largest group gets the largest FP8 scale.
  const float most = largest(values);
  const float divisor = most > 0 ? 448 * kFp4Most / most : 1.0F;
  const auto value_of = [&](uint8_t code) { return to_float(Float8E4M3{code}) / divisor; };
  QuantizedWeight result = encode(
      values, rows, cols, 16, nvfp4_tensors(rows, cols), exec,
      [&](std::span<const float> group) -> uint8_t {
        const float wanted = largest(group) / kFp4Most * divisor;
        const int code = to_float8_e4m3(wanted).bits;
        if (code == 0) return 0;
        return best_of(group, std::max(1, code - 2), std::min(0x7E, code + 1), value_of);
      },
      value_of);
  result.tensors[2].bytes = bytes_of(std::span<const float>(&divisor, 1));
  return result;
}

}  // namespace ingot
