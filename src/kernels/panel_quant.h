// SPDX-License-Identifier: Apache-2.0
// The packer's eyes on weights whose scales lie apart: 32 codes of a row at a time, whatever order
// the file has them in, and its scale in the form of the packing. In an anonymous namespace on
// purpose: it is built once for each target.
#pragma once

#include <cmath>
#include <cstring>

#include "kernels/code_levels.h"
#include "kernels/panel.h"
#include "tensor/quant_tensor.h"

namespace ingot {
namespace {

inline int64_t file_row(const QuantTensor& tensor, int64_t row) {
  return tensor.row_order.empty() ? row : tensor.row_order.data()[row];
}

// 32 codes of a stream of 4 * Bits bytes.
template <int Bits>
void spread_codes(const uint8_t* from, uint8_t* out) {
  if constexpr (Bits == 8) {
    std::memcpy(out, from, 32);
  } else if constexpr (Bits == 3) {
    for (int i = 0; i < 4; ++i) {  // eight codes in three bytes
      const uint32_t word =
          static_cast<uint32_t>(from[3 * i] | (from[3 * i + 1] << 8) | (from[3 * i + 2] << 16));
      for (int j = 0; j < 8; ++j)
        out[8 * i + j] = static_cast<uint8_t>((word >> (3 * j)) & 7);
    }
  } else {
    constexpr int kPerByte = 8 / Bits;
    for (int i = 0; i < 4 * Bits; ++i) {
      for (int j = 0; j < kPerByte; ++j)
        out[i * kPerByte + j] = static_cast<uint8_t>((from[i] >> (Bits * j)) & ((1 << Bits) - 1));
    }
  }
}

template <int Bits>
void read_run_codes(const QuantTensor& tensor, int64_t row, int64_t run, uint8_t* out) {
  if (tensor.column_order != nullptr) {
    const int32_t* order = tensor.column_order->data() + run * 32;
    for (int64_t i = 0; i < 32; ++i)
      out[i] = static_cast<uint8_t>(code_at(tensor, row, order[i]));
    return;
  }
  uint8_t bytes[4 * Bits];
  const std::byte* rows = tensor.codes.data() + row * (tensor.cols * Bits / 8) + run * 4 * Bits;
  switch (tensor.scheme.order) {
    case CodeOrder::kRows:
      std::memcpy(bytes, rows, sizeof(bytes));
      return spread_codes<Bits>(bytes, out);
    case CodeOrder::kRowsSigned:
      std::memcpy(bytes, rows, sizeof(bytes));
      for (uint8_t& byte : bytes)
        byte = static_cast<uint8_t>(byte ^ 0x80);
      return spread_codes<Bits>(bytes, out);
    case CodeOrder::kRowsHighFirst:
      std::memcpy(bytes, rows, sizeof(bytes));
      for (uint8_t& byte : bytes)
        byte = static_cast<uint8_t>((byte >> 4) | (byte << 4));
      return spread_codes<Bits>(bytes, out);
    case CodeOrder::kColumns: {
      const std::byte* words = tensor.codes.data() + (run * Bits * tensor.rows + row) * 4;
      for (int64_t i = 0; i < Bits; ++i)
        std::memcpy(bytes + i * 4, words + i * tensor.rows * 4, 4);
      return spread_codes<Bits>(bytes, out);
    }
    case CodeOrder::kAwq: {
      constexpr int kShift[8] = {0, 16, 4, 20, 8, 24, 12, 28};
      const int shift = kShift[row % 8];
      const int64_t words = tensor.rows / 8;
      const std::byte* from = tensor.codes.data() + (run * 32 * words + row / 8) * 4;
      for (int64_t i = 0; i < 32; ++i) {
        uint32_t word;
        std::memcpy(&word, from + i * words * 4, sizeof(word));
        out[i] = static_cast<uint8_t>((word >> shift) & 15);
      }
    }
  }
}

// A float of 24 bits: what a half or a bf16 says is kept, a float is rounded to 16 bits.
inline uint32_t to_24_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return (bits + 0x7F + ((bits >> 8) & 1)) & ~0xFFu;
}

// The bits of a half that equals the value: it has been seen that there is one.
inline uint16_t to_half_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  const uint32_t sign = bits >> 31 << 15;
  const int exponent = static_cast<int>((bits >> 23) & 0xFF) - 112;
  const uint32_t mantissa = (bits & 0x7FFFFF) >> 13;
  if (exponent > 0)
    return static_cast<uint16_t>(sign | (static_cast<uint32_t>(exponent) << 10) | mantissa);
  if (exponent < -10) return static_cast<uint16_t>(sign);
  return static_cast<uint16_t>(sign | ((mantissa | 0x400) >> (1 - exponent)));
}

