// SPDX-License-Identifier: Apache-2.0
#include "kernels/input_rounding_ref.h"

#include <algorithm>
#include <cmath>

#include "base/float_types.h"
#include "kernels/input_scale.h"

namespace ingot::ref {
namespace {

InputScale scale_of(const float* x, int64_t count, const InputQuant& quant) {
  uint32_t largest = 0;
  float least = 0;
  float most = 0;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, float_bits(x[i]) & 0x7FFFFFFFu);
    least = std::min(least, x[i]);
    most = std::max(most, x[i]);
  }
  return input_scale(quant, largest, least, most);
}

// The code as a whole number in a float.
float int8_code(float x, const InputScale& scale) {
  const float code = std::clamp(x / scale.scale, -512.0F, 512.0F);
  return std::clamp(std::nearbyint(code) + scale.zero, -128.0F, 127.0F);
}

// What an e4m3 stands for.
float e4m3_value(float x, const InputScale& scale) {
  return to_float(to_float8_e4m3(x / scale.scale));
}

int64_t block_of(const RoundArgs& args) {
  return args.quant->block > 0 ? args.quant->block : args.cols;
}

}  // namespace

void round_int8_f32(const RoundArgs& args, int64_t begin, int64_t end) {
  for (int64_t token = begin; token < end; ++token) {
    const float* x = args.x + token * args.cols;
    float* out = reinterpret_cast<float*>(args.out) + token * args.cols;
    const InputScale scale = scale_of(x, args.cols, *args.quant);
    for (int64_t i = 0; i < args.cols; ++i) {
      const float code = !scale.is_usable ? scale.zero : int8_code(x[i], scale);
      out[i] = scale.scale * (code - scale.zero);
    }
  }
}

void round_int8_q8g32(const RoundArgs& args, int64_t begin, int64_t end) {
  const int64_t blocks = (args.cols + kPackedColumns - 1) / kPackedColumns;
  for (int64_t token = begin; token < end; ++token) {
    const float* x = args.x + token * args.cols;
    auto* out = reinterpret_cast<Q8G32*>(args.out) + token * blocks;
    const InputScale scale = scale_of(x, args.cols, *args.quant);
    args.scales[token] = scale.scale * scale.zero;
    for (int64_t i = 0; i < blocks; ++i) {
      Q8G32& block = out[i];
      block = Q8G32{};
      for (int64_t j = 0; j < kPackedColumns && i * kPackedColumns + j < args.cols; ++j) {
        const float value = x[i * kPackedColumns + j];
        const float code = !scale.is_usable ? scale.zero : int8_code(value, scale);
        block.codes[j] = static_cast<int8_t>(code);
        block.scales[j / 32] = scale.scale;
        block.sums[j / 32] += block.codes[j];
      }
      for (int64_t group = 0; group < 8; ++group)
        block.weighed[group] = block.scales[group] * static_cast<float>(block.sums[group]);
    }
  }
}

void round_e4m3_f32(const RoundArgs& args, int64_t begin, int64_t end) {
  const int64_t width = block_of(args);
  for (int64_t token = begin; token < end; ++token) {
    for (int64_t first = 0; first < args.cols; first += width) {
      const int64_t count = std::min(width, args.cols - first);
      const float* x = args.x + token * args.cols + first;
      float* out = reinterpret_cast<float*>(args.out) + token * args.cols + first;
      const InputScale scale = scale_of(x, count, *args.quant);
      for (int64_t i = 0; i < count; ++i)
        out[i] = scale.scale * (!scale.is_usable ? 0.0F : e4m3_value(x[i], scale));
    }
  }
}

void round_e4m3_bf16(const RoundArgs& args, int64_t begin, int64_t end) {
  const int64_t width = block_of(args);
  const int64_t padded = (args.cols + 31) / 32 * 32;
  const int64_t spans = (args.cols + kScaleColumns - 1) / kScaleColumns;
  for (int64_t token = begin; token < end; ++token) {
    auto* out = reinterpret_cast<BFloat16*>(args.out) + token * padded;
    for (int64_t first = 0; first < args.cols; first += width) {
      const int64_t count = std::min(width, args.cols - first);
      const float* x = args.x + token * args.cols + first;
      const InputScale scale = scale_of(x, count, *args.quant);
      for (int64_t i = 0; i < count; ++i)
        out[first + i] = to_bfloat16(!scale.is_usable ? 0.0F : e4m3_value(x[i], scale));
      for (int64_t i = first; i < first + count; i += kScaleColumns)
        args.scales[token * spans + i / kScaleColumns] = scale.scale;
    }
    for (int64_t i = args.cols; i < padded; ++i)
      out[i] = BFloat16{0};
  }
}

}  // namespace ingot::ref
