// SPDX-License-Identifier: Apache-2.0
#include "model/gguf_archs.h"

#include <algorithm>
#include <cmath>

#include "base/limits.h"
#include "model/gguf_decoder.h"

namespace ingot {
namespace {

constexpr NumberRange kMultiplier = {1e-9, 1e9};

constexpr GgufFamily kLlama = {.pairing = RopePairing::kNeighbours};

constexpr GgufFamily kGemma = {.activation = Activation::kGeluTanh};

// GPT-2 and its kin: layer norms, two linears in the FFN, no rope.
constexpr GgufFamily kGpt = {.norm = NormKind::kLayer,
                             .rope = RopeUse::kNowhere,
                             .activation = Activation::kGeluTanh,
                             .is_gated = false};

constexpr GgufFamily kCohere = {.norm = NormKind::kLayer,
                                .pairing = RopePairing::kNeighbours,
                                .form = BlockForm::kParallel,
                                .has_ffn_norm = false};

AttentionSpec& attention_of(LayerSpec& layer) {
  return std::get<AttentionSpec>(layer.mixer);
}

void set_attention_scale(double scale, ModelPlan& plan) {
  for (LayerSpec& layer : plan.spec.layers)
    attention_of(layer).scale = static_cast<float>(scale);
}

// The stored norm weights have Gemma's "+ 1" in them already.
Result<ModelPlan> gemma_plan(const GgufConfig& config, const GgufFamily& family) {
  INGOT_TRY(ModelPlan plan, map_gguf_decoder(config, family));
  plan.spec.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(plan.spec.hidden)));
  return plan;
}

// The 27B models divide by another width than their heads', and no key says so.
void scale_like_gemma_27b(const GgufConfig& config, size_t layers_of_27b, ModelPlan& plan) {
  if (config.has("attention.scale") || plan.spec.layers.size() != layers_of_27b) return;
  const int64_t width = plan.spec.hidden / attention_of(plan.spec.layers.front()).heads;
  set_attention_scale(1.0 / std::sqrt(static_cast<double>(width)), plan);
}

Status add_learned_positions(const GgufConfig& config, ModelPlan& plan) {
  INGOT_TRY(const Shape table, config.matrix_shape("position_embd.weight"));
  if (table[0] < 1 || table[0] > static_cast<uint64_t>(limits::kVocab))
    return config.error("context_length", fmt::format("{} learned positions", table[0]));
  plan.spec.learned_positions = static_cast<int64_t>(table[0]);
  plan.spec.context = std::min(plan.spec.context, plan.spec.learned_positions);
  plan.weights.position_embedding = TensorSource::named("position_embd.weight");
  return Status::ok();
}

// Granite's and MiniCPM's three multipliers; their logits are divided.
Status read_multipliers(const GgufConfig& config, double embedding, double residual, double logits,
                        ModelSpec& spec) {
  INGOT_TRY(const double embedding_scale,
            config.number_or("embedding_scale", embedding, kMultiplier));
  INGOT_TRY(const double residual_scale, config.number_or("residual_scale", residual, kMultiplier));
  INGOT_TRY(const double divisor, config.number_or("logit_scale", 1 / logits, kMultiplier));
  spec.embedding_scale = static_cast<float>(embedding_scale);
  spec.residual_scale = static_cast<float>(residual_scale);
  spec.logit_scale = static_cast<float>(1 / divisor);
  return Status::ok();
}

}  // namespace

Result<ModelPlan> map_gguf_gemma(const GgufMetadata& metadata, const Checkpoint& checkpoint) {
  INGOT_TRY(const GgufConfig config, GgufConfig::open(metadata, checkpoint));
  return gemma_plan(config, kGemma);
}

Result<ModelPlan> map_gguf_gemma2(const GgufMetadata& metadata, const Checkpoint& checkpoint) {
  INGOT_TRY(const GgufConfig config, GgufConfig::open(metadata, checkpoint));
  GgufFamily family = kGemma;
  family.has_post_norms = true;
  family.window = 4096;
  family.window_period = 2;
  INGOT_TRY(ModelPlan plan, gemma_plan(config, family));
  scale_like_gemma_27b(config, 46, plan);
  return plan;
}

Result<ModelPlan> map_gguf_gemma3(const GgufMetadata& metadata, const Checkpoint& checkpoint) {
  INGOT_TRY(const GgufConfig config, GgufConfig::open(metadata, checkpoint));
  GgufFamily family = kGemma;
  family.has_post_norms = true;
  family.qk_norm = QkNorm::kPerHead;
  family.window_period = 6;
  family.sliding_theta = 10000;
  family.has_plain_sliding_rope = true;
  INGOT_TRY(ModelPlan plan, gemma_plan(config, family));
  scale_like_gemma_27b(config, 62, plan);
  return plan;
}

