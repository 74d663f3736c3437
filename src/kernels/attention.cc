// SPDX-License-Identifier: Apache-2.0
// The walk. A tile is a few rows of one sequence by the heads of one kv head: its keys and values
// are read once for all of its queries. Positions are cut into segments at fixed places; each gives
// a partial result, and the partials are joined in ascending order, by the same arithmetic whether
// one thread goes through all of a tile's segments or several share them.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <vector>

#include "base/check.h"
#include "kernels/attention_parts.h"

namespace ingot {
namespace {

constexpr int64_t kSegment = 512;                // positions
constexpr int64_t kScoreStride = kSegment + 16;  // a cache line more, or all rows share a few sets
constexpr int64_t kBlock = 32;                   // positions whose rows are read at a time
constexpr int64_t kQueriesTogether = 32;  // in a tile; more heads of one kv head become more tiles
constexpr int64_t kFewQueries = 8;        // of one row: scored and mixed without loading
constexpr int64_t kRunsAhead = 4;         // pages whose rows are on their way
constexpr int64_t kTasksPerThread = 4;    // below this a tile's segments become tasks of their own

struct Range {  // of positions
  int64_t begin;
  int64_t end;
  bool is_empty() const { return begin >= end; }
  int64_t size() const { return end - begin; }
  Range within(Range other) const {
    return {std::max(begin, other.begin), std::min(end, other.end)};
  }
};

Range segment_range(int64_t segment) {
  return {segment * kSegment, (segment + 1) * kSegment};
}

struct Tile {
  const SequenceRows* sequence;
  int64_t first_token;  // of the sequence's rows
  int64_t rows;
  int64_t first_head;
  int64_t heads;
  int64_t window;

  int64_t queries() const { return rows * heads; }  // query n: row n / heads, head n % heads
  int64_t position(int64_t row) const { return sequence->first_position + first_token + row; }
  Range seen(int64_t row) const {
    const int64_t end = position(row) + 1;
    return {window > 0 ? std::max<int64_t>(0, end - window) : 0, end};
  }
  Range seen_by_all_rows_together() const { return {seen(0).begin, seen(rows - 1).end}; }
  int64_t first_segment() const { return seen(0).begin / kSegment; }
  int64_t end_segment() const { return position(rows - 1) / kSegment + 1; }
};

// What a tile's queries have gathered: weighted values, and the softmax they are weighted by.
struct Partial {
  float* largest;  // [queries]
  float* sums;     // [queries]
  float* mixed;    // [queries, value_dim]
};

class Walk {
 public:
  Walk(const AttentionParts& parts, const AttentionArgs& args)
      : parts_(parts),
        args_(args),
        shape_(args.kv.shape),
        key_bytes_(shape_.key_row_bytes()),
        value_bytes_(shape_.value_row_bytes()),
        heads_per_kv_head_(args.heads / shape_.kv_heads) {
    INGOT_DCHECK(heads_per_kv_head_ * shape_.kv_heads == args.heads);
  }

  void run(const Exec& exec) const;

 private:
  // One thread's memory, cut up by offsets.
  struct Scratch {
    float* q;              // [queries, key_dim]
    float* scores;         // [queries, kScoreStride]
    float* block;          // [kBlock, the larger dim]
    float* key_factors;    // [kSegment]
    float* value_factors;  // [kSegment]
    Partial partial;
    Partial total;
  };
  // A segment's pages, the first and the last in part, and what comes after.
  using Runs = std::array<RowRun, kSegment / kSmallestPageTokens + 1 + kRunsAhead + 1>;
  struct Task {
    size_t tile;
    int64_t segment;  // -1: all of them
    float* partial;   // where a lone segment's result goes
  };

