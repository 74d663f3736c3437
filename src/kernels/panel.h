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
#include "kernels/activation_layout.h"
#include "kernels/target.h"

namespace ingot {

inline constexpr int64_t kPanelRows = 16;
inline constexpr int64_t kRunColumns = 32;
inline constexpr int64_t kBlockColumns = 256;
inline constexpr int64_t kLineBytes = 64;
inline constexpr int64_t kSpanColumns = 128;  // that one scale of e4m3 covers

enum class Packing : uint8_t {
  kRows,  // not packed: the file's rows, of any layout, decoded as they pass
  // Floats, [cols][16 rows], by float inputs.
  kF32,
  kF16,
  kBF16,
  kBF16Pairs,  // [cols / 2][16 rows][2], columns padded to 32 by zeros; by inputs in bf16
  kF8,         // e4m3; before every 128 columns a float scale for each row, times 256
  kF8Pairs,    // e4m3, four columns a line, padded to 32; scales as they are; by inputs in bf16
  // A scale (and a minimum) as float for every 32 columns, by inputs in groups of 32.
  kGroups4,      // code - 8
  kGroups4Min,   // code, and a minimum
  kGroups5,      // code - 16
  kGroups5Min,   // code, and a minimum
  kGroups8,      // code - 128
  kGroups1,      // -1 or 1
  kGroups2,      // code - 1
  kGroupsIq4,    // 16 levels
  kGroupsFp4,    // 16 levels, the scale a power of two
  kGroupsNvfp4,  // 16 levels, a scale of 8 bits for every 16 columns
  kGroups2Zero,  // code - zero point, one for every group and row
  kGroups3Zero,
  kGroups4Zero,
  kGroups8Zero,
  kGroupsNf4,     // 16 levels of two bytes, the scale in full
  kGroupsBnbFp4,  // the same with other levels
  // Whole scales for every 16 or 32 columns times one float for 256, by inputs in groups of 256.
  kBlocks2Min,
  kBlocks3,
  kBlocks4Min,
  kBlocks5Min,
  kBlocks6,
  kBlocksIq4,
  kBlocks2,       // code - 1, no scale but the float
  kBlocksIq1,     // code - 7/8 or - 9/8, which of them as part of the scale
  kBlocksIq1M,    // 6 levels
  kBlocksIq2,     // 6 levels
  kBlocksIq3Xxs,  // 16 levels
  kBlocksIq3S,    // 16 levels
};
inline constexpr size_t kPackingCount = static_cast<size_t>(Packing::kBlocksIq3S) + 1;

// What a panel keeps for each of its 16 rows and 32 columns.
enum class ScaleForm : uint8_t {
  kNone,
  kBlocks,  // a struct for 256 columns, see below
  kHalves,
  kHalvesAndMins,  // 16 scales, 16 minimums
  kPowers,         // exponents, a byte each
  kPairs,          // 16 floats of 8 bits (e4m3, no sign) for 16 columns, 16 for the next 16
  kZeros,          // words: a float of 24 bits above a zero point of 8
  kFloats,
};

struct PackingInfo {
  Packing packing;
  const char* name;  // "groups4", as in kernel names
  ActivationLayout activation;
  int bits;               // of a code, or of an element
  int offset;             // taken from every code (from every level's byte for codebooks: none)
  const int8_t* levels;   // what a code of up to 4 bits means, or null
  int64_t group_columns;  // that one scale covers
  int64_t scale_bytes;    // a panel's scales: of 32 columns, or of 256 for whole scales
  ScaleForm form;
  const int8_t* low_levels = nullptr;  // level = 128 * levels[code] + low_levels[code]
  int divisor = 1;  // of the float scale, a power of two: what makes the levels whole
};
const PackingInfo& info(Packing packing);

// The packing of a weight's layout; kRows where there is none, or the columns do not fill groups.
// Dot products of bf16 want their own.
Packing packing_of(Layout layout, int64_t cols, TargetSet targets = TargetSet::scalar_only());
// Whether panels of this layout are much larger than the file's rows: codes of tables, of which
// only the index is in the file.
bool outgrows_file(Layout layout);

// The same of a weight whose scales lie apart. Schemes without a packing of their own take one of
// floats that loses nothing: bf16 for narrow floats times powers of two, else f32.
struct QuantTensor;
Packing packing_of(const QuantTensor& tensor, TargetSet targets = TargetSet::scalar_only());
// Whether only such weights have it.
bool is_quant_packing(Packing packing);
bool is_e4m3(Packing packing);

// Where a panel's parts begin, in bytes.
struct PanelShape {
  int64_t scales = 0;  // of a block, padded
  int64_t run = 0;     // of one run of codes
  int64_t block = 0;   // of 256 columns
  int64_t panel = 0;   // in all

  int64_t run_at(int64_t run_index) const {
    return run_index / 8 * block + scales + run_index % 8 * run;
  }
};
PanelShape panel_shape(Packing packing, int64_t cols);

// The scales of one block of 256 columns, as kBlocks packings keep them. Scales and mins come in
// pairs of neighbouring groups: [groups / 2][16 rows][2].
struct BlockScales32 {  // groups of 32
  uint16_t scales[16];  // halves
  uint16_t min_scales[16];
  uint8_t group_scales[4][32];
  uint8_t group_mins[4][32];
};
struct BlockScales16 {  // groups of 16
  uint16_t scales[16];
  int8_t group_scales[8][32];
};
struct BlockScales4 {  // groups of 16, scale in the low nibble and min in the high one
  uint16_t scales[16];
  uint16_t min_scales[16];
  uint8_t group_scales[8][32];
};
struct BlockScalesIq4 {  // groups of 32, signed
  uint16_t scales[16];
  int8_t group_scales[4][32];
};
struct BlockScalesOne {  // one for all 256 columns
  uint16_t scales[16];
};
// Scales 2n + 1 of nibbles, [groups / 2][16 rows]: the first of a pair of groups in the low ones.
struct BlockNibbles16 {  // groups of 16
  uint16_t scales[16];
  uint8_t nibbles[8][16];
};
struct BlockNibbles32 {  // groups of 32
  uint16_t scales[16];
  uint8_t nibbles[4][16];
};
struct BlockShifts32 {  // groups of 32; the fourth bit: 9/8 are taken from the codes, not 7/8
  uint16_t scales[16];
  uint8_t nibbles[4][16];
  static constexpr int kShiftUnit = 8;
};

// Packs panels [begin, end) of a matrix of `rows` by `cols`; panel p goes to
// out + p * panel_shape().panel. `weights` holds whole rows of `layout`.
struct PanelSource {
  Layout layout;
  const std::byte* weights;
  int64_t row_bytes;
  int64_t rows;
  int64_t cols;
  const QuantTensor* quant = nullptr;  // in place of `weights`, where scales lie apart
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
