// SPDX-License-Identifier: Apache-2.0
// The mixtures that GGUF users know by name (Q4_K_M, IQ3_XXS ...): which layout each tensor of a
// model gets, so that the parts that suffer most keep more bits. Pure arithmetic over a tensor's
// role: `ingot quantize` asks per tensor, then encodes with quantize_rows.h. Sizes are those of the
// files other tools write under the same name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "blocks/layout_id.h"

namespace ingot {

enum class MatrixKind : uint8_t {
  kEmbedding,
  kOutput,
  kAttentionQ,
  kAttentionK,
  kAttentionV,
  kAttentionQkv,
  kAttentionOutput,
  kFfnGate,
  kFfnUp,
  kFfnDown,
  kOther,  // a matrix of another kind: the mixture's own layout
  kKept,   // norms, routers, positions: small and sensitive, always F32
};

struct TensorRole {
  MatrixKind kind = MatrixKind::kOther;
  bool is_expert = false;  // one of several feed-forward networks, stacked or not
  bool is_tied = false;    // an embedding that is also the output
  bool has_importance = false;
  int layer = 0;
  int layers = 0;
  int heads = 1;
  int kv_heads = 1;
  int experts = 0;
  int dims = 2;  // one-dimensional tensors are kept
  int64_t rows = 0;
  int64_t cols = 0;
};

struct Mixture {
  std::string_view name;
  uint32_t file_type;      // general.file_type
  Layout base;             // of most matrices
  double bits_per_weight;  // of a Llama 3 of 8 billion weights, all tensors counted
  std::string_view description;
};

// Smallest first.
std::span<const Mixture> all_mixtures();
// By name, in any case; "Q3_K", "Q4_K" and "Q5_K" mean their _M. Null when there is none.
const Mixture* find_mixture(std::string_view name);
// Its layouts of few bits want an importance matrix (quantize_rows.h).
bool needs_importance(const Mixture& mixture);

// Falls back to a similar layout of smaller blocks where the columns do not fill whole ones, and to
// F16 where they do not even fill blocks of 32.
Layout choose(const Mixture& mixture, const TensorRole& role);
// That fallback alone, for layouts that a user has asked for by name.
Layout fit_layout(Layout layout, int64_t cols);

// What a tensor of a GGUF file is, by its name ("blk.3.ffn_down_exps.weight").
struct NamedTensor {
  MatrixKind kind = MatrixKind::kOther;
  bool is_expert = false;
  std::optional<int> layer;
};
NamedTensor named_tensor(std::string_view gguf_name);

}  // namespace ingot
