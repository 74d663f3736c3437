// SPDX-License-Identifier: Apache-2.0
// 32 codes of a row, a byte each, spread over the planes of a run (kernels/panel.h): four columns,
// one word, at a time. In an anonymous namespace on purpose: it is built once for each
// target, GPUs among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/target_code.h"
#include "kernels/packing.h"

namespace ingot {
namespace {

// `Bits` bits of every code from bit `from` on, each word at its place in a byte.
template <int Bits, int Count, class Word>
INGOT_TARGET_CODE Word gather(const Word* words, int from) {
  constexpr uint32_t kMask = ((1u << Bits) - 1) * 0x01010101u;
  Word result = (words[0] >> from) & kMask;
  for (int i = 1; i < Count; ++i)
    result |= ((words[i] >> from) & kMask) << (i * Bits);
  return result;
}

// Element `row` of what a panel keeps for each of its rows; a GPU stores it whole.
template <class Element>
INGOT_TARGET_CODE void put(std::byte* line, int64_t row, const Element& element) {
  constexpr size_t kAlignment = sizeof(Element) < 4 ? sizeof(Element) : 4;
  void* to = line + row * static_cast<int64_t>(sizeof(Element));
  std::memcpy(__builtin_assume_aligned(to, kAlignment), &element, sizeof(Element));
}

// A Word is 32 bits of row `row`, or a vector of them, of as many rows: then `row` counts vectors.
template <int Bits, class Word>
INGOT_TARGET_CODE void write_words(const Word* words, std::byte* run, int64_t row) {
  if constexpr (Bits == 8) {
    for (int64_t i = 0; i < 8; ++i)
      put(run + i * kLineBytes, row, words[i]);
  } else if constexpr (Bits == 1) {
    put(run, row, gather<1, 8>(words, 0));
  } else {
    constexpr int kLow = Bits >= 4 ? 4 : 2;
    if constexpr (kLow == 4) {
      for (int64_t i = 0; i < 4; ++i)
        put(run + i * kLineBytes, row, gather<4, 2>(words + 2 * i, 0));
    } else {
      for (int64_t i = 0; i < 2; ++i)
        put(run + i * kLineBytes, row, gather<2, 4>(words + 4 * i, 0));
    }
    std::byte* rest = run + kLow * kLineBytes;
    if constexpr (Bits - kLow == 1) put(rest, row, gather<1, 8>(words, kLow));
    if constexpr (Bits - kLow == 2) {
      for (int64_t i = 0; i < 2; ++i)
        put(rest + i * kLineBytes, row, gather<2, 4>(words + 4 * i, kLow));
    }
  }
}

template <int Bits>
INGOT_TARGET_CODE void write_run(const uint8_t* codes, std::byte* run, int64_t row) {
  uint32_t words[8];  // 32 codes, four columns each
  std::memcpy(words, codes, sizeof(words));
  write_words<Bits>(words, run, row);
}

}  // namespace
}  // namespace ingot
