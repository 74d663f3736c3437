// SPDX-License-Identifier: Apache-2.0
// Attention over pages on the device: kernels/attention.h's contract with device pointers. Kernels
// and grids are chosen from what the host knows (rows, the longest sequence); everything else is
// read on the device, so that a captured graph serves any step of its size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/stream.h"

namespace ingot::cuda {

enum class KvType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kFp8E4M3,
  kFp8E5M2,
  kInt8,
  kInt4
};  // as KvCacheType

// One layer's pages, laid out as kernels/paged_kv.h says: page p begins at data + p * page_stride.
struct DeviceKv {
  KvType type;
  int32_t kv_heads;
  int32_t key_dim;
  int32_t value_dim;
  int32_t page_tokens;  // a power of two, 8 to 128
  std::byte* data;
  int64_t page_stride;  // bytes
};

// The sequences of a step. Pointers are the device's.
struct DeviceSequences {
  const int32_t* first_row;       // [sequences]
  const int32_t* tokens;          // [sequences]; 0: padding, nothing is read or written for it
  const int32_t* first_position;  // [sequences]
  const int32_t* pages;  // [sequences, table_stride]: page of positions [i * page_tokens, ...)
  int64_t table_stride;
  const int32_t* row_sequence;  // [rows]: which sequence a row is of
  // What the host knows.
  int32_t sequences;
  int32_t rows;         // of the batch, padding included
  int32_t most_tokens;  // of one sequence
  int32_t longest;      // at least first_position + tokens of every sequence
};

// A step's new keys and values.
struct NewKv {
  const float* k;  // [rows, kv_heads, key_dim]; null: they are in their pages
  int64_t k_stride;
  const float* v;  // [rows, kv_heads, value_dim]
  int64_t v_stride;
};

// The rotation by position that new keys and queries still need.
struct RopeRows {
  const float* cos;  // [rows, pairs]; null: none
  const float* sin;
  int32_t pairs;
  bool in_halves;  // dimension i turns with i + pairs; else 2i with 2i + 1
};

struct StoreKvArgs {
  DeviceKv kv;
  NewKv fresh;
  DeviceSequences sequences;
  RopeRows rope;
  float* q;  // [rows, heads, key_dim], rotated in place; null where there is no rotation
  int64_t q_stride;
  int32_t heads;
};
void store_kv(const StoreKvArgs& args, Stream stream);

struct AttentionArgs {
  DeviceKv kv;
  float* q;  // [rows, heads, key_dim]; may be rotated in place
  int64_t q_stride;
  float* out;  // [rows, heads, value_dim]
  int64_t out_stride;
  int32_t heads;
  float scale;
  float softcap;              // 0: none
  int32_t window;             // 0: all
  const float* alibi_slopes;  // [heads] or null
  const float* sinks;         // [heads] or null
  DeviceSequences sequences;
  // Stored first; kernels of few rows do it on the way.
  NewKv fresh;
  RopeRows rope;
  std::byte* scratch;       // attention_scratch_bytes() of it
  bool is_batch_invariant;  // a row's bits may then not depend on how its sequence was cut into
                            // steps
};
// For any step of at most this size.
int64_t attention_scratch_bytes(int32_t rows, int32_t heads, int32_t value_dim, int32_t longest);
struct AttentionStep;  // attention_paths.h
// `left`: where a step's rows are all cut into splits, joining those is left to whoever takes the
// result (its splits are then not null), for it can be done on the way.
void attend(const AttentionArgs& args, Stream stream, AttentionStep* left = nullptr);

}  // namespace ingot::cuda