// The bits of the e4m3 nearest to a value that is one but for its rounding, and not negative.
inline uint8_t to_e4m3_bits(float value) {
  if (value < 0x1p-6F) return static_cast<uint8_t>(value * 512 + 0.5F);  // denormals: steps of 2^-9
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint8_t>(((bits + (1u << 19)) >> 20) - ((127u - 7u) << 3));
}

inline void write_scale(const QuantTensor& tensor, int64_t row, int64_t run,
                        const PackingInfo& facts, int64_t lane, std::byte* scales) {
  const int64_t at = row * tensor.groups() + run * 32 / tensor.scheme.group_columns;
  const float scale = tensor.scales.data()[at];
  uint32_t word = 0;
  switch (facts.form) {
    case ScaleForm::kPairs:  // of 16 columns, and of the next 16
      for (int64_t i = 0; i < 2; ++i) {
        const float part = tensor.scales.data()[at + i] / tensor.tensor_scale;
        scales[i * kPanelRows + lane] = static_cast<std::byte>(to_e4m3_bits(part));
      }
      return;
    case ScaleForm::kPowers:  // 2^(e - 127)
      std::memcpy(&word, &scale, sizeof(word));
      scales[lane] = static_cast<std::byte>(word >> 23);
      return;
    case ScaleForm::kHalves: {
      const uint16_t half = to_half_bits(scale);
      std::memcpy(scales + lane * 2, &half, sizeof(half));
      return;
    }
    case ScaleForm::kZeros:
      word = to_24_bits(scale) | tensor.zeros.data()[at];
      std::memcpy(scales + lane * 4, &word, sizeof(word));
      return;
    default: {
      const float unit = scale / (facts.packing == Packing::kGroupsBnbFp4 ? kBnbFp4Unit : kNf4Unit);
      std::memcpy(scales + lane * 4, &unit, sizeof(unit));
    }
  }
}

// kF8Pairs: a line is four columns in the order that interleaving bytes makes pairs of.
inline int64_t f8_pair_at(int64_t row, int64_t col) {
  return col / 4 * kLineBytes + row / 4 * 16 + col % 4 / 2 * 8 + row % 4 * 2 + col % 2;
}

inline void pack_f8(const QuantTensor& tensor, bool is_pairs, int64_t first_row, int64_t rows,
                    std::byte* panel) {
  // The kernels of kF8 read a code as a half, which is 256 times too small.
  const float unit = is_pairs ? 1 : 256;
  const int64_t groups = tensor.groups();
  for (int64_t first = 0; first < tensor.cols; first += kSpanColumns) {
    const int64_t left = tensor.cols - first;
    const int64_t cols = left < kSpanColumns ? left : kSpanColumns;
    std::byte* codes = panel + 4 * kPanelRows;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t from = file_row(tensor, first_row + row);
      const float scale =
          tensor.scales.data()[from * groups + first / tensor.scheme.group_columns] * unit;
      std::memcpy(panel + row * 4, &scale, sizeof(scale));
      const std::byte* in = tensor.codes.data() + from * tensor.cols + first;
      for (int64_t col = 0; col < cols; ++col)
        codes[is_pairs ? f8_pair_at(row, col) : col * kPanelRows + row] = in[col];
    }
    panel = codes + cols * kPanelRows;  // only the last span may be padded after it
  }
}

}  // namespace
}  // namespace ingot
