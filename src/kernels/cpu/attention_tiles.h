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

// Adjacent rows of one page, and those that are read soon (or null).
struct RowSpan {
  const std::byte* rows;
  int64_t count;
  int64_t dim;
  const std::byte* ahead;
};

// As many bytes ahead as are read now: the hardware sees no pattern from page to page.
template <class Row>
inline void fetch_ahead(const RowSpan& span, int64_t first, int64_t count) {
  if (span.ahead == nullptr) return;
  const int64_t row_bytes = Row::bytes(span.dim);
  const std::byte* end = span.ahead + (first + count) * row_bytes;
  for (const std::byte* line = span.ahead + first * row_bytes; line < end; line += 64)
    __builtin_prefetch(line);
}

template <class Simd, class Row, int64_t Queries, int64_t Positions>
inline void score_tile(const float* q, const std::byte* rows, int64_t dim,
                       typename Simd::Vector* sums) {
  using Vector = typename Simd::Vector;
  const int64_t row_bytes = Row::bytes(dim);
  Vector acc[Queries][Positions];
  for (int64_t n = 0; n < Queries; ++n) {
    for (int64_t p = 0; p < Positions; ++p)
      acc[n][p] = Simd::zero();
  }
  const auto step = [&](auto load_query, auto load_key) {
    Vector in[Queries];
    for (int64_t n = 0; n < Queries; ++n)
      in[n] = load_query(q + n * dim);
    for (int64_t p = 0; p < Positions; ++p) {
      const Vector key = load_key(Row(rows + p * row_bytes, dim));
      for (int64_t n = 0; n < Queries; ++n)
        acc[n][p] = Simd::fmadd(key, in[n], acc[n][p]);
    }
  };
  int64_t d = 0;
  for (; d + Simd::kLanes <= dim; d += Simd::kLanes) {
    step([d](const float* from) { return Simd::load(from + d); },
         [d](const Row& row) { return row.at(d); });
  }
  if (d < dim) {
    step([d, dim](const float* from) { return Simd::load_some(from + d, dim - d); },
         [d, dim](const Row& row) { return row.some(d, dim - d); });
  }
  for (int64_t n = 0; n < Queries; ++n) {
    for (int64_t p = 0; p < Positions; ++p)
      sums[n * Positions + p] = acc[n][p];
  }
}

// kLanes sums at a time, so that they are reduced together.
template <class Simd, class Row, int64_t Queries>
inline void score_queries(const float* q, const RowSpan& keys, float* scores, int64_t stride) {
  using Vector = typename Simd::Vector;
  constexpr int64_t kPositions = Simd::kLanes / Queries;
  constexpr int64_t kAtOnce = Queries == 1 && kPositions > 8 ? 8 : kPositions;
  const int64_t row_bytes = Row::bytes(keys.dim);
  int64_t i = 0;
  for (; i + kPositions <= keys.count; i += kPositions) {
    fetch_ahead<Row>(keys, i, kPositions);
    Vector sums[Simd::kLanes];
    for (int64_t p = 0; p < kPositions; p += kAtOnce) {
      score_tile<Simd, Row, Queries, kAtOnce>(q, keys.rows + (i + p) * row_bytes, keys.dim,
                                              sums + p);
    }
    Simd::template store_parts<Queries>(Simd::sum_each(sums), scores + i, stride);
  }
  for (; i < keys.count; ++i) {
    Vector sums[Queries];
    score_tile<Simd, Row, Queries, 1>(q, keys.rows + i * row_bytes, keys.dim, sums);
    for (int64_t n = 0; n < Queries; ++n)
      scores[n * stride + i] = Simd::sum(sums[n]);
  }
}

template <class Simd, class Row>
void score_span(const float* q, int64_t queries, RowSpan keys, float* scores, int64_t stride) {
  int64_t n = 0;
  for (; n + 4 <= queries; n += 4, keys.ahead = nullptr)
    score_queries<Simd, Row, 4>(q + n * keys.dim, keys, scores + n * stride, stride);
  for (; n + 2 <= queries; n += 2, keys.ahead = nullptr)
    score_queries<Simd, Row, 2>(q + n * keys.dim, keys, scores + n * stride, stride);
  for (; n < queries; ++n, keys.ahead = nullptr)
    score_queries<Simd, Row, 1>(q + n * keys.dim, keys, scores + n * stride, stride);
}

