// SPDX-License-Identifier: Apache-2.0
// Causal attention of a ragged batch over paged keys and values: writes the new keys and values to
// their pages, then lets every query row look at all earlier positions of its own sequence. Scores,
// softmax and weighted sum run over positions in ascending order, cut at fixed positions, per row
// and head by itself: chunking, batch, page size and threads change nothing. Keys and values are
// read as they are stored, a few positions at a time; pages wholly out of the window never.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/exec.h"
#include "kernels/paged_kv.h"
#include "kernels/target.h"

namespace ingot {

struct StoreKvArgs {
  PagedKv kv;
  const float* k;  // [rows, kv_heads * key_dim], row stride k_stride
  int64_t k_stride;
  const float* v;
  int64_t v_stride;
  std::span<const SequenceRows> sequences;
};

struct AttentionArgs {
  PagedKv kv;
  const float* q;  // [rows, heads, key_dim], row stride q_stride
  int64_t q_stride;
  float* out;  // [rows, heads, value_dim], row stride out_stride
  int64_t out_stride;
  int64_t heads;  // a multiple of kv_heads; head h reads kv head h / (heads / kv_heads)
  float scale;
  float softcap;   // 0: none; else cap * tanh(score / cap)
  int64_t window;  // 0: all earlier positions; else the last `window`, the row's own included
  const float* alibi_slopes;  // [heads] or null: adds slope * (key position - query position)
  const float* sinks;         // [heads] or null: one extra logit in the denominator
  std::span<const SequenceRows> sequences;
};

struct AttentionKernel {
  const char* name;
  KvCacheType type;
  Target target;
  void (*store)(const StoreKvArgs& args, const Exec& exec);
  void (*run)(const AttentionArgs& args, const Exec& exec);
};
std::span<const AttentionKernel> attention_kernels();
// Every type has a scalar kernel, so there always is one.
const AttentionKernel& choose_attention(KvCacheType type, TargetSet targets);

}  // namespace ingot
