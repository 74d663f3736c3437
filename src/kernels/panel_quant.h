// SPDX-License-Identifier: Apache-2.0
// The packer's eyes on weights whose scales lie apart: 32 codes of a row at a time, whatever order
// the file has them in, and its scale in the form of the packing. In an anonymous namespace on
// purpose: it is built once for each target, GPUs among them.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/target_code.h"
#include "kernels/code_levels.h"
#include "kernels/packing.h"
#include "kernels/panel_run.h"
#include "tensor/quant_codes.h"

namespace ingot {
namespace {

INGOT_TARGET_CODE inline int64_t file_row(const QuantCodes& tensor, int64_t row) {
  return tensor.row_order == nullptr ? row : tensor.row_order[row];
}

// 32 codes of a stream of 4 * Bits bytes.
template <int Bits>
INGOT_TARGET_CODE void spread_codes(const uint8_t* from, uint8_t* out) {
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
INGOT_TARGET_CODE void read_run_codes(const QuantCodes& tensor, int64_t row, int64_t run,
                                      uint8_t* out) {
  if (tensor.column_order != nullptr) {
    const int32_t* order = tensor.column_order + run * 32;
    for (int64_t i = 0; i < 32; ++i)
      out[i] = static_cast<uint8_t>(code_at(tensor, row, order[i]));
    return;
  }
  uint8_t bytes[4 * Bits];
  const std::byte* rows = tensor.codes + row * (tensor.cols * Bits / 8) + run * 4 * Bits;
  const void* aligned = __builtin_assume_aligned(rows, kCodesAlignment);
  switch (tensor.order) {
    case CodeOrder::kRows:
      std::memcpy(bytes, aligned, sizeof(bytes));
      return spread_codes<Bits>(bytes, out);
    case CodeOrder::kRowsSigned:
      std::memcpy(bytes, aligned, sizeof(bytes));
      for (uint8_t& byte : bytes)
        byte = static_cast<uint8_t>(byte ^ 0x80);
      return spread_codes<Bits>(bytes, out);
    case CodeOrder::kRowsHighFirst:
      std::memcpy(bytes, aligned, sizeof(bytes));
      for (uint8_t& byte : bytes)
        byte = static_cast<uint8_t>((byte >> 4) | (byte << 4));
      return spread_codes<Bits>(bytes, out);
    case CodeOrder::kColumns: {
      for (int64_t i = 0; i < Bits; ++i) {
        const uint32_t word = word_of_codes(tensor.codes, (run * Bits + i) * tensor.rows + row);
        std::memcpy(bytes + i * 4, &word, sizeof(word));
      }
      return spread_codes<Bits>(bytes, out);
    }
    case CodeOrder::kAwq: {
      const int shift = awq_shift(row);
      const int64_t words = tensor.rows / 8;
      for (int64_t i = 0; i < 32; ++i) {
        const uint32_t word = word_of_codes(tensor.codes, (run * 32 + i) * words + row / 8);
        out[i] = static_cast<uint8_t>((word >> shift) & 15);
      }
    }
  }
}

// A float of 24 bits: what a half or a bf16 says is kept, a float is rounded to 16 bits.
INGOT_TARGET_CODE inline uint32_t to_24_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return (bits + 0x7F + ((bits >> 8) & 1)) & ~0xFFu;
}

// The bits of a half that equals the value: it has been seen that there is one.
INGOT_TARGET_CODE inline uint16_t to_half_bits(float value) {
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
INGOT_TARGET_CODE inline uint8_t to_e4m3_bits(float value) {
  if (value < 0x1p-6F) return static_cast<uint8_t>(value * 512 + 0.5F);  // denormals: steps of 2^-9
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint8_t>(((bits + (1u << 19)) >> 20) - ((127u - 7u) << 3));
}

INGOT_TARGET_CODE inline void write_scale(const QuantCodes& tensor, int64_t row, int64_t run,
                                          const PackingInfo& facts, int64_t lane,
                                          std::byte* scales) {
  const int64_t at = row * tensor.groups + run * 32 / tensor.group_columns;
  const float scale = tensor.scales[at];
  uint32_t word = 0;
  switch (facts.form) {
    case ScaleForm::kPairs:  // of 16 columns, and of the next 16
      for (int64_t i = 0; i < 2; ++i) {
        const float part = tensor.scales[at + i] / tensor.tensor_scale;
        put(scales + i * kPanelRows, lane, to_e4m3_bits(part));
      }
      return;
    case ScaleForm::kPowers:  // 2^(e - 127)
      std::memcpy(&word, &scale, sizeof(word));
      return put(scales, lane, static_cast<uint8_t>(word >> 23));
    case ScaleForm::kHalves:
      return put(scales, lane, to_half_bits(scale));
    case ScaleForm::kZeros:
      return put(scales, lane, to_24_bits(scale) | tensor.zeros[at]);
    default:
      return put(scales, lane,
                 scale / (facts.packing == Packing::kGroupsBnbFp4 ? kBnbFp4Unit : kNf4Unit));
  }
}

// 32 columns of a row of the file, as row `lane` of its panel.
template <int Bits>
INGOT_TARGET_CODE void pack_quant_run(const QuantCodes& tensor, int64_t row, int64_t run,
                                      const PackingInfo& facts, const PanelShape& shape,
                                      std::byte* panel, int64_t lane) {
  uint8_t codes[32];
  read_run_codes<Bits>(tensor, row, run, codes);
  write_scale(tensor, row, run, facts, lane,
              panel + run / 8 * shape.block + run % 8 * facts.scale_bytes);
  write_run<Bits>(codes, panel + shape.run_at(run), lane);
}

}  // namespace
}  // namespace ingot
