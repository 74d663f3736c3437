// SPDX-License-Identifier: Apache-2.0
// The encoders behind quantize_rows: one function a layout, built once for each target from the
// same files (encode/). All targets give the same bytes. For this folder and its tests only.
#pragma once

#include <cstddef>
#include <span>

#include "blocks/layout_id.h"

namespace ingot::quant {

// Whole rows of `cols` floats, to be written as whole blocks. cols is a multiple of the block.
struct EncodeJob {
  const float* values;  // [elements]
  size_t elements;      // a multiple of cols
  size_t cols;
  const float* importance;  // [cols], or null
  std::byte* out;
};

using Encoder = void (*)(const EncodeJob& job);

// Puts other codes, one a byte, into a block whose scales stay.
using CodeReplacer = void (*)(const uint8_t* codes, std::byte* block);

// Null for a layout without an encoder.
namespace generic {
Encoder find_encoder(Layout layout);
CodeReplacer find_code_replacer(Layout layout);
}  // namespace generic
namespace avx2 {
Encoder find_encoder(Layout layout);
CodeReplacer find_code_replacer(Layout layout);
}  // namespace avx2
namespace avx512 {
Encoder find_encoder(Layout layout);
CodeReplacer find_code_replacer(Layout layout);
}  // namespace avx512

struct EncodeTarget {
  const char* name;
  Encoder (*find)(Layout);
};
// What this machine can run, best first; the last is `generic`.
std::span<const EncodeTarget> encode_targets();

}  // namespace ingot::quant
