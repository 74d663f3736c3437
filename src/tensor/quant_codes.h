// SPDX-License-Identifier: Apache-2.0
// A QuantTensor (tensor/quant_tensor.h) as pointers and numbers: what packs weights reads it so,
// on the processor and on a GPU, where the pointers are the device's. Plain, as every target and
// CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/target_code.h"

namespace ingot {

// Where the code of a row and column is.
enum class CodeOrder : uint8_t {
  kRows,           // a row's codes are one stream of bits, the low bits of a byte first
  kRowsSigned,     // the same of signed bytes, to which 128 is added
  kRowsHighFirst,  // the same of 4 bits, the high ones of a byte first (bitsandbytes)
  kColumns,        // 32 codes of a row are a stream of `bits` words, in [cols / 32 * bits][rows]
  kAwq,            // [cols][rows / 8] words of eight rows' nibbles, in the order 0 2 4 6 1 3 5 7
};

struct QuantCodes {
  CodeOrder order = CodeOrder::kRows;
  int bits = 4;
  int64_t rows = 0;  // of the file
  int64_t cols = 0;
  int64_t group_columns = 32;
  int64_t groups = 0;  // of a row
  float tensor_scale = 1;
  const std::byte* codes = nullptr;       // on a GPU they begin at a word
  const float* scales = nullptr;          // [rows][groups]
  const uint8_t* zeros = nullptr;         // the same, or null
  const int64_t* row_order = nullptr;     // rows of the matrix in the file, or null
  const int32_t* column_order = nullptr;  // [cols], or null
};

// What follows is built once for each target, on purpose.
namespace {

// Words of codes begin at multiples of this: files may have them at any address.
#ifdef __CUDACC__
constexpr size_t kCodesAlignment = 4;
#else
constexpr size_t kCodesAlignment = 1;
#endif

// The bit of an AWQ word at which a row's nibble begins.
INGOT_TARGET_CODE inline int awq_shift(int64_t row) {
  const auto place = static_cast<int>(row % 8);
  return 4 * (place / 2) + 16 * (place % 2);
}

INGOT_TARGET_CODE inline uint32_t word_of_codes(const std::byte* words, int64_t index) {
  uint32_t word;
  std::memcpy(&word, __builtin_assume_aligned(words + index * 4, kCodesAlignment), sizeof(word));
  return word;
}

// One code; row and column of the file.
[[maybe_unused]] INGOT_TARGET_CODE inline int code_at(const QuantCodes& tensor, int64_t row,
                                                      int64_t col) {
  const int bits = tensor.bits;
  const uint32_t mask = (1u << bits) - 1;
  const auto stream = [&](auto&& word) {  // bit `col * bits` of words of 32
    const int64_t at = col * bits;
    const auto shift = static_cast<int>(at % 32);
    uint64_t window = word(at / 32);
    if (shift + bits > 32) window |= uint64_t{word(at / 32 + 1)} << 32;
    return static_cast<int>((window >> shift) & mask);
  };
  switch (tensor.order) {
    case CodeOrder::kRows:
    case CodeOrder::kRowsSigned:
    case CodeOrder::kRowsHighFirst: {
      const std::byte* from = tensor.codes + row * (tensor.cols * bits / 8);
      if (bits == 3) return stream([&](int64_t i) { return word_of_codes(from, i); });
      int64_t shift = col * bits % 8;
      if (tensor.order == CodeOrder::kRowsHighFirst) shift = 4 - shift;
      const uint32_t byte = std::to_integer<uint32_t>(from[col * bits / 8]);
      const auto code = static_cast<int>((byte >> shift) & mask);
      return tensor.order == CodeOrder::kRowsSigned ? code ^ 0x80 : code;
    }
    case CodeOrder::kColumns:
      return stream([&](int64_t i) { return word_of_codes(tensor.codes, i * tensor.rows + row); });
    case CodeOrder::kAwq:
      return static_cast<int>(
          (word_of_codes(tensor.codes, col * (tensor.rows / 8) + row / 8) >> awq_shift(row)) &
          mask);
  }
  return 0;
}

}  // namespace
}  // namespace ingot
