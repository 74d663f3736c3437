// SPDX-License-Identifier: Apache-2.0
// How weights lie in memory for the linear kernels: panels of 16 rows, columns in fours, so that a
// lane of every vector is a row, inputs are broadcast, and no sum crosses lanes. One arrangement
// serves every target (two AVX2 registers, one of AVX-512, a tile of AMX, four of NEON), and there
// is one packing per scheme of quantization, not per file format. docs/formats/panels.md draws it.
//
// A panel of codes is blocks of 256 columns (the last may be shorter), each its scales and then its
// codes in runs of 32 columns, so that a kernel reads its bytes in order:
//   | scales, padded to 64 bytes | run 0 | ... | run 7 |
// A run's codes are split into planes of 4, 2 and 1 bits (8-bit codes are bytes). Every plane is
// lines of 64 bytes, 16 rows by 4 columns: byte 4r + j of a line belongs to row r.
//   4 bits: 4 lines; line i has columns 8i + j in the low nibbles and 8i + 4 + j in the high ones
//   2 bits: 2 lines; line i has columns 16i + 4p + j in bits 2p
//   1 bit:  1 line with columns 4p + j in bits p
//   8 bits: 8 lines; line i has columns 4i + j
// Rows past the last are zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "blocks/layout_id.h"
#include "kernels/packing.h"
#include "kernels/target.h"

namespace ingot {

const PackingInfo& info(Packing packing);

// What a packing may round because that is faster.
enum class Rounding : uint8_t {
  kNothing,  // but what the format rounds itself
  kInputs,   // of plain floats: to bf16, or to 13 bits, beside weights of 14
  kCodes,    // and quantized weights that do not fit a byte (see panel_rounded.h)
};

// The packing of a weight's layout; kRows where there is none, or the columns do not fill groups.
// Floats of 16 bits become whole numbers where a kernel multiplies them and inputs may be rounded,
// but for bf16 where there are dot products of it, which want a packing of their own.
Packing packing_of(Layout layout, int64_t cols, TargetSet targets = TargetSet::scalar_only(),
                   Rounding rounding = Rounding::kInputs);
// Whether panels of this layout are much larger than the file's rows: codes of tables, of which
// only the index is in the file.
bool outgrows_file(Layout layout);

// The same of a weight whose scales lie apart. Schemes without a packing of their own take one of
// floats that loses nothing: bf16 for narrow floats times powers of two, else f32. Where codes may
// be rounded, e4m3, NF4 and FP4 of bitsandbytes take packings of bytes.
struct QuantTensor;
Packing packing_of(const QuantTensor& tensor, TargetSet targets = TargetSet::scalar_only(),
                   Rounding rounding = Rounding::kInputs);
// Whether only such weights have it.
bool is_quant_packing(Packing packing);
bool is_e4m3(Packing packing);
// Whether it is of levels that are rounded.
bool is_rounded_levels(Packing packing);
// Whether the tensor's weights are rounded in this packing, and the unit that their scales are then
// kept in: outputs are multiplied by it.
bool is_rounded(const QuantTensor& tensor, Packing packing);
float unit_of_rounded(const QuantTensor& tensor);

PanelShape panel_shape(Packing packing, int64_t cols);

// Packs panels [begin, end) of a matrix of `rows` by `cols`; panel p goes to
// out + p * panel_shape().panel. `weights` holds whole rows of `layout`.
struct PanelSource {
  Layout layout;
  const std::byte* weights;
  int64_t row_bytes;
  int64_t rows;
  int64_t cols;
  const QuantTensor* quant = nullptr;  // in place of `weights`, where scales lie apart
  float unit = 1;                      // of the scales of rounded weights: outputs are times it
};
void pack_panels(const PanelSource& source, Packing packing, int64_t begin, int64_t end,
                 std::byte* out);

// The same, as fast as the machine can.
using PanelPacker = void (*)(const PanelSource& source, Packing packing, int64_t begin, int64_t end,
                             std::byte* out);
PanelPacker choose_packer(TargetSet targets);

// The code of one row and column of a run: the truth about the planes, for references and tests.
int panel_code(const std::byte* run, int bits, int64_t row, int64_t column);

}  // namespace ingot
