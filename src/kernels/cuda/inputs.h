// SPDX-License-Identifier: Apache-2.0
// The inputs of linear layers in the forms that kernels read, made from f32 on the device: bytes,
// halves, bf16, or rounded as a checkpoint says (tensor/input_quant.h). The same arithmetic as the
// CPU's: a token is rounded by itself, and to the same codes.
#pragma once

#include <cstdint>

#include "kernels/cuda/linear.h"
#include "kernels/cuda/stream.h"
#include "tensor/input_quant.h"

namespace ingot::cuda {

struct InputRows {
  const float* x;        // [tokens, cols]
  const int32_t* order;  // [cols] or null: column i of the result is x's column order[i]
  int64_t cols;
  int32_t tokens;
};

// ByteInput's arrays, to be filled.
struct ByteRows {
  int8_t* codes;
  float* scales;
  int16_t* sums16;
  int16_t* sums32;
  int32_t runs;
  int32_t groups;
  bool is_alone;  // there is one token only
};
// Groups of 32 columns, or of 256 where `in_blocks`.
void pack_bytes(const InputRows& in, bool in_blocks, const ByteRows& out, Stream stream);
// One scale a token, as an int8 InputQuant says, in groups of 32; shifts[token] = scale * zero.
void pack_int8(const InputRows& in, const InputQuant& quant, const ByteRows& out, float* shifts,
               Stream stream);
// f32, f16 (larger numbers become the largest) or bf16; `stride` elements a row, zeros behind cols.
void pack_floats(const InputRows& in, ElementType type, void* out, int64_t stride, SlotOrder order,
                 Stream stream);

// The scales of rows that are rounded as a checkpoint says.
struct RowScales {
  InputQuant quant;
  float* scales;  // [tokens]; with spans: [tiles][spans][tokens of the tile], of f16
                  // numbers [tokens][spans]
  int64_t spans;  // e4m3: runs of 128 columns that have a scale each, stride / 128; or 0
  TokenTiles tiles;
  int32_t tokens;
  float* shifts;  // int8: [tokens], scale * zero; else null
};
// Where packed rows go. Rows are padded with zeros to `stride`, a multiple of 128.
struct PackedRows {
  // Nowhere; bytes in groups of 32 or 256; floats of 16 bits; codes of rounded inputs, as f16
  // numbers or as they are.
  enum class Kind : uint8_t { kNone, kBytes32, kBytes256, kF16, kBF16, kE4m3AsF16, kE4m3, kInt8 };
  Kind kind = Kind::kNone;
  ByteRows bytes{};
  void* values = nullptr;               // of all but bytes: [tokens, stride]
  int64_t stride = 0;                   // elements
  SlotOrder order = SlotOrder::kPlain;  // of columns, f16 alone
  RowScales scales{};  // of rounded inputs; their quantization has blocks only with spans
};
// Rounded inputs of any order, blocks and number of columns; fused_inputs.h is faster.
void pack_rounded(const InputRows& in, const PackedRows& out, Stream stream);
// The rounded numbers themselves, [tokens, cols]; without any order.
void round_floats(const InputRows& in, const InputQuant& quant, float* out, Stream stream);

}  // namespace ingot::cuda