template <class Simd, class Row, int64_t Queries, int64_t Vectors>
inline void mix_tile(const float* weights, int64_t stride, const RowSpan& values, int64_t d,
                     float* out) {
  using Vector = typename Simd::Vector;
  const int64_t row_bytes = Row::bytes(values.dim);
  Vector acc[Queries][Vectors];
  for (int64_t n = 0; n < Queries; ++n) {
    for (int64_t v = 0; v < Vectors; ++v)
      acc[n][v] = Simd::load(out + n * values.dim + d + v * Simd::kLanes);
  }
  for (int64_t i = 0; i < values.count; ++i) {
    fetch_ahead<Row>(values, i, 1);
    const Row row(values.rows + i * row_bytes, values.dim);
    Vector in[Vectors];
    for (int64_t v = 0; v < Vectors; ++v)
      in[v] = row.at(d + v * Simd::kLanes);
    for (int64_t n = 0; n < Queries; ++n) {
      const Vector weight = Simd::all(weights[n * stride + i]);
      for (int64_t v = 0; v < Vectors; ++v)
        acc[n][v] = Simd::fmadd(weight, in[v], acc[n][v]);
    }
  }
  for (int64_t n = 0; n < Queries; ++n) {
    for (int64_t v = 0; v < Vectors; ++v)
      Simd::store(out + n * values.dim + d + v * Simd::kLanes, acc[n][v]);
  }
}

// The last dimensions, fewer than a vector, of one query.
template <class Simd, class Row>
inline void mix_rest(const float* weights, const RowSpan& values, int64_t d, float* out) {
  const int64_t count = values.dim - d;
  auto acc = Simd::load_some(out + d, count);
  for (int64_t i = 0; i < values.count; ++i) {
    const Row row(values.rows + i * Row::bytes(values.dim), values.dim);
    acc = Simd::fmadd(Simd::all(weights[i]), row.some(d, count), acc);
  }
  Simd::store_some(out + d, count, acc);
}

template <class Simd, class Row, int64_t Queries, int64_t Vectors>
inline int64_t mix_dims(const float* weights, int64_t stride, RowSpan values, int64_t d,
                        float* out) {
  for (; d + Vectors * Simd::kLanes <= values.dim; d += Vectors * Simd::kLanes) {
    mix_tile<Simd, Row, Queries, Vectors>(weights, stride, values, d, out);
    values.ahead = nullptr;
  }
  return d;
}

template <class Simd, class Row, int64_t Queries>
inline void mix_queries(const float* weights, int64_t stride, RowSpan values, float* out) {
  constexpr int64_t kVectors = Simd::kMixTile / Queries;
  int64_t d = mix_dims<Simd, Row, Queries, kVectors>(weights, stride, values, 0, out);
  if (d > 0) values.ahead = nullptr;
  d = mix_dims<Simd, Row, Queries, (kVectors + 1) / 2>(weights, stride, values, d, out);
  d = mix_dims<Simd, Row, Queries, 1>(weights, stride, values, d, out);
  if (d == values.dim) return;
  for (int64_t n = 0; n < Queries; ++n)
    mix_rest<Simd, Row>(weights + n * stride, values, d, out + n * values.dim);
}

template <class Simd, class Row>
void mix_span(const float* weights, int64_t stride, int64_t queries, RowSpan values, float* out) {
  int64_t n = 0;
  for (; n + 4 <= queries; n += 4, values.ahead = nullptr)
    mix_queries<Simd, Row, 4>(weights + n * stride, stride, values, out + n * values.dim);
  for (; n + 2 <= queries; n += 2, values.ahead = nullptr)
    mix_queries<Simd, Row, 2>(weights + n * stride, stride, values, out + n * values.dim);
  for (; n < queries; ++n, values.ahead = nullptr)
    mix_queries<Simd, Row, 1>(weights + n * stride, stride, values, out + n * values.dim);
}

// What KvRows asks for.
inline const std::byte* rows_ahead(const RowRuns& runs, int64_t run) {
  constexpr int64_t kRunsAhead = 2;
  return run + kRunsAhead < runs.known ? runs.runs[run + kRunsAhead].rows : nullptr;
}

template <class Simd, class Row>
void score_runs(const float* q, int64_t queries, const RowRuns& keys, float* scores,
                int64_t stride) {
  for (int64_t r = 0; r < keys.count; ++r) {
    score_span<Simd, Row>(q, queries,
                          {keys.runs[r].rows, keys.runs[r].count, keys.dim, rows_ahead(keys, r)},
                          scores, stride);
    scores += keys.runs[r].count;
  }
}

template <class Simd, class Row>
void mix_runs(const float* weights, int64_t stride, int64_t queries, const RowRuns& values,
              float* out) {
  for (int64_t r = 0; r < values.count; ++r) {
    mix_span<Simd, Row>(
        weights, stride, queries,
        {values.runs[r].rows, values.runs[r].count, values.dim, rows_ahead(values, r)}, out);
    weights += values.runs[r].count;
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
  score_span<Simd, FloatRow>(
      q, queries, {reinterpret_cast<const std::byte*>(keys.data), keys.count, keys.dim, nullptr},
      scores, stride);
}
template <class Simd, class FloatRow>
void mix_floats(const float* weights, int64_t stride, int64_t queries, const PositionBlock& values,
                float* out) {
  mix_span<Simd, FloatRow>(
      weights, stride, queries,
      {reinterpret_cast<const std::byte*>(values.data), values.count, values.dim, nullptr}, out);
}

}  // namespace
}  // namespace ingot::cpu
