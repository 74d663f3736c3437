// SPDX-License-Identifier: Apache-2.0
// y = W x (+ bias) on the device. Weights of codes are the panels of kernels/panel.h, by inputs in
// bytes; weights of floats are rows as files have them. Each y is summed over the columns in one
// order that depends on the packing and the number of columns only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/slot_order.h"
#include "kernels/cuda/stream.h"
#include "kernels/packing.h"

namespace ingot::cuda {

// Inputs as bytes: value = scale * code. Groups are of 32 columns, or of 256 for packings in
// blocks. Everything lies in tiles of eight tokens, in the order in which lanes of a warp read it
// (lane (g, t) of mma_int8.cuh); where the last tile has fewer tokens, the others' places hold
// anything. A token alone lies without a tile around it: [runs][32] and so on.
struct ByteInput {
  const int8_t* codes;    // [tiles][runs of 32 columns][8 tokens][32]
  const float* scales;    // [tiles][groups][8]
  const int16_t* sums16;  // [tiles][runs * 2][8]: of 16 codes each
  const int16_t* sums32;  // [tiles][runs][8]
  int32_t runs;           // columns / 32, rounded up to 8
  int32_t groups;
  int32_t tokens;
};
inline constexpr int kTileTokens = 8;

enum class ElementType : uint8_t { kF32, kF16, kBF16, kE4M3, kInt8 };

// How the library takes tokens: so many at once, and those that are left in a tile of its own,
// which has places for `last`.
struct TokenTiles {
  int32_t each = 1;
  int32_t last = 1;
};

// Inputs as rows: floats of some width, or codes of eight bits.
struct FloatInput {
  ElementType type;
  const void* values;  // [tokens, stride]
  int64_t stride;      // elements; but in f32 a multiple of 128, with zeros behind the columns
  // f16 for e4m3 weights: [tokens], or, of each 128 columns, [tokens, spans]; or null. Codes:
  // [tokens]; or, of each 128 columns, [tiles][spans][tokens of the tile].
  const float* scales;
  int64_t spans;  // 0: one scale a token
  int32_t tokens;
  TokenTiles tiles;
};

// One weight of a launch; q, k and v, or gate and up, go together.
struct LinearPart {
  const std::byte* weights;  // panels, or rows
  int64_t stride;            // bytes from panel to panel, or from row to row
  const float* row_scales;   // e4m3, int8: [rows, spans] of 128 columns, else null
  int64_t scale_spans;       // of row_scales: 1 where one scale is a row's
  // e4m3: [rows / 128][block_spans], what row_scales are in 128 rows by 128 columns; null where
  // they differ within.
  const float* block_scales;
  int64_t block_spans;
  const float* bias;  // [rows] or null
  float* y;           // [tokens, y_stride]
  int64_t y_stride;
  int32_t rows;
};
inline constexpr int kMostParts = 4;

// Gate and up: two parts of as many rows that make one output, silu(first) * second, in the
// second's y; the first's is left alone. Both lie alike. A tile then has half of its rows from
// either, so that who has the one number has the other. linear_warpgroups() can do it,
// linear_rows() and linear_rows_sm90() where scales are not of 128 columns each, the latter not for
// floats.
struct Gating {
  bool is_on = false;
  bool is_bf16 = false;
  SlotOrder order = SlotOrder::kPlain;
  // The output once more in 16 bits (f16, or bf16), as the layer behind reads it; or null.
  uint16_t* halves = nullptr;  // [tokens, stride]
  int64_t stride = 0;          // elements
};

struct LinearParts {
  LinearPart part[kMostParts];
  int32_t count;
  Gating gating;
  int64_t cols;
  float scale;          // of all outputs, before the bias
  const float* shifts;  // [tokens] or null: times row_sums, taken off every output
  const float* row_sums[kMostParts];
  float* partials;     // linear_scratch() of it, for linear_decoded()
  uint32_t* counters;  // and of zeros, which are zeros again afterwards; or null for all others,
                       // else one: it lets them share work as it goes
};

// Bytes that linear_decoded() needs beside its inputs and outputs.
struct LinearScratch {
  size_t partials;
  size_t counters;
};
LinearScratch linear_scratch(const LinearParts& parts, int32_t tokens);

void linear_panels(Packing packing, const LinearParts& parts, const ByteInput& x, Stream stream);
// Two of them in one launch, for one token: what the mixtures of k-quants have for q, k and v. The
// second has a counter of its own. False: these two do not go together.
bool linear_pair(Packing packing, const LinearParts& first, Packing second_packing,
                 const LinearParts& second, const ByteInput& x, Stream stream);
// The same weights, decoded to f16 on the way, by inputs in f16: faster for more than a few tokens.
void linear_decoded(Packing packing, const LinearParts& parts, const FloatInput& x, Stream stream);
// The same on Hopper (hopper.h); inputs with their columns in slot_order(). False: the driver
// refuses to map the inputs, which it should not.
bool linear_warpgroups(Packing packing, const LinearParts& parts, const FloatInput& x,
                       Stream stream);
constexpr SlotOrder slot_order(Packing packing) {
  return packing_info(packing).bits == 8 ? SlotOrder::kFours : SlotOrder::kEights;
}
// Weights of floats, rows of `type`, by inputs in the type that tensor cores take with them: f16
// for f16 and e4m3, bf16 for bf16, int8 for int8.
void linear_rows(ElementType type, const LinearParts& parts, const FloatInput& x, Stream stream);
// The same on Hopper (hopper.h), for more tokens: f16 by f16, bf16 by bf16, e4m3 and int8 by codes
// of their own kind; e4m3 by codes with spans where a part has scales of 128 columns. False: the
// driver refuses to map weights or inputs.
bool linear_rows_sm90(ElementType type, const LinearParts& parts, const FloatInput& x,
                      Stream stream);
// Weights of floats by inputs in f32: exact products, f32 sums.
void linear_exact(ElementType type, const LinearParts& parts, const FloatInput& x, Stream stream);
// Rows of int8 with one scale each by inputs in int8 with one scale a token. Sums are whole
// numbers, so that they are the same in any order; see outputs.h.
void linear_int8(const LinearParts& parts, const FloatInput& x, Stream stream);

}  // namespace ingot::cuda
