// SPDX-License-Identifier: Apache-2.0
#include "model/gguf_decoder.h"

#include <algorithm>
#include <cmath>

#include "base/limits.h"

namespace ingot {
namespace {

constexpr NumberRange kMultiplier = {1e-9, 1e9};

// What differs from layer to layer.
struct LayerSizes {
  std::vector<int64_t> heads;
  std::vector<int64_t> kv_heads;
  std::vector<int64_t> ffn;
  std::vector<int64_t> slides;   // 0 or 1
  std::vector<int64_t> rotates;  // 0 or 1; empty: by the family's rule
};

LinearSource linear_named(const std::string& name) {
  return {TensorSource::named(name + ".weight"), TensorSource::optional(name + ".bias")};
}

NormSource norm_named(const std::string& name) {
  return {TensorSource::named(name + ".weight"), TensorSource::optional(name + ".bias")};
}

// Some rows of a fused matrix, and of its bias if it has one.
LinearSource linear_rows(const std::string& name, int64_t begin, int64_t end) {
  LinearSource source = linear_named(name);
  source.weight.parts.front().rows = {{begin, end}};
  source.bias.parts.front().rows = {{begin, end}};
  return source;
}

Result<int64_t> read_layers(const GgufConfig& config) {
  INGOT_TRY(const int64_t blocks, config.integer("block_count", {1, limits::kLayers}));
  // Layers that draft tokens follow the model's own in the file.
  INGOT_TRY(const int64_t drafting,
            config.integer_or("nextn_predict_layers", 0, {0, limits::kLayers}));
  if (drafting >= blocks) {
    return config.error("nextn_predict_layers",
                        fmt::format("{} leaves none of {} blocks", drafting, blocks));
  }
  return blocks - drafting;
}

Result<std::vector<int64_t>> read_windows(const GgufConfig& config, const GgufFamily& family,
                                          int64_t window, int64_t layers) {
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  std::vector<int64_t> slides(static_cast<size_t>(layers), 0);
  if (window == 0) return slides;
  int64_t period = family.window_period;
  if (config.has(kPattern)) {
    // One number is a period, a list a switch for every layer.
    if (config.holds_list(kPattern)) return config.per_layer(kPattern, layers, {0, 1});
    INGOT_TRY(period, config.integer(kPattern, {0, limits::kLayers}));
  }
  for (int64_t i = 0; i < layers; ++i)
    slides[static_cast<size_t>(i)] = period == 0 || (i + 1) % period != 0 ? 1 : 0;
  return slides;
}

Result<LayerSizes> read_sizes(const GgufConfig& config, int64_t layers) {
  LayerSizes sizes;
  INGOT_TRY(sizes.heads, config.per_layer("attention.head_count", layers, {0, limits::kHeads}));
  INGOT_TRY(sizes.kv_heads, config.per_layer_or("attention.head_count_kv", layers, sizes.heads,
                                                {0, limits::kHeads}));
  INGOT_TRY(sizes.ffn, config.per_layer("feed_forward_length", layers, {0, limits::kHidden}));
  for (size_t i = 0; i < sizes.heads.size(); ++i) {
    if (sizes.heads[i] == 0 || sizes.kv_heads[i] == 0)
      return config.unsupported("attention.head_count",
                                fmt::format("layer {} has no attention", i));
    if (sizes.ffn[i] == 0)
      return config.unsupported("feed_forward_length", fmt::format("layer {} has none", i));
    if (sizes.heads[i] % sizes.kv_heads[i] != 0) {
      return config.error("attention.head_count_kv",
                          fmt::format("{} does not divide the {} heads of layer {}",
                                      sizes.kv_heads[i], sizes.heads[i], i));
    }
  }
  return sizes;
}

Result<int64_t> read_head_dim(const GgufConfig& config, std::string_view key, int64_t hidden,
                              int64_t heads) {
  if (config.has(key)) return config.integer(key, {1, limits::kHeadDim});
  if (hidden % heads != 0 || hidden / heads > limits::kHeadDim) {
    return config.error("attention.head_count",
                        fmt::format("{} heads do not divide the embedding of {}", heads, hidden));
  }
  return hidden / heads;
}

Result<AttentionSpec> read_attention(const GgufConfig& config, const GgufFamily& family,
                                     const ModelSpec& spec, int64_t heads) {
  AttentionSpec attention;
  INGOT_TRY(attention.key_dim, read_head_dim(config, "attention.key_length", spec.hidden, heads));
  INGOT_TRY(attention.value_dim,
            read_head_dim(config, "attention.value_length", spec.hidden, heads));
  INGOT_TRY(const double scale, config.number_or("attention.scale", 0, {0, kMultiplier.max}));
  attention.scale = static_cast<float>(
      scale > 0 ? scale : 1.0 / std::sqrt(static_cast<double>(attention.key_dim)));
  INGOT_TRY(const double softcap,
            config.number_or("attn_logit_softcapping", 0, {0, kMultiplier.max}));
  attention.softcap = static_cast<float>(softcap);
  INGOT_TRY(const double clip, config.number_or("attention.clamp_kqv", 0, {0, kMultiplier.max}));
  attention.clip_qkv = static_cast<float>(clip);
  INGOT_TRY(attention.window,
            config.integer_or("attention.sliding_window", family.window, {0, limits::kContext}));
  attention.qk_norm = family.qk_norm;
  attention.qk_norm_spec = spec.norm;
  attention.norm_after_rope = family.norm_after_rope;
  attention.uses_alibi = family.uses_alibi;
  return attention;
}

Result<NormSpec> read_norm(const GgufConfig& config, const GgufFamily& family) {
  NormSpec norm;
  norm.kind = family.norm;
  norm.has_affine = family.has_norm_weights;
  const std::string_view key = family.norm == NormKind::kRms ? "attention.layer_norm_rms_epsilon"
                                                             : "attention.layer_norm_epsilon";
  INGOT_TRY(const double eps, config.number(key, {0, 1}));
  norm.eps = static_cast<float>(eps);
  return norm;
}

Status read_vocabulary(const GgufConfig& config, ModelSpec& spec) {
  INGOT_TRY(const Shape embedding, config.matrix_shape("token_embd.weight"));
  if (embedding[0] < 1 || embedding[0] > static_cast<uint64_t>(limits::kVocab)) {
    return config.error("vocab_size", fmt::format("the embedding has {} rows; it must have 1 to {}",
                                                  embedding[0], limits::kVocab));
  }
  spec.vocab = static_cast<int64_t>(embedding[0]);
  // Rows may be padded, so the key may say less; never more.
  INGOT_TRY(config.integer_or("vocab_size", spec.vocab, {1, spec.vocab}));
  INGOT_TRY(spec.bos_id, config.token_id("bos_token_id", spec.vocab));
  for (const std::string_view name : {"eos_token_id", "eot_token_id", "eom_token_id"}) {
    INGOT_TRY(const int32_t id, config.token_id(name, spec.vocab));
    if (id >= 0 && std::ranges::find(spec.eos_ids, id) == spec.eos_ids.end())
      spec.eos_ids.push_back(id);
  }
  return Status::ok();
}

bool any_slides(const LayerSizes& sizes) {
  return std::ranges::find(sizes.slides, 1) != sizes.slides.end();
}

int rope_of_layer(const GgufFamily& family, const ModelSpec& spec, const LayerSizes& sizes,
                  size_t layer) {
  const bool slides = sizes.slides[layer] != 0;
  const int rope = slides && spec.ropes.size() > 1 ? 1 : 0;
  if (spec.ropes.empty()) return -1;
  if (!sizes.rotates.empty()) return sizes.rotates[layer] != 0 ? rope : -1;
  switch (family.rope) {
    case RopeUse::kNowhere:
      return -1;
    case RopeUse::kSlidingLayers:
      if (!slides && any_slides(sizes)) return -1;
      break;
    case RopeUse::kThreeOfFour:
      if ((layer + 1) % 4 == 0) return -1;
      break;
    case RopeUse::kEverywhere:
      break;
  }
  return rope;
}

LayerSpec layer_spec(const GgufFamily& family, const ModelSpec& spec, const LayerSizes& sizes,
                     const AttentionSpec& attention, size_t layer) {
  AttentionSpec mixer = attention;
  mixer.heads = sizes.heads[layer];
  mixer.kv_heads = sizes.kv_heads[layer];
  if (sizes.slides[layer] == 0) mixer.window = 0;
  mixer.rope = rope_of_layer(family, spec, sizes, layer);
  LayerSpec result;
  result.form = family.form;
  result.mixer = mixer;
  result.ffn = DenseFfnSpec{sizes.ffn[layer], family.activation, family.is_gated};
  result.has_mixer_norm = family.has_mixer_norm;
  result.has_mixer_post_norm = family.has_post_norms;
  result.has_ffn_norm = family.has_ffn_norm;
  result.has_ffn_post_norm = family.has_post_norms;
  return result;
}

void name_attention(const GgufConfig& config, const AttentionSpec& attention,
                    const std::string& block, LayerSources& layer) {
  if (config.has_tensor(block + "attn_qkv.weight")) {
    const int64_t q = attention.heads * attention.key_dim;
    const int64_t k = q + attention.kv_heads * attention.key_dim;
    const int64_t v = k + attention.kv_heads * attention.value_dim;
    layer.q = linear_rows(block + "attn_qkv", 0, q);
    layer.k = linear_rows(block + "attn_qkv", q, k);
    layer.v = linear_rows(block + "attn_qkv", k, v);
  } else {
    layer.q = linear_named(block + "attn_q");
    layer.k = linear_named(block + "attn_k");
    layer.v = linear_named(block + "attn_v");
  }
  layer.o = linear_named(block + "attn_output");
  if (attention.qk_norm != QkNorm::kNone) {
    layer.q_norm = norm_named(block + "attn_q_norm");
    layer.k_norm = norm_named(block + "attn_k_norm");
  }
}

void name_ffn(const GgufConfig& config, const DenseFfnSpec& ffn, const std::string& block,
              LayerSources& layer) {
  layer.up = linear_named(block + "ffn_up");
  layer.down = linear_named(block + "ffn_down");
  if (!ffn.is_gated) return;
  if (config.has_tensor(block + "ffn_gate.weight")) {
    layer.gate = linear_named(block + "ffn_gate");
  } else {  // Phi-3, GLM: gate and up in one
    layer.gate = linear_rows(block + "ffn_up", 0, ffn.hidden);
    layer.up = linear_rows(block + "ffn_up", ffn.hidden, 2 * ffn.hidden);
  }
}

LayerSources layer_sources(const GgufConfig& config, const GgufFamily& family,
                           const LayerSpec& spec, size_t index) {
  const std::string block = fmt::format("blk.{}.", index);
  LayerSources layer;
  if (family.has_norm_weights) {
    if (spec.has_mixer_norm) layer.mixer_norm = norm_named(block + "attn_norm");
    if (spec.has_mixer_post_norm) layer.mixer_post_norm = norm_named(block + "post_attention_norm");
    if (spec.has_ffn_norm) layer.ffn_norm = norm_named(block + std::string(family.ffn_norm));
    if (spec.has_ffn_post_norm) layer.ffn_post_norm = norm_named(block + "post_ffw_norm");
  }
  name_attention(config, std::get<AttentionSpec>(spec.mixer), block, layer);
  name_ffn(config, std::get<DenseFfnSpec>(spec.ffn), block, layer);
  return layer;
}

void name_model(const GgufConfig& config, ModelPlan& plan) {
  WeightMap& weights = plan.weights;
  weights.embedding = TensorSource::named("token_embd.weight");
  if (plan.spec.norm.has_affine) weights.final_norm = norm_named("output_norm");
  plan.spec.ties_output = !config.has_tensor("output.weight");
  if (!plan.spec.ties_output) weights.output.weight = TensorSource::named("output.weight");
  weights.output.bias = TensorSource::optional("output.bias");
  if (plan.spec.ropes.empty()) return;
  if (plan.spec.ropes.front().scaling == RopeScaling::kLongRope) {
    weights.rope_short_factors = TensorSource::named("rope_factors_short.weight");
    weights.rope_long_factors = TensorSource::named("rope_factors_long.weight");
  } else {
    weights.rope_short_factors = TensorSource::optional("rope_freqs.weight");
  }
}

}  // namespace

Result<ModelPlan> map_gguf_decoder(const GgufConfig& config, const GgufFamily& family) {
  INGOT_TRY(const int64_t experts, config.integer_or("expert_count", 0, {0, limits::kExperts}));
  if (experts > 1)
    return config.unsupported("expert_count", "models with experts cannot be loaded yet");
  ModelPlan plan;
  ModelSpec& spec = plan.spec;
  spec.architecture = config.architecture();
  INGOT_TRY(const int64_t layers, read_layers(config));
  INGOT_TRY(spec.hidden, config.integer("embedding_length", {1, limits::kHidden}));
  INGOT_TRY(spec.context, config.integer("context_length", {1, limits::kContext}));
  INGOT_TRY(read_vocabulary(config, spec));
  INGOT_TRY(spec.norm, read_norm(config, family));
  INGOT_TRY(LayerSizes sizes, read_sizes(config, layers));
  INGOT_TRY(const AttentionSpec attention,
            read_attention(config, family, spec, sizes.heads.front()));
  INGOT_TRY(sizes.slides, read_windows(config, family, attention.window, layers));
  INGOT_TRY(sizes.rotates, config.per_layer_or("attention.rope_pattern", layers, {}, {0, 1}));
  INGOT_TRY(spec.ropes, read_gguf_ropes(config, family, attention.key_dim, spec.context));
  if (!any_slides(sizes) && spec.ropes.size() > 1) spec.ropes.pop_back();
  INGOT_TRY(const double softcap,
            config.number_or("final_logit_softcapping", 0, {0, kMultiplier.max}));
  spec.logit_softcap = static_cast<float>(softcap);
  for (size_t i = 0; i < static_cast<size_t>(layers); ++i) {
    spec.layers.push_back(layer_spec(family, spec, sizes, attention, i));
    plan.weights.layers.push_back(layer_sources(config, family, spec.layers.back(), i));
  }
  name_model(config, plan);
  return plan;
}

}  // namespace ingot