Result<ModelPlan> map_gguf_gpt2(const GgufMetadata& metadata, const Checkpoint& checkpoint) {
  INGOT_TRY(const GgufConfig config, GgufConfig::open(metadata, checkpoint));
  INGOT_TRY(ModelPlan plan, map_gguf_decoder(config, kGpt));
  INGOT_TRY(add_learned_positions(config, plan));
  return plan;
}

Result<ModelPlan> map_gguf_bloom(const GgufMetadata& metadata, const Checkpoint& checkpoint) {
  INGOT_TRY(const GgufConfig config, GgufConfig::open(metadata, checkpoint));
  GgufFamily family = kGpt;
  family.uses_alibi = true;
  INGOT_TRY(ModelPlan plan, map_gguf_decoder(config, family));
  plan.spec.has_embedding_norm = true;
  plan.weights.embedding_norm = {TensorSource::named("token_embd_norm.weight"),
                                 TensorSource::optional("token_embd_norm.bias")};
  return plan;
}

Result<ModelPlan> map_gguf_mpt(const GgufMetadata& metadata, const Checkpoint& checkpoint) {
  INGOT_TRY(const GgufConfig config, GgufConfig::open(metadata, checkpoint));
  GgufFamily family = kGpt;
  family.activation = Activation::kGelu;
  INGOT_TRY(const double bias,
            config.number_or("attention.max_alibi_bias", 0, {0, kMultiplier.max}));
  if (bias != 0 && bias != 8)
    return config.unsupported("attention.max_alibi_bias", fmt::format("{} is not 8", bias));
  family.uses_alibi = bias != 0;
  if (config.has_tensor("blk.0.attn_q_norm.weight")) family.qk_norm = QkNorm::kWhole;
  if (config.has_tensor("blk.0.ffn.act.scales"))
    return config.unsupported("feed_forward_length", "scaled activations cannot be loaded");
  INGOT_TRY(ModelPlan plan, map_gguf_decoder(config, family));
  if (config.has_tensor("position_embd.weight")) INGOT_TRY(add_learned_positions(config, plan));
  return plan;
}

Result<ModelPlan> map_gguf_gptneox(const GgufMetadata& metadata, const Checkpoint& checkpoint) {
  INGOT_TRY(const GgufConfig config, GgufConfig::open(metadata, checkpoint));
  GgufFamily family = {
      .norm = NormKind::kLayer, .activation = Activation::kGelu, .is_gated = false};
  INGOT_TRY(const bool is_parallel, config.boolean("use_parallel_residual"));
  if (is_parallel) family.form = BlockForm::kParallel;
  return map_gguf_decoder(config, family);
}

Result<ModelPlan> map_gguf_falcon(const GgufMetadata& metadata, const Checkpoint& checkpoint) {
  INGOT_TRY(const GgufConfig config, GgufConfig::open(metadata, checkpoint));
  // With two norms (40B and later) the branches have one each; the file numbers attention's second.
  const bool has_two = config.has_tensor("blk.0.attn_norm_2.weight");
  const GgufFamily family = {.norm = NormKind::kLayer,
                             .activation = Activation::kGelu,
                             .is_gated = false,
                             .form = BlockForm::kParallel,
                             .has_ffn_norm = has_two};
  INGOT_TRY(ModelPlan plan, map_gguf_decoder(config, family));
  for (size_t i = 0; has_two && i < plan.weights.layers.size(); ++i) {
    LayerSources& layer = plan.weights.layers[i];
    layer.ffn_norm = layer.mixer_norm;
    layer.mixer_norm = {TensorSource::named(fmt::format("blk.{}.attn_norm_2.weight", i)),
                        TensorSource::optional(fmt::format("blk.{}.attn_norm_2.bias", i))};
  }
  return plan;
}

Result<ModelPlan> map_gguf_stablelm(const GgufMetadata& metadata, const Checkpoint& checkpoint) {
  INGOT_TRY(const GgufConfig config, GgufConfig::open(metadata, checkpoint));
  GgufFamily family = {.norm = NormKind::kLayer};
  if (config.has_tensor("blk.0.attn_q_norm.weight")) family.qk_norm = QkNorm::kPerHeadWeights;
  if (!config.has_tensor("blk.0.ffn_norm.weight")) {  // the 12B
    family.form = BlockForm::kParallel;
    family.has_ffn_norm = false;
  }
  return map_gguf_decoder(config, family);
}

