// SPDX-License-Identifier: Apache-2.0
// One row of a quantized block as plain codes and scales: what the packer reads from each layout
// before it spreads the codes over a panel's planes. Codes are without sign: what a scheme takes
// from them is in PackingInfo.
#pragma once

#include <cstdint>

#include "blocks/iq4_nl.h"
#include "blocks/iq4_xs.h"
#include "blocks/mxfp4.h"
#include "blocks/q2_k.h"
#include "blocks/q3_k.h"
#include "blocks/q4_0.h"
#include "blocks/q4_1.h"
#include "blocks/q4_k.h"
#include "blocks/q5_0.h"
#include "blocks/q5_1.h"
#include "blocks/q5_k.h"
#include "blocks/q6_k.h"
#include "blocks/q8_0.h"

namespace ingot {

struct GroupCodes {    // 32 columns
  uint16_t scale = 0;  // the file's own bits
  uint16_t min = 0;
  uint8_t codes[32] = {};
};
void read_codes(const Q4_0& block, GroupCodes& out);
void read_codes(const Q4_1& block, GroupCodes& out);
void read_codes(const Q5_0& block, GroupCodes& out);
void read_codes(const Q5_1& block, GroupCodes& out);
void read_codes(const Q8_0& block, GroupCodes& out);
void read_codes(const IQ4_NL& block, GroupCodes& out);
void read_codes(const MXFP4& block, GroupCodes& out);

struct BlockCodes {  // 256 columns
  uint16_t scale = 0;
  uint16_t min_scale = 0;
  uint8_t scales[16] = {};  // one per group of 16 or of 32 columns (then the first eight)
  uint8_t mins[16] = {};
  uint8_t codes[256] = {};
};
void read_codes(const Q2_K& block, BlockCodes& out);
void read_codes(const Q3_K& block, BlockCodes& out);
void read_codes(const Q4_K& block, BlockCodes& out);
void read_codes(const Q5_K& block, BlockCodes& out);
void read_codes(const Q6_K& block, BlockCodes& out);
void read_codes(const IQ4_XS& block, BlockCodes& out);

}  // namespace ingot
