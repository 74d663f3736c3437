// SPDX-License-Identifier: Apache-2.0
// Attention in two halves: the walk over sequences, pages and threads (attention.cc, shared by
// all), and the arithmetic on blocks of positions (here, per target; reading and writing rows also
// per cache type). No part may let a query or a position see how the walk was cut.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention.h"

namespace ingot {

// Adjacent rows of one page.
struct RowRun {
  const std::byte* rows;
  int64_t count;
};
// Rows of ascending positions, page by page. While run i is used, ahead[i] (where there is one) is
// to be fetched: it will be read soon.
struct RowRuns {
  const RowRun* runs;
  int64_t count;
  int64_t dim;
  const RowRun* ahead;
  int64_t ahead_count;
};

// How rows of the cache are written and read. A loaded number is worth `unit`, and its row's factor
// where rows have one: the softmax takes both in, once a position.
struct KvRows {
  // Writes one row of `dim` floats. Not a number, or an infinity where the type has none and no
  // largest value to stand for it, must read back as not a number.
  void (*store)(const float* from, int64_t dim, std::byte* row);
  // Reads `count` adjacent rows as floats [count, dim].
  void (*load)(const std::byte* rows, int64_t count, int64_t dim, float* to);
  // The factors of `count` adjacent rows; null when all are 1.
  void (*factors)(const std::byte* rows, int64_t count, int64_t dim, float* to) = nullptr;
  float unit = 1;  // a power of two
  // AttentionMath's score and mix of rows as they are stored, to the same bits as of loaded rows;
  // for few queries, where loading would cost more than the rest. Mixing multiplies the weights by
  // the rows' factors itself, as it is the first to read the rows. Null: rows are loaded.
  void (*score)(const float* q, int64_t queries, const RowRuns& keys, float* scores,
                int64_t stride) = nullptr;
  void (*mix)(const float* weights, int64_t stride, int64_t queries, const RowRuns& values,
              float* out) = nullptr;
};

struct KvCodec {
  KvRows keys;
  KvRows values;  // of as many bytes
  // Keys are rotated before they are stored, and queries before they are scored.
  bool rotates_keys;
};

// A Hadamard rotation, its own inverse, in blocks of the largest power of two that divides `dim`. A
// dot product of two rotated rows is that of the rows themselves, but a key's few large dimensions
// are spread over all: rounding to few bits then loses less than half as much (docs/kv-cache.md).
// The same code for all targets, so that all store the same bytes.
void rotate_key(float* row, int64_t dim);

// Keys or values of adjacent positions: [count, dim].
struct PositionBlock {
  const float* data;
  int64_t count;
  int64_t dim;
};

struct SoftenArgs {
  float scale;
  float softcap;               // 0: none
  float slope;                 // 0: none; adds slope * (position - the query's own)
  int64_t first_distance;      // of the first score: its position - the query's own
  const float* key_factors;    // [count] or null: scores are multiplied by them first
  const float* value_factors;  // [count] or null: weights are multiplied by them, but not summed so
};

struct Softened {
  float largest;  // logit
  float sum;      // of exp(logit - largest)
};

struct AttentionMath {
  // scores[n * stride + i] = q[n] . key[i]; q is [queries, dim].
  void (*score)(const float* q, int64_t queries, const PositionBlock& keys, float* scores,
                int64_t stride);
  // Turns one query's scores of ascending positions into exp(logit - largest), in place, and sums
  // them in one order.
  Softened (*soften)(const SoftenArgs& args, float* scores, int64_t count);
  // out[n] += weights[n * stride + i] * value[i], i ascending; out is [queries, dim].
  void (*mix)(const float* weights, int64_t stride, int64_t queries, const PositionBlock& values,
              float* out);
};

struct AttentionParts {
  const KvCodec& codec;
  const AttentionMath& math;
};

void store_kv(const KvCodec& codec, const StoreKvArgs& args, const Exec& exec);
void attend(const AttentionParts& parts, const AttentionArgs& args, const Exec& exec);

}  // namespace ingot
