// SPDX-License-Identifier: Apache-2.0
#include "model/hf_names.h"

#include <variant>

namespace ingot {

LinearSource linear_named(const std::string& name, bool has_bias) {
  LinearSource linear;
  linear.weight = TensorSource::named(name + ".weight");
  if (has_bias) linear.bias = TensorSource::named(name + ".bias");
  return linear;
}

NormSource norm_named(const std::string& name, bool has_bias) {
  LinearSource same = linear_named(name, has_bias);
  return {std::move(same.weight), std::move(same.bias)};
}

LinearSource rows_of(const LinearSource& fused, const std::vector<RowRange>& rows) {
  LinearSource part = fused;
  for (TensorPart& bias : part.bias.parts)
    bias.rows = rows;
  for (TensorPart& weight : part.weight.parts)
    weight.rows = rows;
  return part;
}

void split_qkv(const LinearSource& fused, const AttentionSpec& attention, LayerSources& layer) {
  const int64_t q = attention.heads * attention.key_dim;
  const int64_t k = q + attention.kv_heads * attention.key_dim;
  const int64_t v = k + attention.kv_heads * attention.value_dim;
  layer.q = rows_of(fused, {{0, q}});
  layer.k = rows_of(fused, {{q, k}});
  layer.v = rows_of(fused, {{k, v}});
}

void split_grouped_qkv(const LinearSource& fused, const AttentionSpec& attention,
                       LayerSources& layer) {
  const int64_t queries = attention.heads / attention.kv_heads * attention.key_dim;
  std::vector<RowRange> q;
  std::vector<RowRange> k;
  std::vector<RowRange> v;
  int64_t row = 0;
  for (int64_t head = 0; head < attention.kv_heads; ++head) {
    q.push_back({row, row + queries});
    row += queries;
    k.push_back({row, row + attention.key_dim});
    row += attention.key_dim;
    v.push_back({row, row + attention.value_dim});
    row += attention.value_dim;
  }
  layer.q = rows_of(fused, q);
  layer.k = rows_of(fused, k);
  layer.v = rows_of(fused, v);
}

void split_gate_up(const LinearSource& fused, int64_t ffn, LayerSources& layer) {
  layer.gate = rows_of(fused, {{0, ffn}});
  layer.up = rows_of(fused, {{ffn, 2 * ffn}});
}

ModelPlan unnamed_plan(const HfDecoder& decoder) {
  ModelPlan plan;
  plan.spec = decoder.spec;
  LayerSpec layer;
  layer.mixer = decoder.attention;
  layer.ffn = decoder.ffn;
  plan.spec.layers.assign(static_cast<size_t>(decoder.layers), layer);
  plan.weights.layers.resize(static_cast<size_t>(decoder.layers));
  return plan;
}

void name_output(const std::string& name, bool has_bias, ModelPlan& plan) {
  plan.weights.output = linear_named(name, has_bias);
  if (plan.spec.ties_output) plan.weights.output.weight = TensorSource();
}

Result<LlamaBiases> read_attention_biases(const HfConfig& config) {
  INGOT_TRY(const bool attention_bias, config.boolean_or("attention_bias", false));
  return LlamaBiases{.qkv = attention_bias, .o = attention_bias};
}

ModelPlan llama_plan(const HfDecoder& decoder, const LlamaBiases& biases) {
  ModelPlan plan = unnamed_plan(decoder);
  WeightMap& weights = plan.weights;
  weights.embedding = TensorSource::named("model.embed_tokens.weight");
  weights.final_norm = norm_named("model.norm", biases.norm);
  name_output("lm_head", false, plan);
  weights.aliases = {{"model.", ""}};  // the bare model without its head
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    const std::string name = fmt::format("model.layers.{}.", i);
    LayerSources& layer = weights.layers[i];
    layer.mixer_norm = norm_named(name + "input_layernorm", biases.norm);
    layer.q = linear_named(name + "self_attn.q_proj", biases.qkv);
    layer.k = linear_named(name + "self_attn.k_proj", biases.qkv);
    layer.v = linear_named(name + "self_attn.v_proj", biases.qkv);
    layer.o = linear_named(name + "self_attn.o_proj", biases.o);
    layer.ffn_norm = norm_named(name + "post_attention_layernorm", biases.norm);
    if (decoder.ffn.is_gated) layer.gate = linear_named(name + "mlp.gate_proj", biases.ffn);
    layer.up = linear_named(name + "mlp.up_proj", biases.ffn);
    layer.down = linear_named(name + "mlp.down_proj", biases.ffn);
  }
  return plan;
}

void name_qk_norms(const std::string& q, const std::string& k, bool has_bias, ModelPlan& plan) {
  for (size_t i = 0; i < plan.weights.layers.size(); ++i) {
    const std::string name = fmt::format("model.layers.{}.self_attn.", i);
    plan.weights.layers[i].q_norm = norm_named(name + q, has_bias);
    plan.weights.layers[i].k_norm = norm_named(name + k, has_bias);
  }
}

void use_post_norms(ModelPlan& plan) {
  for (size_t i = 0; i < plan.spec.layers.size(); ++i) {
    LayerSpec& spec = plan.spec.layers[i];
    spec.has_mixer_norm = false;
    spec.has_ffn_norm = false;
    spec.has_mixer_post_norm = true;
    spec.has_ffn_post_norm = true;
    const std::string name = fmt::format("model.layers.{}.", i);
    LayerSources& layer = plan.weights.layers[i];
    layer.mixer_norm = {};
    layer.ffn_norm = {};
    layer.mixer_post_norm = norm_named(name + "post_attention_layernorm", false);
    layer.ffn_post_norm = norm_named(name + "post_feedforward_layernorm", false);
  }
}

AttentionSpec& attention_of(LayerSpec& layer) {
  return std::get<AttentionSpec>(layer.mixer);
}

void set_windows(const std::vector<bool>& slides, int64_t window, ModelPlan& plan) {
  for (size_t i = 0; i < slides.size(); ++i) {
    if (slides[i]) attention_of(plan.spec.layers[i]).window = window;
  }
}

void set_ropes(const std::vector<bool>& chosen, int rope, ModelPlan& plan) {
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) attention_of(plan.spec.layers[i]).rope = rope;
  }
}

}  // namespace ingot
