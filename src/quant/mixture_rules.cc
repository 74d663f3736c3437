// SPDX-License-Identifier: Apache-2.0
#include "quant/mixture_rules.h"

#include <algorithm>
#include <initializer_list>

namespace ingot {
namespace {

// What the rules ask about a mixture and a tensor.
struct Case {
  const Mixture& mixture;
  const TensorRole& role;

  bool is(std::initializer_list<std::string_view> names) const {
    return std::ranges::find(names, mixture.name) != names.end();
  }
  // One and two bits from tables: every tensor that can be spared is.
  bool is_tiny() const { return is({"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M"}); }
  bool is_in_first(int part) const { return role.layer < role.layers / part; }
  // The first and last eighth, and every third layer between.
  bool is_sensitive_layer() const {
    const int eighth = role.layers / 8;
    return role.layer < eighth || role.layer >= 7 * role.layers / 8 ||
           (role.layer - eighth) % 3 == 2;
  }
  // Keys and values shared by four heads or more are small: better bits cost little there.
  bool has_shared_heads() const { return role.heads >= 4 * std::max(role.kv_heads, 1); }
  bool has_eight_experts() const { return role.experts == 8; }
};

Layout embedding(const Case& c) {
  if (c.is({"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS"})) return Layout::kQ2_K;
  if (c.is({"IQ2_S", "IQ2_M", "IQ3_XXS"})) return Layout::kIQ3_S;
  if (c.is({"TQ1_0", "TQ2_0", "Q1_0", "Q2_0"})) return Layout::kQ4_K;
  return c.mixture.base;
}

// Of tiny mixtures: more for the small and the sensitive, the base for the rest.
Layout tiny_matrix(const Case& c) {
  const Layout better = c.is({"IQ2_S", "IQ2_M"}) ? Layout::kIQ3_S : Layout::kQ2_K;
  switch (c.role.kind) {
    case MatrixKind::kAttentionV:
    case MatrixKind::kAttentionQkv:
      return c.has_shared_heads() || c.role.experts >= 4 ? Layout::kQ4_K : better;
    case MatrixKind::kAttentionK:
      return c.has_eight_experts() ? Layout::kQ4_K : c.mixture.base;
    case MatrixKind::kFfnDown:
      return c.is_in_first(8) ? better : c.mixture.base;
    case MatrixKind::kAttentionOutput:
      if (c.has_eight_experts()) return Layout::kQ5_K;
      if (c.is({"IQ1_S", "IQ1_M"})) return Layout::kIQ2_XXS;
      return c.is({"IQ2_S", "IQ2_M"}) ? Layout::kIQ3_S : c.mixture.base;
    default:
      return c.mixture.base;
  }
}

Layout value_by_name(const Case& c) {
  if (c.is({"Q2_K"})) return c.has_shared_heads() ? Layout::kQ4_K : Layout::kQ3_K;
  if (c.is({"Q2_K_S", "IQ3_XS", "IQ3_S"}) && c.has_shared_heads()) return Layout::kQ4_K;
  if (c.is({"IQ3_XXS"})) {
    if (c.has_shared_heads()) return Layout::kQ4_K;
    return c.role.has_importance ? Layout::kIQ3_XXS : Layout::kIQ3_S;
  }
  if (c.is({"IQ3_M"})) return Layout::kQ4_K;
  if (c.is({"Q3_K_M"})) return c.role.layer < 2 ? Layout::kQ5_K : Layout::kQ4_K;
  if (c.is({"Q3_K_L"})) return Layout::kQ5_K;
  if (c.is({"IQ4_NL", "IQ4_XS"}) && c.has_shared_heads()) return Layout::kQ5_K;
  if (c.is({"Q4_K_M", "Q5_K_M"}) && c.is_sensitive_layer()) return Layout::kQ6_K;
  if (c.is({"Q4_K_S"}) && c.role.layer < 4) return Layout::kQ5_K;
  return c.mixture.base;
}

Layout value(const Case& c) {
  if (c.has_eight_experts()) return Layout::kQ8_0;
  const Layout layout = value_by_name(c);
  // Eighty layers with shared heads: one part in eight of the attention, and worth five bits.
  const bool is_cheap = c.role.layers == 80 && c.has_shared_heads();
  const bool is_low = layout == Layout::kQ3_K || layout == Layout::kQ4_K;
  return is_cheap && is_low ? Layout::kQ5_K : layout;
}

Layout query_or_key(const Case& c) {
  if (c.role.kind == MatrixKind::kAttentionK && c.has_eight_experts()) return Layout::kQ8_0;
  if (c.is({"IQ3_XS"})) return Layout::kIQ3_XXS;
  if (c.is({"IQ3_XXS"})) return Layout::kIQ2_S;
  return c.mixture.base;
}

Layout attention_output(const Case& c) {
  if (c.has_eight_experts()) {
    const bool is_raised = c.is({"Q2_K", "IQ3_XS", "IQ3_XXS", "Q3_K_S", "Q3_K_M", "IQ4_NL",
                                 "Q4_K_S", "Q4_K_M", "IQ3_S", "IQ3_M", "IQ4_XS"});
    return is_raised ? Layout::kQ5_K : c.mixture.base;
  }
  if (c.is({"Q2_K"})) return Layout::kQ3_K;
  if (c.is({"IQ3_XXS"})) return Layout::kIQ3_S;
  if (c.is({"Q3_K_M", "IQ3_M"})) return Layout::kQ4_K;
  return c.is({"Q3_K_L"}) ? Layout::kQ5_K : c.mixture.base;
}

Layout ffn_down(const Case& c) {
  const bool has_importance = c.role.has_importance;
  if (c.is({"Q2_K"})) return Layout::kQ3_K;
  if (c.is({"Q2_K_S"}) && c.is_in_first(8)) return Layout::kQ4_K;
  if (c.is({"IQ3_XXS"}) && !has_importance) return c.is_in_first(8) ? Layout::kQ4_K : Layout::kQ3_K;
  if (c.is({"Q3_K_M"})) return c.is_in_first(16) ? Layout::kQ5_K : Layout::kQ4_K;
  if (c.is({"Q3_K_L"})) return Layout::kQ5_K;
  if (c.is({"IQ3_M"})) {
    const bool is_raised = c.is_in_first(8) || (c.has_eight_experts() && c.is_sensitive_layer());
    return is_raised ? Layout::kQ4_K : c.mixture.base;
  }
  if (c.is({"Q4_K_M", "Q5_K_M"}) && c.is_sensitive_layer()) return Layout::kQ6_K;
  if (c.is({"Q4_K_S"}) && c.is_in_first(8)) return Layout::kQ5_K;
  if (c.is({"IQ4_NL", "IQ4_XS"}) && !has_importance && c.is_in_first(8)) return Layout::kQ5_K;
  if (c.is({"Q4_0"}) && has_importance && c.is_in_first(8)) return Layout::kQ4_1;
  if (c.is({"Q5_0"}) && has_importance && c.is_in_first(8)) return Layout::kQ5_1;
  return c.mixture.base;
}

Layout ffn_gate_or_up(const Case& c) {
  const bool is_inner = !c.is_in_first(8) && c.role.layer < 7 * c.role.layers / 8;
  return c.is({"IQ3_XS"}) && is_inner ? Layout::kIQ3_XXS : c.mixture.base;
}

// Four-bit floats: where there are experts they are most of the file and all that was trained so.
Layout float_matrix(const Case& c) {
  if (c.role.kind == MatrixKind::kEmbedding) return Layout::kQ8_0;
  const bool is_spared = c.role.experts > 0 && !c.role.is_expert;
  return is_spared ? Layout::kQ8_0 : c.mixture.base;
}

}  // namespace

Layout output_layout(const Mixture& mixture) {
  const Case c{mixture, {}};
  if (c.is({"MXFP4", "NVFP4", "Q8_0"})) return Layout::kQ8_0;
  if (c.is_tiny() || c.is({"IQ3_XXS"})) return Layout::kQ5_K;
  return Layout::kQ6_K;
}

Layout matrix_layout(const Mixture& mixture, const TensorRole& role) {
  const Case c{mixture, role};
  if (c.is({"MXFP4", "NVFP4"})) return float_matrix(c);
  if (role.kind == MatrixKind::kEmbedding) return embedding(c);
  if (c.is_tiny()) return tiny_matrix(c);
  switch (role.kind) {
    case MatrixKind::kAttentionV:
    case MatrixKind::kAttentionQkv:
      return value(c);
    case MatrixKind::kAttentionQ:
    case MatrixKind::kAttentionK:
      return query_or_key(c);
    case MatrixKind::kAttentionOutput:
      return attention_output(c);
    case MatrixKind::kFfnDown:
      return ffn_down(c);
    case MatrixKind::kFfnGate:
    case MatrixKind::kFfnUp:
      return ffn_gate_or_up(c);
    default:
      return mixture.base;
  }
}

}  // namespace ingot
