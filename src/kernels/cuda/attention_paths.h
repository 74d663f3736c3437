// SPDX-License-Identifier: Apache-2.0
// The ways attend() can take, and what they share: where a layer's rows lie, and how positions are
// cut into splits. A split's place depends on the cache type and the head size alone; its partial
// results are joined in ascending order by one arithmetic, whether one thread block walks all
// splits of a row or several share them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/attention.h"

namespace ingot::cuda {

inline constexpr int32_t kDecodeTokens = 8;  // rows of one sequence that are still few
inline constexpr int32_t kFewQueries = 16;   // of a kv head, that one thread block always takes

struct KvLayout {
  int32_t key_row_bytes;
  int32_t value_row_bytes;
  int32_t page_shift;    // page_tokens = 1 << page_shift
  int64_t value_offset;  // of a page's values from its beginning, bytes
};
KvLayout kv_layout(const DeviceKv& kv);

// Sequences with so many rows in this step are a path's own.
struct TokenRange {
  int32_t least;
  int32_t most;
};

struct Splits {
  int32_t length;            // positions
  int32_t most;              // splits of a row
  int32_t shares;            // thread blocks that share a row's splits, split after split
  bool is_slot_by_sequence;  // a row's slot is its place among kDecodeTokens of its sequence
  int32_t slots;
  // Partial results of [slots, heads, most]; null: a block walks all splits, and no other does.
  float* stats;   // [.., 2]: the largest logit (in powers of two) and the sum
  float* values;  // [.., value_dim]: not yet divided by the sum
};

struct AttentionStep {
  AttentionArgs args;
  KvLayout layout;
  TokenRange tokens;
  Splits splits;
  int32_t row_blocks;  // of one sequence's queries of one kv head
};

// Whether tensor cores can do it: 8- and 16-bit rows of whole 16-byte pieces, heads up to 256.
bool is_for_tensor_cores(const AttentionArgs& args);

// The step that was launched; where it has splits they are still to be joined.
AttentionStep launch_decode(const AttentionArgs& args, TokenRange tokens, Stream stream);
void launch_prefill(const AttentionArgs& args, TokenRange tokens, Stream stream);
void launch_generic(const AttentionArgs& args, Stream stream);
// Joins the partial results of step.splits.
void launch_join(const AttentionStep& step, Stream stream);

// Cuts for at most `tokens.most` rows of a sequence; `blocks` is the grid without shares, `wanted`
// the size from which on a device is busy.
Splits plan_splits(const AttentionArgs& args, TokenRange tokens, int32_t length, int64_t blocks,
                   int64_t wanted);

}  // namespace ingot::cuda
