// SPDX-License-Identifier: Apache-2.0
#include "convert/exact_repack.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/float_types.h"
#include "blocks/mxfp4.h"
#include "blocks/q4_0.h"
#include "blocks/q5_0.h"
#include "blocks/q8_0.h"

namespace ingot {
namespace {

constexpr int64_t kBlock = 32;

bool is_half(float value) {
  return std::isfinite(value) && to_float(to_half(value)) == value;
}

// The scale as MXFP4 stores it; nothing when it is no power of two in its range.
std::optional<uint8_t> exponent_of(float scale) {
  int exponent = 0;
  if (!(scale > 0) || std::frexp(scale, &exponent) != 0.5F) return std::nullopt;
  const int stored = exponent - 1 + 127;
  if (stored < 1 || stored > 254) return std::nullopt;
  return static_cast<uint8_t>(stored);
}

int64_t file_row(const QuantTensor& tensor, int64_t row) {
  return tensor.row_order.empty() ? row : tensor.row_order[static_cast<size_t>(row)];
}

using Levels = std::array<int, kBlock>;  // code - zero

template <class Block>
void pack_nibbles(const Levels& levels, int offset, Block& block) {
  for (size_t i = 0; i < kBlock / 2; ++i) {
    const auto low = static_cast<unsigned>(levels[i] + offset) & 0xF;
    const auto high = static_cast<unsigned>(levels[i + kBlock / 2] + offset) & 0xF;
    block.codes[i] = static_cast<uint8_t>(low | high << 4);
  }
}

void pack(const Levels& levels, float scale, Layout layout, std::byte* out) {
  if (layout == Layout::kQ4_0) {
    Q4_0 block{to_half(scale), {}};
    pack_nibbles(levels, 8, block);
    std::memcpy(out, &block, sizeof(block));
  } else if (layout == Layout::kQ5_0) {
    Q5_0 block{to_half(scale), {}, {}};
    pack_nibbles(levels, 16, block);
    for (size_t i = 0; i < kBlock; ++i) {
      const auto high = static_cast<unsigned>(levels[i] + 16) >> 4 & 1;
      block.high_bits[i / 8] = static_cast<uint8_t>(block.high_bits[i / 8] | high << (i % 8));
    }
    std::memcpy(out, &block, sizeof(block));
  } else if (layout == Layout::kQ8_0) {
    Q8_0 block{to_half(scale), {}};
    for (size_t i = 0; i < kBlock; ++i)
      block.codes[i] = static_cast<int8_t>(levels[i]);
    std::memcpy(out, &block, sizeof(block));
  } else {
    INGOT_CHECK(layout == Layout::kMXFP4);
    MXFP4 block{{*exponent_of(scale)}, {}};
    pack_nibbles(levels, 0, block);
    std::memcpy(out, &block, sizeof(block));
  }
}

// By its sizes alone.
std::optional<Layout> fitting_layout(const QuantTensor& tensor) {
  if (tensor.column_order != nullptr || tensor.cols % kBlock != 0 ||
      tensor.scheme.group_columns % kBlock != 0)
    return std::nullopt;
  if (tensor.scheme.meaning == CodeMeaning::kE2m1) {
    const bool is_exact = std::ranges::all_of(
        tensor.scales, [](float scale) { return exponent_of(scale).has_value(); });
    return is_exact ? std::optional(Layout::kMXFP4) : std::nullopt;
  }
  if (tensor.scheme.meaning != CodeMeaning::kAffine || tensor.zeros.empty() ||
      !std::ranges::all_of(tensor.scales, is_half))
    return std::nullopt;
  const auto [least, most] = std::ranges::minmax(tensor.zeros);
  const int low = -int{most};
  const int high = (1 << tensor.scheme.bits) - 1 - int{least};
  if (low >= -8 && high <= 7) return Layout::kQ4_0;
  if (low >= -16 && high <= 15) return Layout::kQ5_0;
  if (low >= -128 && high <= 127) return Layout::kQ8_0;
  return std::nullopt;
}

}  // namespace

std::optional<Layout> exact_layout(const QuantTensor& tensor) {
  const std::optional<Layout> layout = fitting_layout(tensor);
  if (!layout) return layout;
  // The first row by both ways: whatever else a scheme may have must not be lost.
  const auto cols = static_cast<size_t>(tensor.cols);
  std::vector<float> wanted(cols);
  std::vector<float> found(cols);
  std::vector<std::byte> packed(*storage_bytes(*layout, cols).value());
  dequantize_row(tensor, 0, wanted);
  repack_row(tensor, 0, *layout, packed);
  dequantize(*layout, packed, found);
  return found == wanted ? layout : std::nullopt;
}

std::optional<Layout> common_layout(std::optional<Layout> a, std::optional<Layout> b) {
  if (!a || !b) return std::nullopt;
  if (a == b) return a;
  if (a == Layout::kMXFP4 || b == Layout::kMXFP4) return std::nullopt;
  for (const Layout larger : {Layout::kQ8_0, Layout::kQ5_0}) {
    if (a == larger || b == larger) return larger;
  }
  return a;
}

void repack_row(const QuantTensor& tensor, int64_t row, Layout layout, std::span<std::byte> out) {
  const int64_t from = file_row(tensor, row);
  const size_t block_bytes = info(layout).block_bytes;
  const bool is_affine = tensor.scheme.meaning == CodeMeaning::kAffine;
  const QuantCodes codes = tensor.view();
  INGOT_CHECK(out.size() == static_cast<size_t>(tensor.cols / kBlock) * block_bytes);
  for (int64_t block = 0; block < tensor.cols / kBlock; ++block) {
    const auto group =
        static_cast<size_t>(from * tensor.groups() + block * kBlock / tensor.scheme.group_columns);
    Levels levels{};
    for (int64_t i = 0; i < kBlock; ++i) {
      levels[static_cast<size_t>(i)] =
          code_at(codes, from, block * kBlock + i) - (is_affine ? int{tensor.zeros[group]} : 0);
    }
    pack(levels, tensor.scales[group], layout,
         out.data() + static_cast<size_t>(block) * block_bytes);
  }
}

}  // namespace ingot
