// SPDX-License-Identifier: Apache-2.0
// Names of tensors in GGUF files to their kinds.
#include <algorithm>
#include <charconv>

#include "quant/mixture.h"

namespace ingot {
namespace {

struct Pattern {
  std::string_view part;
  MatrixKind kind;
};

// The first that occurs in the name; small and sensitive matrices come before the kinds whose names
// they share.
constexpr Pattern kPatterns[] = {
    {"norm", MatrixKind::kKept},
    {"ffn_gate_inp", MatrixKind::kKept},
    {"position_embd", MatrixKind::kKept},
    {"token_types", MatrixKind::kKept},
    {"rope_freqs", MatrixKind::kKept},
    {"ssm_conv1d", MatrixKind::kKept},
    {"shortconv.conv", MatrixKind::kKept},
    {"altup", MatrixKind::kKept},
    {"laurel", MatrixKind::kKept},
    {"token_embd.weight", MatrixKind::kEmbedding},
    {"attn_qkv.weight", MatrixKind::kAttentionQkv},
    {"attn_kv_b.weight", MatrixKind::kAttentionQkv},
    {"attn_q.weight", MatrixKind::kAttentionQ},
    {"attn_k.weight", MatrixKind::kAttentionK},
    {"attn_v.weight", MatrixKind::kAttentionV},
    {"attn_output.weight", MatrixKind::kAttentionOutput},
    {"ffn_gate", MatrixKind::kFfnGate},
    {"ffn_up", MatrixKind::kFfnUp},
    {"ffn_down", MatrixKind::kFfnDown},
};

std::optional<int> layer_of(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  int layer = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  const bool is_number = error == std::errc() && end != name.data() + name.size() && *end == '.';
  return is_number && layer >= 0 ? std::optional(layer) : std::nullopt;
}

}  // namespace

NamedTensor named_tensor(std::string_view gguf_name) {
  NamedTensor found{.layer = layer_of(gguf_name)};
  if (!gguf_name.ends_with(".weight")) {
    found.kind = MatrixKind::kKept;  // biases, sinks, tables of factors
    return found;
  }
  if (gguf_name == "output.weight") {
    found.kind = MatrixKind::kOutput;
    return found;
  }
  const auto match = std::ranges::find_if(kPatterns, [&](const Pattern& pattern) {
    return gguf_name.find(pattern.part) != std::string_view::npos;
  });
  if (match != std::end(kPatterns)) found.kind = match->kind;
  found.is_expert = gguf_name.find("_exps.") != std::string_view::npos;
  return found;
}

}  // namespace ingot