  int64_t partial_size(int64_t queries) const { return queries * (2 + shape_.value_dim); }
  Partial partial_at(float* memory, int64_t queries) const {
    return {memory, memory + queries, memory + 2 * queries};
  }
  Scratch scratch(std::vector<float>& memory) const;
  void make_tiles(std::vector<Tile>& tiles) const;
  template <class Use>
  void for_runs(const SequenceRows& sequence, int64_t kv_head, Range positions, bool is_values,
                Use&& use) const;
  void read(const SequenceRows& sequence, int64_t kv_head, Range positions, bool is_values,
            float* to) const;
  void read_factors(const SequenceRows& sequence, int64_t kv_head, Range positions, bool is_values,
                    float* to) const;
  RowRuns list_runs(const Tile& tile, Range positions, bool is_values, Runs& runs) const;
  void run_tile(const Tile& tile, Scratch& scratch) const;
  void copy_queries(const Tile& tile, float* to) const;
  void run_segment(const Tile& tile, int64_t segment, const Scratch& scratch, Partial to) const;
  void soften_segment(const Tile& tile, Range segment, Range together, const Scratch& scratch,
                      const float* value_factors, Partial to) const;
  void mix_segment(const Tile& tile, Range segment, Range together, const Scratch& scratch,
                   Partial to) const;
  void join(const Tile& tile, int64_t segment, const Partial& from, Partial to) const;
  void finish(const Tile& tile, Partial total) const;

