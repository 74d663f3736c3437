// SPDX-License-Identifier: Apache-2.0
// Attention on rows as they lie in the cache, for a target's vectors (Simd) and a cache type's rows
// (Row), which become floats in registers. A score is one sum of kLanes lanes over the key's
// dimensions, reduced in the order of Simd::sum; mixing keeps lanes = dimensions and adds positions
// in ascending order. Neither depends on the tile a query or a position falls into. Anonymous, as
// each target's vectors.h explains.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention_parts.h"

namespace ingot::cpu {
namespace {

// What to fetch beside a run, or null.
inline const std::byte* rows_ahead(const RowRuns& runs, int64_t run) {
  return run < runs.ahead_count ? runs.ahead[run].rows : nullptr;
}

// As many bytes as `count` rows from `first` on: the hardware sees no pattern from page to page.
// Into L2, which takes more at a time than L1 does (measured: 1.5 times the speed).
template <class Row>
inline void fetch(const std::byte* rows, int64_t first, int64_t count, int64_t dim) {
  if (rows == nullptr) return;
  constexpr int kIntoL2 = 2;
  const int64_t row_bytes = Row::bytes(dim);
  const std::byte* end = rows + (first + count) * row_bytes;
  for (const std::byte* line = rows + first * row_bytes; line < end; line += 64)
    __builtin_prefetch(line, 0, kIntoL2);
}

// The unrolling keeps the sums out of memory; without Simd::keep each query would be loaded once
// for every position.
template <class Simd, class Row, int64_t Queries, int64_t Positions>
inline void score_tile(const float* q, const std::byte* rows, int64_t dim,
                       typename Simd::Vector* sums) {
  using Vector = typename Simd::Vector;
  const int64_t row_bytes = Row::bytes(dim);
  Vector acc[Queries][Positions];
#pragma GCC unroll 16
  for (int64_t n = 0; n < Queries; ++n) {
#pragma GCC unroll 16
    for (int64_t p = 0; p < Positions; ++p)
      acc[n][p] = Simd::zero();
  }
  int64_t d = 0;
  for (; d + Simd::kLanes <= dim; d += Simd::kLanes) {
    Vector in[Queries];
#pragma GCC unroll 16
    for (int64_t n = 0; n < Queries; ++n)
      in[n] = Simd::keep(Simd::load(q + n * dim + d));
#pragma GCC unroll 16
    for (int64_t p = 0; p < Positions; ++p) {
      const Vector key = Row(rows + p * row_bytes, dim).at(d);
#pragma GCC unroll 16
      for (int64_t n = 0; n < Queries; ++n)
        acc[n][p] = Simd::fmadd(key, in[n], acc[n][p]);
    }
  }
  if (d < dim) {
#pragma GCC unroll 16
    for (int64_t p = 0; p < Positions; ++p) {
      const Vector key = Row(rows + p * row_bytes, dim).some(d, dim - d);
#pragma GCC unroll 16
      for (int64_t n = 0; n < Queries; ++n)
        acc[n][p] = Simd::fmadd(key, Simd::load_some(q + n * dim + d, dim - d), acc[n][p]);
    }
  }
#pragma GCC unroll 16
  for (int64_t n = 0; n < Queries; ++n) {
#pragma GCC unroll 16
    for (int64_t p = 0; p < Positions; ++p)
      sums[n * Positions + p] = acc[n][p];
  }
}

// kLanes sums at a time, so that they are reduced together.
template <class Simd, class Row, int64_t Queries>
inline void score_queries(const float* q, const RowRun& keys, const std::byte* ahead, int64_t dim,
                          float* scores, int64_t stride) {
  using Vector = typename Simd::Vector;
  constexpr int64_t kPositions = Simd::kLanes / Queries;
  constexpr int64_t kAtOnce = Queries == 1 && kPositions > 8 ? 8 : kPositions;
  const int64_t row_bytes = Row::bytes(dim);
  int64_t i = 0;
  for (; i + kPositions <= keys.count; i += kPositions) {
    fetch<Row>(ahead, i, kPositions, dim);
    Vector sums[Simd::kLanes];
#pragma GCC unroll 2
    for (int64_t p = 0; p < kPositions; p += kAtOnce)
      score_tile<Simd, Row, Queries, kAtOnce>(q, keys.rows + (i + p) * row_bytes, dim, sums + p);
    Simd::template store_parts<Queries>(Simd::sum_each(sums), scores + i, stride);
  }
  for (; i < keys.count; ++i) {
    Vector sums[Queries];
    score_tile<Simd, Row, Queries, 1>(q, keys.rows + i * row_bytes, dim, sums);
    for (int64_t n = 0; n < Queries; ++n)
      scores[n * stride + i] = Simd::sum(sums[n]);
  }
}

// KvRows::score.
template <class Simd, class Row>
void score_runs(const float* q, int64_t queries, const RowRuns& keys, float* scores,
                int64_t stride) {
  const int64_t dim = keys.dim;
  for (int64_t r = 0; r < keys.count; ++r) {
    const RowRun& run = keys.runs[r];
    const std::byte* ahead = rows_ahead(keys, r);
    int64_t n = 0;
    for (; n + 4 <= queries; n += 4, ahead = nullptr)
      score_queries<Simd, Row, 4>(q + n * dim, run, ahead, dim, scores + n * stride, stride);
    for (; n + 2 <= queries; n += 2, ahead = nullptr)
      score_queries<Simd, Row, 2>(q + n * dim, run, ahead, dim, scores + n * stride, stride);
    for (; n < queries; ++n, ahead = nullptr)
      score_queries<Simd, Row, 1>(q + n * dim, run, ahead, dim, scores + n * stride, stride);
    scores += run.count;
  }
}

// Vectors from dimension d on. The unrolling keeps the sums out of memory.
template <class Simd, class Row, int64_t Queries, int64_t Vectors>
inline void mix_tile(const float* weights, int64_t stride, const RowRuns& values, int64_t d,
                     float* out) {
  using Vector = typename Simd::Vector;
  const int64_t dim = values.dim;
  const int64_t row_bytes = Row::bytes(dim);
  Vector acc[Queries][Vectors];
#pragma GCC unroll 8
  for (int64_t n = 0; n < Queries; ++n) {
#pragma GCC unroll 8
    for (int64_t v = 0; v < Vectors; ++v)
      acc[n][v] = Simd::load(out + n * dim + d + v * Simd::kLanes);
  }
  for (int64_t r = 0; r < values.count; ++r) {
    const RowRun& run = values.runs[r];
    const std::byte* ahead = d == 0 ? rows_ahead(values, r) : nullptr;
    for (int64_t i = 0; i < run.count; ++i) {
      fetch<Row>(ahead, i, 1, dim);
      const Row row(run.rows + i * row_bytes, dim);
      Vector in[Vectors];
#pragma GCC unroll 8
      for (int64_t v = 0; v < Vectors; ++v)
        in[v] = row.at(d + v * Simd::kLanes);
#pragma GCC unroll 8
      for (int64_t n = 0; n < Queries; ++n) {
        const Vector weight = Simd::all(weights[n * stride + i]);
#pragma GCC unroll 8
        for (int64_t v = 0; v < Vectors; ++v)
          acc[n][v] = Simd::fmadd(weight, in[v], acc[n][v]);
      }
    }
    weights += run.count;
  }
#pragma GCC unroll 8
  for (int64_t n = 0; n < Queries; ++n) {
#pragma GCC unroll 8
    for (int64_t v = 0; v < Vectors; ++v)
      Simd::store(out + n * dim + d + v * Simd::kLanes, acc[n][v]);
  }
}

// The last dimensions, fewer than a vector, of one query.
template <class Simd, class Row>
inline void mix_rest(const float* weights, const RowRuns& values, int64_t d, float* out) {
  const int64_t count = values.dim - d;
  auto acc = Simd::load_some(out + d, count);
  for (int64_t r = 0; r < values.count; ++r) {
    const RowRun& run = values.runs[r];
    for (int64_t i = 0; i < run.count; ++i) {
      const Row row(run.rows + i * Row::bytes(values.dim), values.dim);
      acc = Simd::fmadd(Simd::all(weights[i]), row.some(d, count), acc);
    }
    weights += run.count;
  }
  Simd::store_some(out + d, count, acc);
}

template <class Simd, class Row, int64_t Queries>
inline void mix_queries(const float* weights, int64_t stride, const RowRuns& values, float* out) {
  constexpr int64_t kVectors = Simd::mix_vectors(Queries);
  constexpr int64_t kFewer = (kVectors + 1) / 2;
  const int64_t dim = values.dim;
  int64_t d = 0;
  for (; d + kVectors * Simd::kLanes <= dim; d += kVectors * Simd::kLanes)
    mix_tile<Simd, Row, Queries, kVectors>(weights, stride, values, d, out);
  for (; d + kFewer * Simd::kLanes <= dim; d += kFewer * Simd::kLanes)
    mix_tile<Simd, Row, Queries, kFewer>(weights, stride, values, d, out);
  for (; d + Simd::kLanes <= dim; d += Simd::kLanes)
    mix_tile<Simd, Row, Queries, 1>(weights, stride, values, d, out);
  if (d == dim) return;
  for (int64_t n = 0; n < Queries; ++n)
    mix_rest<Simd, Row>(weights + n * stride, values, d, out + n * dim);
}

// Weights times the factors of their rows, to [queries, kMostPositions].
constexpr int64_t kPositions = 64;  // mixed at a time, or those of a longer run
constexpr int64_t kMostPositions = kPositions + kLargestPageTokens;
constexpr int64_t kMostQueries = 8;
template <class Simd, class Row>
inline void apply_factors(const float* weights, int64_t stride, int64_t queries,
                          const RowRuns& values, int64_t positions, float* to) {
  float factors[kMostPositions];
  float* next = factors;
  for (int64_t r = 0; r < values.count; ++r) {
    for (int64_t i = 0; i < values.runs[r].count; ++i)
      *next++ = Row::factor(values.runs[r].rows + i * Row::bytes(values.dim), values.dim);
  }
  for (int64_t n = 0; n < queries; ++n, weights += stride, to += kMostPositions) {
    int64_t i = 0;
    for (; i + Simd::kLanes <= positions; i += Simd::kLanes)
      Simd::store(to + i, Simd::mul(Simd::load(weights + i), Simd::load(factors + i)));
    for (; i < positions; ++i)
      to[i] = weights[i] * factors[i];
  }
}

// KvRows::mix: a few runs at a time, so that they stay in L1 for all dimensions and queries, but
// enough of them that what it takes to pick up the sums and put them down does not show.
template <class Simd, class Row>
void mix_runs(const float* weights, int64_t stride, int64_t queries, const RowRuns& values,
              float* out) {
  if constexpr (Row::kHasFactor) {
    for (; queries > kMostQueries; queries -= kMostQueries) {
      mix_runs<Simd, Row>(weights, stride, kMostQueries, values, out);
      weights += kMostQueries * stride;
      out += kMostQueries * values.dim;
    }
  }
  const int64_t dim = values.dim;
  for (int64_t r = 0; r < values.count;) {
    int64_t end = r;
    int64_t positions = 0;
    do {
      positions += values.runs[end++].count;
    } while (end < values.count && positions < kPositions);
    RowRuns some{values.runs + r, end - r, dim, values.ahead + r, values.ahead_count - r};
    const float* by = weights;
    int64_t by_stride = stride;
    float scaled[Row::kHasFactor ? kMostQueries * kMostPositions : 1];
    if constexpr (Row::kHasFactor) {
      apply_factors<Simd, Row>(weights, stride, queries, some, positions, scaled);
      by = scaled;
      by_stride = kMostPositions;
    }
    int64_t n = 0;
    for (; n + 4 <= queries; n += 4, some.ahead_count = 0)
      mix_queries<Simd, Row, 4>(by + n * by_stride, by_stride, some, out + n * dim);
    for (; n + 2 <= queries; n += 2, some.ahead_count = 0)
      mix_queries<Simd, Row, 2>(by + n * by_stride, by_stride, some, out + n * dim);
    for (; n < queries; ++n, some.ahead_count = 0)
      mix_queries<Simd, Row, 1>(by + n * by_stride, by_stride, some, out + n * dim);
    weights += positions;
    r = end;
  }
}

template <class Simd, class Row>
void load_rows(const std::byte* rows, int64_t count, int64_t dim, float* to) {
  for (int64_t i = 0; i < count; ++i, rows += Row::bytes(dim), to += dim) {
    const Row row(rows, dim);
    int64_t d = 0;
    for (; d + Simd::kLanes <= dim; d += Simd::kLanes)
      Simd::store(to + d, row.at(d));
    if (d < dim) Simd::store_some(to + d, dim - d, row.some(d, dim - d));
  }
}

// And what AttentionMath does, on rows of floats.
template <class Simd, class FloatRow>
void score_floats(const float* q, int64_t queries, const PositionBlock& keys, float* scores,
                  int64_t stride) {
  const RowRun run{reinterpret_cast<const std::byte*>(keys.data), keys.count};
  score_runs<Simd, FloatRow>(q, queries, {&run, 1, keys.dim, nullptr, 0}, scores, stride);
}
template <class Simd, class FloatRow>
void mix_floats(const float* weights, int64_t stride, int64_t queries, const PositionBlock& values,
                float* out) {
  const RowRun run{reinterpret_cast<const std::byte*>(values.data), values.count};
  mix_runs<Simd, FloatRow>(weights, stride, queries, {&run, 1, values.dim, nullptr, 0}, out);
}

}  // namespace
}  // namespace ingot::cpu
