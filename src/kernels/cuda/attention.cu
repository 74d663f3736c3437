// SPDX-License-Identifier: Apache-2.0
// Chooses the way a step's rows take. Few rows a sequence: splits (attention_decode). Many: tiles
// of queries (attention_prefill). Types and sizes that tensor cores do not take, and f32, which
// they would round: attention_generic. Where bits may not depend on how a sequence was cut into
// steps, all rows go by splits.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/attention_paths.h"

namespace ingot::cuda {
namespace {

constexpr int32_t kShortestSplit = 64;
constexpr int32_t kFewSlots = 64;
constexpr int64_t kMostScratch = int64_t{256} << 20;

int64_t partial_bytes(int64_t slots, int64_t heads, int64_t splits, int64_t value_dim) {
  return slots * heads * splits * (value_dim + 2) * static_cast<int64_t>(sizeof(float)) + 16;
}

int32_t row_bytes(KvType type, int32_t dim) {
  switch (type) {
    case KvType::kF32:
      return 4 * dim;
    case KvType::kF16:
    case KvType::kBF16:
      return 2 * dim;
    case KvType::kFp8E4M3:
    case KvType::kFp8E5M2:
      return dim;
    case KvType::kInt8:
      return dim + 2;
    case KvType::kInt4:
      return (dim + 1) / 2 + 4;
  }
  return 0;
}

}  // namespace

KvLayout kv_layout(const DeviceKv& kv) {
  const int32_t key_bytes = row_bytes(kv.type, kv.key_dim);
  int32_t shift = 0;
  while ((1 << shift) < kv.page_tokens)
    ++shift;
  return {key_bytes, row_bytes(kv.type, kv.value_dim), shift,
          static_cast<int64_t>(kv.kv_heads) * kv.page_tokens * key_bytes};
}

bool is_for_tensor_cores(const AttentionArgs& args) {
  const DeviceKv& kv = args.kv;
  if (kv.type == KvType::kF32 || kv.type == KvType::kInt4) return false;
  const int32_t step = kv.type == KvType::kF16 || kv.type == KvType::kBF16 ? 8 : 16;
  return kv.key_dim % step == 0 && kv.value_dim % step == 0 && kv.key_dim <= 256 &&
         kv.value_dim <= 256 && kv.page_stride % 16 == 0 &&
         reinterpret_cast<uintptr_t>(kv.data) % 16 == 0 && args.out_stride % 4 == 0 &&
         reinterpret_cast<uintptr_t>(args.out) % 16 == 0;
}

// The most scratch of any step up to this size: a step that would need more goes without, each
// thread block walking all splits of its rows.
int64_t attention_scratch_bytes(int32_t rows, int32_t heads, int32_t value_dim, int32_t longest) {
  const int64_t splits = (static_cast<int64_t>(longest) + kShortestSplit - 1) / kShortestSplit;
  return std::min(partial_bytes(std::max(rows, kFewSlots), heads, splits, value_dim), kMostScratch);
}

Splits plan_splits(const AttentionArgs& args, TokenRange tokens, int32_t length, int64_t blocks,
                   int64_t wanted) {
  const DeviceSequences& sequences = args.sequences;
  Splits splits{};
  splits.length = length;
  splits.most = std::max((sequences.longest + length - 1) / length, 1);
  splits.shares = 1;
  if (splits.most == 1 || blocks >= wanted) return splits;
  splits.is_slot_by_sequence = sequences.most_tokens > tokens.most;
  const int64_t slots = splits.is_slot_by_sequence
                            ? static_cast<int64_t>(sequences.sequences) * kDecodeTokens
                            : sequences.rows;
  const int64_t bytes = partial_bytes(slots, args.heads, splits.most, args.kv.value_dim);
  if (args.scratch == nullptr ||
      bytes >
          attention_scratch_bytes(sequences.rows, args.heads, args.kv.value_dim, sequences.longest))
    return splits;
  splits.shares = static_cast<int32_t>(
      std::min<int64_t>(splits.most, (wanted + blocks - 1) / std::max<int64_t>(blocks, 1)));
  splits.slots = static_cast<int32_t>(slots);
  splits.values = reinterpret_cast<float*>(args.scratch);  // first, as it is written in fours
  splits.stats = splits.values + slots * args.heads * splits.most * args.kv.value_dim;
  return splits;
}

void attend(const AttentionArgs& given, Stream stream, AttentionStep* left) {
  AttentionArgs args = given;
  const DeviceSequences& sequences = args.sequences;
  if (sequences.rows == 0 || sequences.sequences == 0) return;
  // One row a sequence, whose queries of a kv head are all one thread block's: it stores their key.
  const bool stores_itself = is_for_tensor_cores(args) && sequences.most_tokens == 1 &&
                             args.heads / args.kv.kv_heads <= kFewQueries;
  if (args.fresh.k != nullptr && !stores_itself) {
    store_kv({.kv = args.kv,
              .fresh = args.fresh,
              .sequences = sequences,
              .rope = args.rope,
              .q = args.rope.cos == nullptr ? nullptr : args.q,
              .q_stride = args.q_stride,
              .heads = args.heads},
             stream);
    args.fresh = {};
    args.rope = {};
  }
  constexpr int32_t kNoLimit = std::numeric_limits<int32_t>::max();
  if (!is_for_tensor_cores(args)) return launch_generic(args, stream);
  const bool has_prompts = !args.is_batch_invariant && sequences.most_tokens > kDecodeTokens;
  if (has_prompts) launch_prefill(args, {kDecodeTokens + 1, kNoLimit}, stream);
  if (has_prompts && sequences.sequences == 1) return;
  const AttentionStep step =
      launch_decode(args, {1, args.is_batch_invariant ? kNoLimit : kDecodeTokens}, stream);
  if (step.splits.values == nullptr) return;
  if (left != nullptr && !has_prompts) {
    *left = step;
  } else {
    launch_join(step, stream);
  }
}

}  // namespace ingot::cuda