  const AttentionParts& parts_;
  const AttentionArgs& args_;
  const PagedKvShape& shape_;
  int64_t key_bytes_;
  int64_t value_bytes_;
  int64_t heads_per_kv_head_;
};

Walk::Scratch Walk::scratch(std::vector<float>& memory) const {
  constexpr int64_t kQueries = kQueriesTogether;
  const int64_t sizes[] = {kQueries * shape_.key_dim,
                           kQueries * kScoreStride,
                           kBlock * std::max(shape_.key_dim, shape_.value_dim),
                           kSegment,
                           kSegment,
                           partial_size(kQueries),
                           partial_size(kQueries)};
  int64_t total = 0;
  for (const int64_t size : sizes)
    total += size;
  // All parts begin at a cache line: vectors across two would take twice as long.
  constexpr size_t kLineFloats = 16;
  if (memory.size() < static_cast<size_t>(total) + kLineFloats)
    memory.resize(static_cast<size_t>(total) + kLineFloats);
  float* at[std::size(sizes)];
  void* aligned = memory.data();
  size_t space = memory.size() * sizeof(float);
  auto* next = static_cast<float*>(std::align(
      kLineFloats * sizeof(float), static_cast<size_t>(total) * sizeof(float), aligned, space));
  for (size_t i = 0; i < std::size(sizes); ++i) {
    at[i] = next;
    next += sizes[i];
  }
  return {
      at[0], at[1], at[2], at[3], at[4], partial_at(at[5], kQueries), partial_at(at[6], kQueries)};
}

// kv head by kv head, so that what threads read at a time is near; late rows first, as they are
// the longest and the last tasks should be short.
void Walk::make_tiles(std::vector<Tile>& tiles) const {
  tiles.clear();
  for (int64_t head = 0; head < args_.heads;) {
    const int64_t end = (head / heads_per_kv_head_ + 1) * heads_per_kv_head_;
    const int64_t heads = std::min(kQueriesTogether, end - head);
    const int64_t most_rows = kQueriesTogether / heads;
    for (const SequenceRows& sequence : args_.sequences) {
      for (int64_t last = sequence.tokens; last > 0;) {
        const int64_t rows = std::min(most_rows, last);
        last -= rows;
        tiles.push_back({&sequence, last, rows, head, heads, args_.window});
      }
    }
    head += heads;
  }
}

// use(rows, count) of adjacent rows, page by page.
template <class Use>
void Walk::for_runs(const SequenceRows& sequence, int64_t kv_head, Range positions, bool is_values,
                    Use&& use) const {
  const int64_t row_bytes = is_values ? value_bytes_ : key_bytes_;
  const int64_t offset = is_values ? shape_.kv_heads * shape_.page_tokens * key_bytes_ : 0;
  for (int64_t position = positions.begin; position < positions.end;) {
    const int64_t slot = position % shape_.page_tokens;
    const int64_t count = std::min(shape_.page_tokens - slot, positions.end - position);
    const PageId page = sequence.pages[position / shape_.page_tokens];
    INGOT_DCHECK(page != kNoPage);
    use(args_.kv.data + page * args_.kv.page_stride + offset +
            (kv_head * shape_.page_tokens + slot) * row_bytes,
        count);
    position += count;
  }
}

// Rows of `positions` as floats.
void Walk::read(const SequenceRows& sequence, int64_t kv_head, Range positions, bool is_values,
                float* to) const {
  const KvRows& codec = is_values ? parts_.codec.values : parts_.codec.keys;
  const int64_t dim = is_values ? shape_.value_dim : shape_.key_dim;
  for_runs(sequence, kv_head, positions, is_values, [&](const std::byte* rows, int64_t count) {
    codec.load(rows, count, dim, to);
    to += count * dim;
  });
}

void Walk::read_factors(const SequenceRows& sequence, int64_t kv_head, Range positions,
                        bool is_values, float* to) const {
  const KvRows& codec = is_values ? parts_.codec.values : parts_.codec.keys;
  const int64_t dim = is_values ? shape_.value_dim : shape_.key_dim;
  if (codec.factors == nullptr) return;
  for_runs(sequence, kv_head, positions, is_values, [&](const std::byte* rows, int64_t count) {
    codec.factors(rows, count, dim, to);
    to += count;
  });
}

// The runs of a segment's keys or values; after them what is read next, so that it can be on its
// way: after keys the values of the same positions, after values the next segment's keys.
RowRuns Walk::list_runs(const Tile& tile, Range positions, bool is_values, Runs& runs) const {
  const int64_t kv_head = tile.first_head / heads_per_kv_head_;
  int64_t known = 0;
  const auto add = [&](const std::byte* rows, int64_t count) {
    runs[static_cast<size_t>(known++)] = {rows, count};
  };
  for_runs(*tile.sequence, kv_head, positions, is_values, add);
  const int64_t count = known;
  const int64_t begin = is_values ? positions.end : positions.begin;
  const int64_t end = is_values ? tile.seen_by_all_rows_together().end : positions.end;
  const int64_t next_pages = (begin / shape_.page_tokens + kRunsAhead) * shape_.page_tokens;
  for_runs(*tile.sequence, kv_head, {begin, std::min(end, next_pages)}, !is_values, add);
  return {runs.data(), count, is_values ? shape_.value_dim : shape_.key_dim,
          runs.data() + kRunsAhead, known - kRunsAhead};
}

void Walk::copy_queries(const Tile& tile, float* to) const {
  for (int64_t row = 0; row < tile.rows; ++row) {
    const int64_t from = tile.sequence->first_row + tile.first_token + row;
    std::copy_n(args_.q + from * args_.q_stride + tile.first_head * shape_.key_dim,
                tile.heads * shape_.key_dim, to + row * tile.heads * shape_.key_dim);
  }
  if (!parts_.codec.rotates_keys) return;
  for (int64_t n = 0; n < tile.queries(); ++n)
    rotate_key(to + n * shape_.key_dim, shape_.key_dim);
}

void Walk::run_segment(const Tile& tile, int64_t segment, const Scratch& scratch,
                       Partial to) const {
  const Range whole = segment_range(segment);
  const Range together = tile.seen_by_all_rows_together().within(whole);
  const int64_t kv_head = tile.first_head / heads_per_kv_head_;
  copy_queries(tile, scratch.q);
  const KvCodec& codec = parts_.codec;
  if (tile.rows == 1 && tile.queries() <= kFewQueries && codec.keys.score != nullptr &&
      codec.values.mix != nullptr) {
    Runs runs;
    codec.keys.score(scratch.q, tile.queries(), list_runs(tile, together, false, runs),
                     scratch.scores, kScoreStride);
    read_factors(*tile.sequence, kv_head, together, false, scratch.key_factors);
    soften_segment(tile, whole, together, scratch, nullptr, to);
    std::fill_n(to.mixed, tile.queries() * shape_.value_dim, 0.0F);
    codec.values.mix(scratch.scores, kScoreStride, tile.queries(),
                     list_runs(tile, together, true, runs), to.mixed);
    return;
  }
  for (int64_t begin = together.begin; begin < together.end; begin += kBlock) {
    const Range block{begin, std::min(begin + kBlock, together.end)};
    read(*tile.sequence, kv_head, block, false, scratch.block);
    parts_.math.score(scratch.q, tile.queries(), {scratch.block, block.size(), shape_.key_dim},
                      scratch.scores + begin - together.begin, kScoreStride);
  }
  read_factors(*tile.sequence, kv_head, together, false, scratch.key_factors);
  read_factors(*tile.sequence, kv_head, together, true, scratch.value_factors);
  soften_segment(tile, whole, together, scratch,
                 codec.values.factors == nullptr ? nullptr : scratch.value_factors, to);
  mix_segment(tile, whole, together, scratch, to);
}

void Walk::soften_segment(const Tile& tile, Range segment, Range together, const Scratch& scratch,
                          const float* value_factors, Partial to) const {
  for (int64_t n = 0; n < tile.queries(); ++n) {
    const Range seen = tile.seen(n / tile.heads).within(segment);
    if (seen.is_empty()) continue;
    const int64_t head = tile.first_head + n % tile.heads;
    const int64_t first = seen.begin - together.begin;
    const KvCodec& codec = parts_.codec;
    const SoftenArgs soften{
        .scale = args_.scale * codec.keys.unit,
        .softcap = args_.softcap,
        .slope = args_.alibi_slopes == nullptr ? 0.0F : args_.alibi_slopes[head],
        .first_distance = seen.begin - tile.position(n / tile.heads),
        .key_factors = codec.keys.factors == nullptr ? nullptr : scratch.key_factors + first,
        .value_factors = value_factors == nullptr ? nullptr : value_factors + first};
    const Softened softened =
        parts_.math.soften(soften, scratch.scores + n * kScoreStride + first, seen.size());
    to.largest[n] = softened.largest;
    to.sums[n] = softened.sum;
  }
}

// Positions that all rows see are mixed for all at once; those at the ends row by row. A row's
// positions come in ascending order all the same.
void Walk::mix_segment(const Tile& tile, Range segment, Range together, const Scratch& scratch,
                       Partial to) const {
  std::fill_n(to.mixed, tile.queries() * shape_.value_dim, 0.0F);
  Range common{tile.seen(tile.rows - 1).begin, tile.seen(0).end};
  common = common.within(segment);
  common.end = std::max(common.begin, common.end);
  const auto mix = [&](Range positions, Range block, int64_t first_query, int64_t queries) {
    if (positions.is_empty()) return;
    const PositionBlock values{scratch.block + (positions.begin - block.begin) * shape_.value_dim,
                               positions.size(), shape_.value_dim};
    parts_.math.mix(scratch.scores + first_query * kScoreStride + positions.begin - together.begin,
                    kScoreStride, queries, values, to.mixed + first_query * shape_.value_dim);
  };
  const auto mix_by_rows = [&](Range positions, Range block) {
    if (positions.is_empty()) return;
    for (int64_t row = 0; row < tile.rows; ++row)
      mix(positions.within(tile.seen(row)), block, row * tile.heads, tile.heads);
  };
  const int64_t kv_head = tile.first_head / heads_per_kv_head_;
  for (int64_t begin = together.begin; begin < together.end; begin += kBlock) {
    const Range block{begin, std::min(begin + kBlock, together.end)};
    read(*tile.sequence, kv_head, block, true, scratch.block);
    mix_by_rows(block.within({begin, common.begin}), block);
    mix(block.within(common), block, 0, tile.queries());
    mix_by_rows(block.within({common.end, block.end}), block);
  }
}

// The larger of two largest logits becomes the common one.
void Walk::join(const Tile& tile, int64_t segment, const Partial& from, Partial to) const {
  const int64_t dim = shape_.value_dim;
  for (int64_t n = 0; n < tile.queries(); ++n) {
    const Range seen = tile.seen(n / tile.heads);
    if (seen.within(segment_range(segment)).is_empty()) continue;
    const float* added = from.mixed + n * dim;
    float* mixed = to.mixed + n * dim;
    if (seen.begin / kSegment == segment) {  // the row's first
      to.largest[n] = from.largest[n];
      to.sums[n] = from.sums[n];
      std::copy_n(added, dim, mixed);
      continue;
    }
    const float largest = std::max(to.largest[n], from.largest[n]);
    const float old_share = std::exp(to.largest[n] - largest);
    const float new_share = std::exp(from.largest[n] - largest);
    to.largest[n] = largest;
    to.sums[n] = to.sums[n] * old_share + from.sums[n] * new_share;
    for (int64_t d = 0; d < dim; ++d)
      mixed[d] = mixed[d] * old_share + added[d] * new_share;
  }
}

void Walk::finish(const Tile& tile, Partial total) const {
  const int64_t dim = shape_.value_dim;
  for (int64_t n = 0; n < tile.queries(); ++n) {
    const int64_t row = tile.sequence->first_row + tile.first_token + n / tile.heads;
    const int64_t head = tile.first_head + n % tile.heads;
    float share = 1;
    float sum = total.sums[n];
    if (args_.sinks != nullptr) {  // one more logit, without a value
      const float largest = std::max(total.largest[n], args_.sinks[head]);
      share = std::exp(total.largest[n] - largest);
      sum = sum * share + std::exp(args_.sinks[head] - largest);
    }
    const float factor = share / sum * parts_.codec.values.unit;
    float* out = args_.out + row * args_.out_stride + head * dim;
    for (int64_t d = 0; d < dim; ++d)
      out[d] = total.mixed[n * dim + d] * factor;
  }
}

void Walk::run_tile(const Tile& tile, Scratch& scratch) const {
  for (int64_t segment = tile.first_segment(); segment < tile.end_segment(); ++segment) {
    run_segment(tile, segment, scratch, scratch.partial);
    join(tile, segment, scratch.partial, scratch.total);
  }
  finish(tile, scratch.total);
}

void Walk::run(const Exec& exec) const {
  // Kept from step to step; the threads see the caller's by reference.
  thread_local std::vector<Tile> tiles_memory;
  thread_local std::vector<Task> tasks_memory;
  thread_local std::vector<float> partials_memory;
  std::vector<Tile>& tiles = tiles_memory;
  std::vector<Task>& tasks = tasks_memory;
  std::vector<float>& partials = partials_memory;
  make_tiles(tiles);

  const int64_t threads = exec.threads();
  const bool is_shared =
      threads > 1 && static_cast<int64_t>(tiles.size()) < threads * kTasksPerThread;
  tasks.clear();
  const int64_t stride = partial_size(kQueriesTogether);
  int64_t lone_segments = 0;
  for (size_t i = 0; i < tiles.size(); ++i) {
    const int64_t segments = tiles[i].end_segment() - tiles[i].first_segment();
    if (!is_shared || segments == 1) {
      tasks.push_back({i, -1, nullptr});
      continue;
    }
    for (int64_t segment = tiles[i].first_segment(); segment < tiles[i].end_segment(); ++segment)
      tasks.push_back({i, segment, nullptr});
    lone_segments += segments;
  }
  if (static_cast<int64_t>(partials.size()) < lone_segments * stride)
    partials.resize(static_cast<size_t>(lone_segments * stride));
  float* next_partial = partials.data();
  for (Task& task : tasks) {
    if (task.segment < 0) continue;
    task.partial = next_partial;
    next_partial += stride;
  }

  // Threads take the next task when they are done with one: who does which changes nothing.
  std::atomic<size_t> next_task{0};
  exec.for_ranges(std::min(threads, static_cast<int64_t>(tasks.size())), 1, [&](int64_t, int64_t) {
    thread_local std::vector<float> memory;
    Scratch own = scratch(memory);
    for (size_t i = next_task++; i < tasks.size(); i = next_task++) {
      const Tile& tile = tiles[tasks[i].tile];
      if (tasks[i].segment < 0) {
        run_tile(tile, own);
      } else {
        run_segment(tile, tasks[i].segment, own, partial_at(tasks[i].partial, kQueriesTogether));
      }
    }
  });
  if (lone_segments == 0) return;
  thread_local std::vector<float> memory;
  const Scratch own = scratch(memory);
  for (const Task& task : tasks) {  // a tile's tasks lie together, its segments ascending
    if (task.segment < 0) continue;
    const Tile& tile = tiles[task.tile];
    join(tile, task.segment, partial_at(task.partial, kQueriesTogether), own.total);
    if (task.segment + 1 == tile.end_segment()) finish(tile, own.total);
  }
}

}  // namespace

void attend(const AttentionParts& parts, const AttentionArgs& args, const Exec& exec) {
  Walk(parts, args).run(exec);
}

}  // namespace ingot