Result<ModelPlan> map_gguf_command_r(const GgufMetadata& metadata, const Checkpoint& checkpoint) {
  INGOT_TRY(const GgufConfig config, GgufConfig::open(metadata, checkpoint));
  GgufFamily family = kCohere;
  if (config.has_tensor("blk.0.attn_q_norm.weight")) family.qk_norm = QkNorm::kPerHeadWeights;
  INGOT_TRY(ModelPlan plan, map_gguf_decoder(config, family));
  INGOT_TRY(const double scale, config.number_or("logit_scale", 1, kMultiplier));
  plan.spec.logit_scale = static_cast<float>(scale);
  return plan;
}

Result<ModelPlan> map_gguf_cohere2(const GgufMetadata& metadata, const Checkpoint& checkpoint) {
  INGOT_TRY(const GgufConfig config, GgufConfig::open(metadata, checkpoint));
  GgufFamily family = kCohere;
  family.rope = RopeUse::kSlidingLayers;
  family.window_period = 4;
  INGOT_TRY(ModelPlan plan, map_gguf_decoder(config, family));
  INGOT_TRY(const double scale, config.number("logit_scale", kMultiplier));
  plan.spec.logit_scale = static_cast<float>(scale);
  return plan;
}

Result<ModelPlan> map_gguf_granite(const GgufMetadata& metadata, const Checkpoint& checkpoint) {
  INGOT_TRY(const GgufConfig config, GgufConfig::open(metadata, checkpoint));
  GgufFamily family = kLlama;
  if (config.has("rope.scaling.finetuned")) {  // the key that Granite 4 files without rope have
    INGOT_TRY(const bool has_rope, config.boolean("rope.scaling.finetuned"));
    if (!has_rope) family.rope = RopeUse::kNowhere;
  }
  INGOT_TRY(ModelPlan plan, map_gguf_decoder(config, family));
  INGOT_TRY(read_multipliers(config, 1, 1, 1, plan.spec));
  return plan;
}

Result<ModelPlan> map_gguf_minicpm(const GgufMetadata& metadata, const Checkpoint& checkpoint) {
  INGOT_TRY(const GgufConfig config, GgufConfig::open(metadata, checkpoint));
  INGOT_TRY(ModelPlan plan, map_gguf_decoder(config, kLlama));
  // Early files have no keys for them: these are MiniCPM 2B's.
  const double residual = 1.4 / std::sqrt(static_cast<double>(plan.spec.layers.size()));
  const double logits = 256.0 / static_cast<double>(plan.spec.hidden);
  INGOT_TRY(read_multipliers(config, 12, residual, logits, plan.spec));
  return plan;
}

Result<ModelPlan> map_gguf_glm4(const GgufMetadata& metadata, const Checkpoint& checkpoint) {
  INGOT_TRY(const GgufConfig config, GgufConfig::open(metadata, checkpoint));
  // The vision models' files are rearranged for rotated halves. Their sections all turn alike for
  // text.
  const bool has_sections = config.has("rope.dimension_sections");
  return map_gguf_decoder(
      config, {.pairing = has_sections ? RopePairing::kHalves : RopePairing::kNeighbours,
               .has_post_norms = true});
}

Result<ModelPlan> map_gguf_mistral3(const GgufMetadata& metadata, const Checkpoint& checkpoint) {
  INGOT_TRY(const GgufConfig config, GgufConfig::open(metadata, checkpoint));
  INGOT_TRY(ModelPlan plan, map_gguf_decoder(config, kLlama));
  INGOT_TRY(const double temperature,
            config.number_or("attention.temperature_scale", 0, {0, kMultiplier.max}));
  // Queries are scaled by a power of the position, which is 1 up to the length trained first.
  if (temperature != 0)
    plan.spec.context = std::min(plan.spec.context, plan.spec.ropes.front().original_context);
  return plan;
}

Result<ModelPlan> map_gguf_baichuan(const GgufMetadata& metadata, const Checkpoint& checkpoint) {
  INGOT_TRY(const GgufConfig config, GgufConfig::open(metadata, checkpoint));
  INGOT_TRY(const int64_t layers, config.integer("block_count", {1, limits::kLayers}));
  GgufFamily family = kLlama;
  if (layers == 40) {  // the 13B, known by its depth alone
    family.rope = RopeUse::kNowhere;
    family.uses_alibi = true;
  }
  return map_gguf_decoder(config, family);
}

}  // namespace ingot
