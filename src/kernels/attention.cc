// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "base/check.h"
#include "kernels/attention_parts.h"

namespace ingot {
namespace {

// Heads of one kv head that are computed together: a key is loaded once for all of them.
constexpr int64_t kHeadsTogether = 4;

// Where a head's elements of one position lie in its page.
struct PagePlace {
  const PagedKv& kv;
  int64_t element_bytes;

  std::byte* key(PageId page, int64_t head, int64_t slot) const {
    return kv.data + page * kv.page_stride +
           (head * kPageTokens + slot) * kv.shape.key_dim * element_bytes;
  }
  std::byte* value(PageId page, int64_t head, int64_t slot) const {
    return kv.data + page * kv.page_stride + kv.shape.key_bytes() +
           (head * kPageTokens + slot) * kv.shape.value_dim * element_bytes;
  }
};

int64_t count_rows(std::span<const SequenceRows> sequences) {
  int64_t rows = 0;
  for (const SequenceRows& sequence : sequences)
    rows += sequence.tokens;
  return rows;
}

// One query row by some heads of one kv head: what a thread works on at a time.
struct Query {
  const PageId* pages;
  int64_t row;
  int64_t position;
  int64_t kv_head;
  int64_t first_head;
  int64_t heads;
};

// Calls run(offset, slot, count, page) for the positions [first, last] in runs within one page;
// offset counts from `first`.
template <class Run>
void for_runs(const Query& query, int64_t first, Run run) {
  for (int64_t position = first; position <= query.position;) {
    const int64_t slot = position % kPageTokens;
    const int64_t count = std::min(kPageTokens - slot, query.position + 1 - position);
    run(position - first, slot, count, query.pages[position / kPageTokens]);
    position += count;
  }
}

void attend_query(const AttentionParts& parts, const AttentionArgs& args, const Query& query,
                  std::vector<float>& scratch) {
  const PagePlace place{args.kv, parts.element_bytes};
  const PagedKvShape& shape = args.kv.shape;
  const int64_t first =
      args.window > 0 ? std::max<int64_t>(0, query.position + 1 - args.window) : 0;
  const int64_t count = query.position + 1 - first;
  if (static_cast<int64_t>(scratch.size()) < query.heads * count)
    scratch.resize(static_cast<size_t>(query.heads * count * 2));  // grows with the context
  float* scores = scratch.data();

  const float* q = args.q + query.row * args.q_stride + query.first_head * shape.key_dim;
  for_runs(query, first, [&](int64_t offset, int64_t slot, int64_t length, PageId page) {
    const CacheRun keys{place.key(page, query.kv_head, slot), length, shape.key_dim};
    parts.score(q, query.heads, keys, scores + offset, count);
  });

  float sums[kHeadsTogether];
  for (int64_t i = 0; i < query.heads; ++i) {
    const int64_t head = query.first_head + i;
    const SoftenArgs soften{
        .scale = args.scale,
        .softcap = args.softcap,
        .slope = args.alibi_slopes == nullptr ? 0.0F : args.alibi_slopes[head],
        .sink = args.sinks == nullptr ? nullptr : args.sinks + head,
    };
    sums[i] = parts.soften(soften, scores + i * count, count);
  }

  float* out = args.out + query.row * args.out_stride + query.first_head * shape.value_dim;
  std::fill_n(out, query.heads * shape.value_dim, 0.0F);
  for_runs(query, first, [&](int64_t offset, int64_t slot, int64_t length, PageId page) {
    const CacheRun values{place.value(page, query.kv_head, slot), length, shape.value_dim};
    parts.mix(scores + offset, count, query.heads, values, out);
  });
  for (int64_t i = 0; i < query.heads; ++i) {
    for (int64_t d = 0; d < shape.value_dim; ++d)
      out[i * shape.value_dim + d] /= sums[i];
  }
}

}  // namespace

void store_kv(const AttentionParts& parts, const StoreKvArgs& args, const Exec& exec) {
  const PagePlace place{args.kv, parts.element_bytes};
  const PagedKvShape& shape = args.kv.shape;
  const auto store_row = [&](const SequenceRows& sequence, int64_t token) {
    const int64_t position = sequence.first_position + token;
    const PageId page = sequence.pages[position / kPageTokens];
    const int64_t slot = position % kPageTokens;
    const float* k = args.k + (sequence.first_row + token) * args.k_stride;
    const float* v = args.v + (sequence.first_row + token) * args.v_stride;
    for (int64_t head = 0; head < shape.kv_heads; ++head) {
      parts.store(k + head * shape.key_dim, shape.key_dim, place.key(page, head, slot));
      parts.store(v + head * shape.value_dim, shape.value_dim, place.value(page, head, slot));
    }
  };
  exec.for_ranges(count_rows(args.sequences), 16, [&](int64_t begin, int64_t end) {
    int64_t index = 0;  // over all rows of all sequences
    for (const SequenceRows& sequence : args.sequences) {
      const int64_t from = std::max(begin, index) - index;
      const int64_t to = std::min(end, index + sequence.tokens) - index;
      for (int64_t token = from; token < to; ++token)
        store_row(sequence, token);
      index += sequence.tokens;
    }
  });
}

// Queries go to the threads in turn, kv head by kv head: causal rows grow longer, so taking turns
// balances, and one head's keys stay in cache while all rows read them.
void attend(const AttentionParts& parts, const AttentionArgs& args, const Exec& exec) {
  const int64_t group = args.heads / args.kv.shape.kv_heads;
  INGOT_DCHECK(group * args.kv.shape.kv_heads == args.heads);
  const int64_t threads = exec.threads();
  exec.for_ranges(threads, 1, [&](int64_t begin, int64_t end) {
    thread_local std::vector<float> scratch;
    int64_t turn = 0;
    for (int64_t head = 0; head < args.heads;) {
      const int64_t kv_head = head / group;
      const int64_t heads = std::min(kHeadsTogether, (kv_head + 1) * group - head);
      for (const SequenceRows& sequence : args.sequences) {
        for (int64_t token = 0; token < sequence.tokens; ++token) {
          const int64_t thread = turn++ % threads;
          if (thread < begin || thread >= end) continue;
          const Query query{sequence.pages,
                            sequence.first_row + token,
                            sequence.first_position + token,
                            kv_head,
                            head,
                            heads};
          attend_query(parts, args, query, scratch);
        }
      }
      head += heads;
    }
  });
}

}  // namespace ingot
