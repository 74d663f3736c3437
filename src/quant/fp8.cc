// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "quant/float_codes.h"
#include "quant/magnitude.h"
#include "quant/pack_bits.h"

namespace ingot {
namespace {

constexpr float kFp8Most = 448;

}  // namespace

PackedTensors fp8_tensors(int64_t rows, int64_t cols, const Fp8Options& options) {
  PackedTensors tensors = {{".weight", Layout::kF8_E4M3, {extent(rows), extent(cols)}, {}}};
  if (options.scales == Fp8Scales::kBlock) {
    const auto blocks = [&](int64_t size) {
      return extent((size + options.block - 1) / options.block);
    };
    tensors.push_back({".weight_scale_inv", Layout::kF32, {blocks(rows), blocks(cols)}, {}});
  } else if (options.scales == Fp8Scales::kRow) {
    tensors.push_back({".weight_scale", options.scale_layout, {extent(rows), 1}, {}});
  } else {
    tensors.push_back({".weight_scale", options.scale_layout, {1}, {}});
  }
  if (options.has_input_scale) tensors.push_back({".input_scale", options.scale_layout, {1}, {}});
  return tensors;
}

QuantizedWeight quantize_fp8(std::span<const float> values, int64_t rows, int64_t cols,
                             const Fp8Options& options, float input_scale, const Exec& exec) {
  QuantizedWeight result;
  result.tensors = fp8_tensors(rows, cols, options);
  const bool is_block = options.scales == Fp8Scales::kBlock;
  const Layout layout = is_block ? Layout::kF32 : options.scale_layout;
  const int64_t tile_rows = is_block ? options.block : options.scales == Fp8Scales::kRow ? 1 : rows;
  const int64_t tile_cols = is_block ? options.block : cols;
  const int64_t across = (cols + tile_cols - 1) / tile_cols;
  const int64_t down = (rows + tile_rows - 1) / tile_rows;
  std::vector<float> scales(static_cast<size_t>(down * across));
  for (int64_t tile = 0; tile < down * across; ++tile) {
    const int64_t first_row = tile / across * tile_rows;
    const int64_t first_col = tile % across * tile_cols;
    const auto width = static_cast<size_t>(std::min(tile_cols, cols - first_col));
    float most = 0;
    for (int64_t row = first_row; row < std::min(rows, first_row + tile_rows); ++row) {
      most = std::max(most,
                      largest(values.subspan(static_cast<size_t>(row * cols + first_col), width)));
    }
    scales[static_cast<size_t>(tile)] = round_scale(most / kFp8Most, layout);
  }
  std::vector<uint8_t> codes(values.size());
  result.values.resize(values.size());
  exec.for_ranges(rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * cols; i < end * cols; ++i) {
      const int64_t tile = i / cols / tile_rows * across + i % cols / tile_cols;
      const float scale = scales[static_cast<size_t>(tile)];
      const auto at = static_cast<size_t>(i);
      const Float8E4M3 code = to_float8_e4m3(values[at] / scale);
      codes[at] = code.bits;
      result.values[at] = to_float(code) * scale;
    }
  });
  result.tensors[0].bytes = bytes_of(std::span<const uint8_t>(codes));
  result.tensors[1].bytes = scale_bytes(scales, layout);
  if (options.has_input_scale) {
    const float rounded = round_scale(input_scale, options.scale_layout);
    result.tensors[2].bytes = scale_bytes(std::span(&rounded, 1), options.scale_layout);
  }
  return result;
}

}  // namespace ingot
