// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "base/check.h"
#include "kernels/attention_parts.h"

namespace ingot {

void store_kv(const KvCodec& codec, const StoreKvArgs& args, const Exec& exec) {
  const PagedKvShape& shape = args.kv.shape;
  const int64_t key_bytes = shape.key_row_bytes();
  const int64_t value_bytes = shape.value_row_bytes();
  const auto store_row = [&](const SequenceRows& sequence, int64_t token, float* rotated) {
    const int64_t position = sequence.first_position + token;
    const PageId page = sequence.pages[position / shape.page_tokens];
    INGOT_DCHECK(page != kNoPage);
    const int64_t slot = position % shape.page_tokens;
    std::byte* keys = args.kv.data + page * args.kv.page_stride;
    std::byte* values = keys + shape.kv_heads * shape.page_tokens * key_bytes;
    const float* k = args.k + (sequence.first_row + token) * args.k_stride;
    const float* v = args.v + (sequence.first_row + token) * args.v_stride;
    for (int64_t head = 0; head < shape.kv_heads; ++head) {
      const int64_t row = head * shape.page_tokens + slot;
      const float* key = k + head * shape.key_dim;
      if (codec.rotates_keys) {
        std::copy_n(key, shape.key_dim, rotated);
        rotate_key(rotated, shape.key_dim);
        key = rotated;
      }
      codec.keys.store(key, shape.key_dim, keys + row * key_bytes);
      codec.values.store(v + head * shape.value_dim, shape.value_dim, values + row * value_bytes);
    }
  };
  int64_t rows = 0;
  for (const SequenceRows& sequence : args.sequences)
    rows += sequence.tokens;
  exec.for_ranges(rows, 16, [&](int64_t begin, int64_t end) {
    thread_local std::vector<float> rotated;
    rotated.resize(static_cast<size_t>(shape.key_dim));
    int64_t index = 0;  // over all rows of all sequences
    for (const SequenceRows& sequence : args.sequences) {
      const int64_t from = std::max(begin, index) - index;
      const int64_t to = std::min(end, index + sequence.tokens) - index;
      for (int64_t token = from; token < to; ++token)
        store_row(sequence, token, rotated.data());
      index += sequence.tokens;
    }
  });
}

}  // namespace ingot
