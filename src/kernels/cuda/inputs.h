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
void pack_floats(const InputRows& in, ElementType type, void* out, int64_t stride, Stream stream);
// e4m3 codes as f16 numbers, and scales [tokens, spans] of 128 columns each.
void pack_e4m3(const InputRows& in, const InputQuant& quant, void* out, int64_t stride,
               float* scales, int64_t spans, Stream stream);
// Rows of codes as the library reads them, `stride` bytes apart, zeros behind cols; both are
// multiples of four. Where there are no spans the inputs' quantization has no blocks.
struct CodeRows {
  void* codes;  // [tokens, stride]
  int64_t stride;
  float* scales;  // [tokens]; with spans: [tiles][spans][tokens of the tile]
  int64_t spans;  // e4m3: runs of 128 columns that have a scale each, stride / 128; or 0
  TokenTiles tiles;
};
void pack_e4m3_codes(const InputRows& in, const InputQuant& quant, const CodeRows& out,
                     Stream stream);
// shifts[token] = scale * zero
void pack_int8_codes(const InputRows& in, const InputQuant& quant, const CodeRows& out,
                     float* shifts, Stream stream);
// The rounded numbers themselves, [tokens, cols]; without any order.
void round_floats(const InputRows& in, const InputQuant& quant, float* out, Stream stream);

}  // namespace ingot::cuda
