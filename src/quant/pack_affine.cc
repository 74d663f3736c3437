// SPDX-License-Identifier: Apache-2.0
#include "quant/pack_bits.h"
#include "quant/packed.h"

namespace ingot {
namespace {

int64_t group_count(int64_t cols, const AffineOptions& options) {
  const int64_t group = options.group_columns == 0 ? cols : options.group_columns;
  return (cols + group - 1) / group;
}

int64_t words_of(int64_t codes, int bits) {
  return (codes * bits + 31) / 32;
}

AffineOptions options_of(const AffineCodes& codes, Layout scale_layout) {
  AffineOptions options;
  options.bits = codes.bits;
  options.group_columns = codes.group_columns;
  options.is_symmetric = codes.is_symmetric;
  options.scale_layout = scale_layout;
  return options;
}

}  // namespace

bool fits_gptq(int64_t rows, int64_t cols, const AffineOptions& options) {
  const bool has_bits =
      options.bits == 2 || options.bits == 3 || options.bits == 4 || options.bits == 8;
  return has_bits && cols % 32 == 0 && rows % 32 == 0;
}

PackedTensors gptq_tensors(int64_t rows, int64_t cols, const AffineOptions& options) {
  const uint64_t groups = extent(group_count(cols, options));
  return {{".qweight", Layout::kI32, {extent(words_of(cols, options.bits)), extent(rows)}, {}},
          {".qzeros", Layout::kI32, {groups, extent(words_of(rows, options.bits))}, {}},
          {".scales", Layout::kF16, {groups, extent(rows)}, {}},
          {".g_idx", Layout::kI32, {extent(cols)}, {}}};
}

PackedTensors pack_gptq(const AffineCodes& codes) {
  const AffineOptions options = options_of(codes, Layout::kF16);
  PackedTensors tensors = gptq_tensors(codes.rows, codes.cols, options);
  const auto rows = static_cast<size_t>(codes.rows);
  std::vector<uint32_t> weights(static_cast<size_t>(words_of(codes.cols, codes.bits)) * rows);
  for (size_t row = 0; row < rows; ++row) {
    for (int64_t col = 0; col < codes.cols; ++col) {
      put_code(weights, row, rows, col, codes.bits,
               codes.codes[row * static_cast<size_t>(codes.cols) + static_cast<size_t>(col)]);
    }
  }
  const int64_t groups = codes.groups();
  const auto width = static_cast<size_t>(words_of(codes.rows, codes.bits));
  const auto mask = static_cast<uint32_t>((1 << codes.bits) - 1);
  std::vector<uint32_t> zeros(static_cast<size_t>(groups) * width);
  for (int64_t group = 0; group < groups; ++group) {
    for (int64_t row = 0; row < codes.rows; ++row) {
      const uint32_t zero = codes.zeros[static_cast<size_t>(row * groups + group)];
      put_code(zeros, static_cast<size_t>(group) * width, 1, row, codes.bits, (zero - 1) & mask);
    }
  }
  tensors[0].bytes = bytes_of(std::span<const uint32_t>(weights));
  tensors[1].bytes = bytes_of(std::span<const uint32_t>(zeros));
  tensors[2].bytes = scale_bytes(by_group(codes.scales, codes.rows, groups), Layout::kF16);
  tensors[3].bytes = bytes_of(std::span<const int32_t>(codes.group_of_columns()));
  return tensors;
}

bool fits_awq(int64_t rows, int64_t cols, const AffineOptions& options) {
  const int64_t group = options.group_columns == 0 ? cols : options.group_columns;
  return options.bits == 4 && rows % 8 == 0 && cols % group == 0;
}

PackedTensors awq_tensors(int64_t rows, int64_t cols, const AffineOptions& options) {
  const uint64_t groups = extent(group_count(cols, options));
  return {{".qweight", Layout::kI32, {extent(cols), extent(rows / 8)}, {}},
          {".qzeros", Layout::kI32, {groups, extent(rows / 8)}, {}},
          {".scales", Layout::kF16, {groups, extent(rows)}, {}}};
}

PackedTensors pack_awq(const AffineCodes& codes) {
  constexpr int kPlace[8] = {0, 4, 1, 5, 2, 6, 3, 7};  // the nibble of each of eight rows
  INGOT_CHECK(codes.order.empty());
  PackedTensors tensors = awq_tensors(codes.rows, codes.cols, options_of(codes, Layout::kF16));
  const int64_t groups = codes.groups();
  const auto pack = [&](const std::vector<uint8_t>& from, int64_t count) {
    std::vector<uint32_t> words(static_cast<size_t>(count * codes.rows / 8));
    for (int64_t row = 0; row < codes.rows; ++row) {
      for (int64_t i = 0; i < count; ++i) {
        words[static_cast<size_t>(i * (codes.rows / 8) + row / 8)] |=
            static_cast<uint32_t>(from[static_cast<size_t>(row * count + i)])
            << (4 * kPlace[row % 8]);
      }
    }
    return bytes_of(std::span<const uint32_t>(words));
  };
  tensors[0].bytes = pack(codes.codes, codes.cols);
  tensors[1].bytes = pack(codes.zeros, groups);
  tensors[2].bytes = scale_bytes(by_group(codes.scales, codes.rows, groups), Layout::kF16);
  return tensors;
}

bool fits_compressed(int64_t rows, int64_t cols, const AffineOptions& options) {
  const int64_t per_word = 32 / options.bits;
  return (options.bits == 4 || options.bits == 8) && cols % per_word == 0 &&
         (options.is_symmetric || rows % per_word == 0);
}

PackedTensors compressed_tensors(int64_t rows, int64_t cols, const AffineOptions& options) {
  const uint64_t groups = extent(group_count(cols, options));
  PackedTensors tensors = {
      {".weight_packed", Layout::kI32, {extent(rows), extent(words_of(cols, options.bits))}, {}},
      {".weight_scale", options.scale_layout, {extent(rows), groups}, {}},
      {".weight_shape", Layout::kI64, {2}, {}}};
  if (!options.is_symmetric) {
    tensors.push_back(
        {".weight_zero_point", Layout::kI32, {extent(words_of(rows, options.bits)), groups}, {}});
  }
  return tensors;
}

PackedTensors pack_compressed(const AffineCodes& codes, Layout scale_layout) {
  PackedTensors tensors =
      compressed_tensors(codes.rows, codes.cols, options_of(codes, scale_layout));
  INGOT_CHECK(codes.order.empty());
  const auto width = static_cast<size_t>(words_of(codes.cols, codes.bits));
  std::vector<uint32_t> words(static_cast<size_t>(codes.rows) * width);
  for (int64_t row = 0; row < codes.rows; ++row) {
    for (int64_t col = 0; col < codes.cols; ++col) {
      put_code(words, static_cast<size_t>(row) * width, 1, col, codes.bits,
               codes.codes[static_cast<size_t>(row * codes.cols + col)]);
    }
  }
  tensors[0].bytes = bytes_of(std::span<const uint32_t>(words));
  tensors[1].bytes = scale_bytes(codes.scales, scale_layout);
  tensors[2].bytes = bytes_of(std::span<const int64_t>({codes.rows, codes.cols}));
  if (codes.is_symmetric) return tensors;
  const auto groups = static_cast<size_t>(codes.groups());
  std::vector<uint32_t> zeros(static_cast<size_t>(words_of(codes.rows, codes.bits)) * groups);
  for (size_t group = 0; group < groups; ++group) {
    for (int64_t row = 0; row < codes.rows; ++row) {
      put_code(zeros, group, groups, row, codes.bits,
               codes.zeros[static_cast<size_t>(row) * groups + group]);
    }
  }
  tensors[3].bytes = bytes_of(std::span<const uint32_t>(zeros));
  return tensors;
}

PackedTensors int8_tensors(int64_t rows, int64_t cols, Layout scale_layout) {
  return {{".weight", Layout::kI8, {extent(rows), extent(cols)}, {}},
          {".weight_scale", scale_layout, {extent(rows), 1}, {}}};
}

PackedTensors pack_int8(const AffineCodes& codes, Layout scale_layout) {
  INGOT_CHECK(codes.bits == 8 && codes.groups() == 1 && codes.is_symmetric);
  PackedTensors tensors = int8_tensors(codes.rows, codes.cols, scale_layout);
  std::vector<int8_t> values;
  values.reserve(codes.codes.size());
  for (const uint8_t code : codes.codes)
    values.push_back(static_cast<int8_t>(static_cast<int>(code) - 128));
  tensors[0].bytes = bytes_of(std::span<const int8_t>(values));
  tensors[1].bytes = scale_bytes(codes.scales, scale_layout);
  return tensors;
}

}  // namespace ingot
