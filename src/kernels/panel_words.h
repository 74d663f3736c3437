// SPDX-License-Identifier: Apache-2.0
// The codes of blocks of 256 columns as words of four: column 4w + j is byte j of word w. A Word is
// 32 bits of one row, or a vector of them, a lane for each of several rows (panel_lanes.h): both
// take the same steps. In an anonymous namespace on purpose: it is built once for each target, GPUs
// among them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/target_code.h"
#include "blocks/iq4_xs.h"
#include "blocks/q2_k.h"
#include "blocks/q3_k.h"
#include "blocks/q4_k.h"
#include "blocks/q5_k.h"
#include "blocks/q6_k.h"
#include "blocks/tq2_0.h"

namespace ingot {
namespace {

inline constexpr int64_t kBlockWords = 64;

// Bits [from, from + Bits) of every byte.
template <int Bits, class Word>
INGOT_TARGET_CODE Word bits_of(const Word& word, int from) {
  return (word >> from) & (((1u << Bits) - 1) * 0x01010101u);
}

// 8n words of a file: their low nibbles, then their high ones, by turns of `Run` words.
template <int Run, class Word>
INGOT_TARGET_CODE void read_nibble_words(const Word* in, Word* out) {
  for (int run = 0; run < kBlockWords / 2 / Run; ++run) {
    for (int i = 0; i < Run; ++i) {
      out[2 * Run * run + i] = bits_of<4>(in[Run * run + i], 0);
      out[2 * Run * run + Run + i] = bits_of<4>(in[Run * run + i], 4);
    }
  }
}

// Element 128h + 32p + i: bits 2p of byte 32h + i.
template <class Word>
INGOT_TARGET_CODE void read_pair_words(const Word* in, Word* out) {
  for (int half = 0; half < 2; ++half) {
    for (int part = 0; part < 4; ++part) {
      for (int i = 0; i < 8; ++i)
        out[32 * half + 8 * part + i] = bits_of<2>(in[8 * half + i], 2 * part);
    }
  }
}

// Element 32g + i: bit g of byte i.
template <class Word>
INGOT_TARGET_CODE void add_plane_words(const Word* in, int place, Word* out) {
  for (int group = 0; group < 8; ++group) {
    for (int i = 0; i < 8; ++i)
      out[8 * group + i] |= bits_of<1>(in[i], group) << place;
  }
}

// Where the words of a block's codes lie, kWords from byte kAt on, and what columns they are.
template <class Block>
struct BlockWords;

template <>
struct BlockWords<Q2_K> {
  static constexpr size_t kAt = offsetof(Q2_K, codes);
  static constexpr int64_t kWords = 16;
  template <class Word>
  INGOT_TARGET_CODE static void read(const Word* in, Word* out) {
    read_pair_words(in, out);
  }
};

template <>
struct BlockWords<TQ2_0> {
  static constexpr size_t kAt = offsetof(TQ2_0, codes);
  static constexpr int64_t kWords = 16;
  template <class Word>
  INGOT_TARGET_CODE static void read(const Word* in, Word* out) {
    read_pair_words(in, out);
  }
};

template <>
struct BlockWords<Q3_K> {
  static constexpr size_t kAt = offsetof(Q3_K, high_bits);
  static constexpr int64_t kWords = 24;
  static_assert(offsetof(Q3_K, codes) == kAt + 32);
  template <class Word>
  INGOT_TARGET_CODE static void read(const Word* in, Word* out) {
    read_pair_words(in + 8, out);
    add_plane_words(in, 2, out);
  }
};

template <>
struct BlockWords<Q4_K> {
  static constexpr size_t kAt = offsetof(Q4_K, codes);
  static constexpr int64_t kWords = 32;
  template <class Word>
  INGOT_TARGET_CODE static void read(const Word* in, Word* out) {
    read_nibble_words<8>(in, out);
  }
};

template <>
struct BlockWords<Q5_K> {
  static constexpr size_t kAt = offsetof(Q5_K, high_bits);
  static constexpr int64_t kWords = 40;
  static_assert(offsetof(Q5_K, codes) == kAt + 32);
  template <class Word>
  INGOT_TARGET_CODE static void read(const Word* in, Word* out) {
    read_nibble_words<8>(in + 8, out);
    add_plane_words(in, 4, out);
  }
};

template <>
struct BlockWords<IQ4_XS> {
  static constexpr size_t kAt = offsetof(IQ4_XS, codes);
  static constexpr int64_t kWords = 32;
  template <class Word>
  INGOT_TARGET_CODE static void read(const Word* in, Word* out) {
    read_nibble_words<4>(in, out);
  }
};

template <>
struct BlockWords<Q6_K> {
  static constexpr size_t kAt = offsetof(Q6_K, low_bits);
  static constexpr int64_t kWords = 48;
  static_assert(offsetof(Q6_K, high_bits) == kAt + 128);
  template <class Word>
  INGOT_TARGET_CODE static void read(const Word* in, Word* out) {
    for (int half = 0; half < 2; ++half) {
      const Word* low = in + 16 * half;
      const Word* high = in + 32 + 8 * half;
      for (int i = 0; i < 8; ++i) {
        Word* to = out + 32 * half + i;
        to[0] = bits_of<4>(low[i], 0) | (bits_of<2>(high[i], 0) << 4);
        to[8] = bits_of<4>(low[8 + i], 0) | (bits_of<2>(high[i], 2) << 4);
        to[16] = bits_of<4>(low[i], 4) | (bits_of<2>(high[i], 4) << 4);
        to[24] = bits_of<4>(low[8 + i], 4) | (bits_of<2>(high[i], 6) << 4);
      }
    }
  }
};

}  // namespace
}  // namespace ingot
