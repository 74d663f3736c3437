// SPDX-License-Identifier: Apache-2.0
// The inner loops of machine.cc: each does nothing but one kind of work as fast as a core can. One
// file per target, built with its flags; nothing here has an inline body. What a loop returns only
// keeps the compiler from leaving the work out.
#pragma once

#include <cstdint>

namespace ingot {

enum class OpKind : uint8_t {
  kFloat,      // multiply-adds of floats
  kInt8,       // of bytes, summed in 32 bits
  kInt8Sum16,  // of bytes, summed in 16 bits: what small codes allow before they are widened
  kInt16,      // of 16-bit numbers, summed in 32
  kBf16,       // of bfloat16, summed in floats
};

struct PeakLoop {
  OpKind kind;
  const char* name;
  int64_t ops_per_round;  // multiplies and adds
  int64_t (*run)(int64_t rounds);
};

extern const PeakLoop kPeakLoopsAvx2[4];
extern const PeakLoop kPeakLoopsAvx512[4];
extern const PeakLoop kPeakLoopsAvx512Bf16[1];
extern const PeakLoop kPeakLoopsAmx[2];
bool amx_is_lent();  // Linux lends the tiles to a process that asks for them

// `data` is aligned to 64 bytes and `size` a multiple of 4096.
int64_t read_avx2(const void* data, int64_t size);
int64_t read_avx512(const void* data, int64_t size);

}  // namespace ingot
