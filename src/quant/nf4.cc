// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "quant/float_codes.h"
#include "quant/pack_bits.h"

namespace ingot {
namespace {

constexpr std::array<float, 16> kNf4Levels = {-1.0F,
                                              -0.6961928009986877F,
                                              -0.5250730514526367F,
                                              -0.39491748809814453F,
                                              -0.28444138169288635F,
                                              -0.18477343022823334F,
                                              -0.09105003625154495F,
                                              0.0F,
                                              0.07958029955625534F,
                                              0.16093020141124725F,
                                              0.24611230194568634F,
                                              0.33791524171829224F,
                                              0.44070982933044434F,
                                              0.5626170039176941F,
                                              0.7229568362236023F,
                                              1.0F};
constexpr size_t kNestedBlock = 256;
constexpr size_t kStateBytes = 256;  // of JSON, filled up with spaces

uint8_t nearest(std::span<const float> ascending, float value) {
  const auto it = std::ranges::lower_bound(ascending, value);
  if (it == ascending.begin()) return 0;
  if (it == ascending.end()) return static_cast<uint8_t>(ascending.size() - 1);
  const auto above = static_cast<size_t>(it - ascending.begin());
  const bool is_above = ascending[above] - value < value - ascending[above - 1];
  return static_cast<uint8_t>(is_above ? above : above - 1);
}

struct NestedScales {
  std::vector<uint8_t> codes;
  std::vector<float> largest;  // per block of codes
  float offset = 0;
  std::vector<float> values;  // what a reader gets
};

NestedScales nest(std::span<const float> scales) {
  NestedScales result;
  double sum = 0;
  for (const float scale : scales)
    sum += static_cast<double>(scale);
  result.offset = static_cast<float>(sum / static_cast<double>(scales.size()));
  const std::vector<float> map = dynamic_map();
  for (size_t first = 0; first < scales.size(); first += kNestedBlock) {
    const auto block = scales.subspan(first, std::min(kNestedBlock, scales.size() - first));
    float most = 0;
    for (const float scale : block)
      most = std::max(most, std::fabs(scale - result.offset));
    result.largest.push_back(most);
    for (const float scale : block) {
      const uint8_t code = nearest(map, most > 0 ? (scale - result.offset) / most : 0.0F);
      result.codes.push_back(code);
      const float product = map[code] * most;
      result.values.push_back(product + result.offset);
    }
  }
  return result;
}

}  // namespace

std::vector<float> dynamic_map() {
  std::vector<float> map = {0.0F, 1.0F};
  for (int i = 0; i < 7; ++i) {
    const int items = 1 << i;
    for (int k = 0; k < items; ++k) {
      const double step = 0.9 / items;
      const double mean = 0.1 + step * (k + 0.5);
      const auto value = static_cast<float>(std::pow(10.0, i - 6) * mean);
      map.push_back(value);
      map.push_back(-value);
    }
  }
  std::ranges::sort(map);
  return map;
}

PackedTensors nf4_tensors(int64_t rows, int64_t cols, const Nf4Options& options) {
  const uint64_t count = extent(rows * cols);
  const uint64_t blocks = count / extent(options.block);
  PackedTensors tensors = {
      {".weight", Layout::kU8, {count / 2, 1}, {}},
      {".weight.absmax", options.is_nested ? Layout::kU8 : Layout::kF32, {blocks}, {}},
      {".weight.quant_map", Layout::kF32, {16}, {}},
      {".weight.quant_state.bitsandbytes__nf4", Layout::kU8, {kStateBytes}, {}}};
  if (options.is_nested) {
    tensors.push_back(
        {".weight.nested_absmax", Layout::kF32, {(blocks + kNestedBlock - 1) / kNestedBlock}, {}});
    tensors.push_back({".weight.nested_quant_map", Layout::kF32, {256}, {}});
  }
  return tensors;
}

QuantizedWeight quantize_nf4(std::span<const float> values, int64_t rows, int64_t cols,
                             const Nf4Options& options, const Exec& exec) {
  QuantizedWeight result;
  result.tensors = nf4_tensors(rows, cols, options);
  const auto block = static_cast<size_t>(options.block);
  std::vector<float> scales(values.size() / block);
  for (size_t b = 0; b < scales.size(); ++b) {
    for (const float value : values.subspan(b * block, block))
      scales[b] = std::max(scales[b], std::fabs(value));
  }
  std::string state =
      fmt::format(R"({{"quant_type": "nf4", "blocksize": {}, "dtype": "{}", "shape": [{}, {}])",
                  options.block, options.dtype, rows, cols);
  if (options.is_nested) {
    const NestedScales nested = nest(scales);
    state += fmt::format(
        R"(, "nested_blocksize": {}, "nested_dtype": "float32", "nested_offset": {:.9g})",
        kNestedBlock, nested.offset);
    result.tensors[1].bytes = bytes_of(std::span<const uint8_t>(nested.codes));
    result.tensors[4].bytes = bytes_of(std::span<const float>(nested.largest));
    result.tensors[5].bytes = bytes_of(std::span<const float>(dynamic_map()));
    scales = nested.values;
  } else {
    result.tensors[1].bytes = bytes_of(std::span<const float>(scales));
  }
  state += "}";
  state.resize(kStateBytes, ' ');
  std::vector<uint8_t> codes(values.size() / 2);
  result.values.resize(values.size());
  exec.for_ranges(static_cast<int64_t>(scales.size()), 64, [&](int64_t begin, int64_t end) {
    for (size_t at = static_cast<size_t>(begin) * block; at < static_cast<size_t>(end) * block;
         ++at) {
      const float scale = scales[at / block];
      const uint8_t code = nearest(kNf4Levels, scale != 0 ? values[at] / scale : 0.0F);
      codes[at / 2] = static_cast<uint8_t>(codes[at / 2] | code << (at % 2 == 0 ? 4 : 0));
      result.values[at] = kNf4Levels[code] * scale;
    }
  });
  result.tensors[0].bytes = bytes_of(std::span<const uint8_t>(codes));
  result.tensors[2].bytes = bytes_of(std::span<const float>(kNf4Levels));
  result.tensors[3].bytes = bytes_of(std::span<const char>(state));
  return result;
}

}  // namespace ingot
