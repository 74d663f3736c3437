// SPDX-License-Identifier: Apache-2.0
#include "convert/kind_of_name.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace ingot {
namespace {

struct Named {
  std::string_view name;
  TensorKind kind;
};
constexpr Named kMatrices[] = {
    {"token_embd", TensorKind::kEmbedding},
    {"position_embd", TensorKind::kPositions},
    {"output", TensorKind::kOutput},
    {"attn_q", TensorKind::kQ},
    {"attn_k", TensorKind::kK},
    {"attn_v", TensorKind::kV},
    {"attn_qkv", TensorKind::kQkv},
    {"attn_output", TensorKind::kO},
    {"ffn_gate", TensorKind::kGate},
    {"ffn_up", TensorKind::kUp},
    {"ffn_down", TensorKind::kDown},
};

}  // namespace

NamedKind kind_of_gguf_name(std::string_view name) {
  NamedKind found;
  constexpr std::string_view kBlockPrefix = "blk.";
  if (name.starts_with(kBlockPrefix)) {
    name.remove_prefix(kBlockPrefix.size());
    const auto end = std::from_chars(name.data(), name.data() + name.size(), found.layer);
    name.remove_prefix(static_cast<size_t>(end.ptr - name.data()));
    if (name.starts_with('.')) name.remove_prefix(1);
  }
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return found;
  const std::string_view stem = name.substr(0, dot);
  if (name.substr(dot) == ".bias") {
    found.kind = TensorKind::kBias;
  } else if (stem.ends_with("norm") || stem.ends_with("norm_2")) {
    found.kind = TensorKind::kNorm;
  } else if (const auto* const it = std::ranges::find(kMatrices, stem, &Named::name);
             it != std::end(kMatrices)) {
    found.kind = it->kind;
  }
  return found;
}

}  // namespace ingot
