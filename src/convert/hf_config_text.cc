// SPDX-License-Identifier: Apache-2.0
#include "convert/hf_config_text.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <variant>

#include "convert/gguf_keys.h"

namespace ingot {
namespace {

struct HfFamily {
  std::string_view gguf;
  std::string_view model_type;
  std::string_view class_name;
  std::string_view eps_key = "rms_norm_eps";
  std::string_view activation_key = "hidden_act";
};

constexpr HfFamily kFamilies[] = {
    {"arcee", "arcee", "ArceeForCausalLM"},
    {"bloom", "bloom", "BloomForCausalLM", "layer_norm_epsilon"},
    {"chatglm", "glm", "GlmForCausalLM"},
    {"cohere2", "cohere2", "Cohere2ForCausalLM", "layer_norm_eps"},
    {"command-r", "cohere", "CohereForCausalLM", "layer_norm_eps"},
    {"ernie4_5", "ernie4_5", "Ernie4_5ForCausalLM"},
    {"exaone", "exaone", "ExaoneForCausalLM", "layer_norm_epsilon", "activation_function"},
    {"exaone4", "exaone4", "Exaone4ForCausalLM"},
    {"falcon", "falcon", "FalconForCausalLM", "layer_norm_epsilon", "activation"},
    {"gemma", "gemma", "GemmaForCausalLM", "rms_norm_eps", "hidden_activation"},
    {"gemma2", "gemma2", "Gemma2ForCausalLM", "rms_norm_eps", "hidden_activation"},
    {"gemma3", "gemma3_text", "Gemma3ForCausalLM", "rms_norm_eps", "hidden_activation"},
    {"glm4", "glm4", "Glm4ForCausalLM"},
    {"gpt2", "gpt2", "GPT2LMHeadModel", "layer_norm_epsilon", "activation_function"},
    {"gptneox", "gpt_neox", "GPTNeoXForCausalLM", "layer_norm_eps"},
    {"granite", "granite", "GraniteForCausalLM"},
    {"internlm2", "internlm2", "InternLM2ForCausalLM"},
    {"llama", "llama", "LlamaForCausalLM"},
    {"minicpm", "minicpm", "MiniCPMForCausalLM"},
    {"nemotron", "nemotron", "NemotronForCausalLM", "norm_eps"},
    {"olmo", "olmo", "OlmoForCausalLM"},
    {"olmo2", "olmo2", "Olmo2ForCausalLM"},
    {"phi2", "phi", "PhiForCausalLM", "layer_norm_eps"},
    {"phi3", "phi3", "Phi3ForCausalLM"},
    {"qwen2", "qwen2", "Qwen2ForCausalLM"},
    {"qwen3", "qwen3", "Qwen3ForCausalLM"},
    {"seed_oss", "seed_oss", "SeedOssForCausalLM"},
    {"smollm3", "smollm3", "SmolLM3ForCausalLM"},
    {"stablelm", "stablelm", "StableLmForCausalLM", "layer_norm_eps"},
    {"starcoder", "gpt_bigcode", "GPTBigCodeForCausalLM", "layer_norm_epsilon",
     "activation_function"},
    {"starcoder2", "starcoder2", "Starcoder2ForCausalLM", "norm_epsilon"},
};

const AttentionSpec& attention_of(const LayerSpec& layer) {
  return std::get<AttentionSpec>(layer.mixer);
}

// Floats of a file as the shortest decimal that is the same float: 1e-05, not 9.99999974e-06.
double shortest(float value) {
  return std::stod(fmt::format("{}", value));
}

const char* name_of(Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return "gelu";
    case Activation::kGeluTanh:
      return "gelu_pytorch_tanh";
    case Activation::kReluSquared:
      return "relu2";
    case Activation::kSilu:
      return "silu";
    default:
      return "relu";
  }
}

// Llama 3's stretch from its divisors: two numbers are everybody's, two are searched.
std::optional<Json> llama3_of(const std::vector<float>& divisors, const RopeSpec& rope) {
  RopeSpec tried = rope;
  tried.scaling = RopeScaling::kLlama3;
  tried.factor = shortest(*std::ranges::max_element(divisors));
  for (const double low : {1.0, 2.0}) {
    for (int64_t original = 16; original <= 1 << 22; original *= 2) {
      tried.original_context = original;
      tried.low_freq_factor = low;
      tried.high_freq_factor = 4;
      const std::vector<float> made = rope_divisors(tried);
      const bool is_same = std::ranges::equal(
          made, divisors, [](float a, float b) { return std::abs(a - b) <= 1e-5F * b; });
      if (!is_same) continue;
      return Json{{"rope_type", "llama3"},
                  {"factor", tried.factor},
                  {"low_freq_factor", low},
                  {"high_freq_factor", 4.0},
                  {"original_max_position_embeddings", original}};
    }
  }
  return std::nullopt;
}

Result<Json> scaling_of(const RopeSpec& rope, const TensorFacts& facts) {
  if (!facts.rope_freqs.empty()) {
    if (auto found = llama3_of(facts.rope_freqs, rope)) return *found;
    return Status::unsupported("the rope divisors of this file are not Llama 3's");
  }
  switch (rope.scaling) {
    case RopeScaling::kLinear:
      return Json{{"rope_type", "linear"}, {"factor", rope.factor}};
    case RopeScaling::kYarn: {
      Json scaling = {{"rope_type", "yarn"},
                      {"factor", rope.factor},
                      {"original_max_position_embeddings", rope.original_context}};
      if (rope.beta_fast != 32) scaling["beta_fast"] = rope.beta_fast;
      if (rope.beta_slow != 1) scaling["beta_slow"] = rope.beta_slow;
      if (rope.attention_factor != 0) scaling["attention_factor"] = rope.attention_factor;
      if (rope.mscale_all_dim != 0) {
        scaling["mscale"] = rope.mscale;
        scaling["mscale_all_dim"] = rope.mscale_all_dim;
      }
      return scaling;
    }
    case RopeScaling::kLongRope: {
      Json scaling = {{"rope_type", "longrope"},
                      {"short_factor", Json::array()},
                      {"long_factor", Json::array()}};
      for (const float value : facts.rope_short)
        scaling["short_factor"].push_back(shortest(value));
      for (const float value : facts.rope_long)
        scaling["long_factor"].push_back(shortest(value));
      if (rope.attention_factor != 0) scaling["attention_factor"] = rope.attention_factor;
      return scaling;
    }
    default:
      return Json();
  }
}

Status set_ropes(const ModelSpec& spec, const TensorFacts& facts, Json& config) {
  if (spec.ropes.empty()) return Status::ok();
  const RopeSpec& rope = spec.ropes.front();
  const double theta = shortest(static_cast<float>(rope.theta));
  config["rope_theta"] = theta;
  config["rotary_emb_base"] = theta;
  const int64_t head = attention_of(spec.layers.front()).key_dim;
  const double share = static_cast<double>(rope.rotary_dim) / static_cast<double>(head);
  config["partial_rotary_factor"] = share;
  config["rotary_pct"] = share;
  if (spec.ropes.size() > 1)
    config["rope_local_base_freq"] = shortest(static_cast<float>(spec.ropes[1].theta));
  INGOT_TRY(const Json scaling, scaling_of(rope, facts));
  if (!scaling.is_null()) config["rope_scaling"] = scaling;
  if (rope.scaling == RopeScaling::kLongRope)
    config["original_max_position_embeddings"] = rope.original_context;
  return Status::ok();
}

void set_attention(const ModelSpec& spec, const TensorFacts& facts, Json& config) {
  const AttentionSpec& first = attention_of(spec.layers.front());
  config["attention_bias"] = facts.has_qkv_bias;
  config["attention_out_bias"] = facts.has_o_bias;
  config["use_qkv_bias"] = facts.has_qkv_bias;
  config["mlp_bias"] = facts.has_ffn_bias;
  config["use_bias"] = facts.has_ffn_bias;
  config["bias"] = facts.has_o_bias;
  int64_t window = 0;
  Json types = Json::array();
  Json turns = Json::array();
  for (const LayerSpec& layer : spec.layers) {
    window = std::max(window, attention_of(layer).window);
    types.push_back(attention_of(layer).window > 0 ? "sliding_attention" : "full_attention");
    turns.push_back(attention_of(layer).rope >= 0 ? 1 : 0);
  }
  config["sliding_window"] = window > 0 ? Json(window) : Json();
  if (window > 0) {
    config["use_sliding_window"] = true;
    config["layer_types"] = types;
  }
  config["no_rope_layers"] = turns;
  config["qk_layernorm"] = first.qk_norm != QkNorm::kNone;
  config["use_qk_norm"] = first.qk_norm != QkNorm::kNone;
  config["query_pre_attn_scalar"] =
      std::round(1e6 / (static_cast<double>(first.scale) * static_cast<double>(first.scale))) / 1e6;
  config["attn_logit_softcapping"] = first.softcap != 0 ? Json(shortest(first.softcap)) : Json();
  config["final_logit_softcapping"] =
      spec.logit_softcap != 0 ? Json(shortest(spec.logit_softcap)) : Json();
  if (first.clip_qkv != 0) config["clip_qkv"] = shortest(first.clip_qkv);
}

void set_family(const ModelSpec& spec, const HfFamily& family, Json& config) {
  const LayerSpec& layer = spec.layers.front();
  const AttentionSpec& first = attention_of(layer);
  const bool is_parallel = layer.form == BlockForm::kParallel;
  config["use_parallel_residual"] = is_parallel;
  if (family.gguf == "command-r" || family.gguf == "cohere2")
    config["logit_scale"] = shortest(spec.logit_scale);
  if (family.gguf == "granite") {
    config["embedding_multiplier"] = shortest(spec.embedding_scale);
    config["residual_multiplier"] = shortest(spec.residual_scale);
    config["attention_multiplier"] = shortest(first.scale);
    config["logits_scaling"] = shortest(1 / spec.logit_scale);
  }
  if (family.gguf == "minicpm") {
    config["scale_emb"] = shortest(spec.embedding_scale);
    config["scale_depth"] = static_cast<double>(spec.residual_scale) *
                            std::sqrt(static_cast<double>(spec.layers.size()));
    config["dim_model_base"] =
        std::round(static_cast<double>(spec.logit_scale) * static_cast<double>(spec.hidden));
  }
  if (family.gguf == "falcon") {
    config["new_decoder_architecture"] = layer.has_ffn_norm;
    config["multi_query"] = first.kv_heads == 1;
    config["num_kv_heads"] = first.kv_heads;
    config["parallel_attn"] = is_parallel;
    config["alibi"] = false;
    config["ffn_hidden_size"] = std::get<DenseFfnSpec>(layer.ffn).hidden;
  }
  if (family.gguf == "gpt2" || family.gguf == "starcoder") {
    config["n_embd"] = spec.hidden;
    config["n_layer"] = spec.layers.size();
    config["n_head"] = first.heads;
    config["n_inner"] = std::get<DenseFfnSpec>(layer.ffn).hidden;
    config["n_positions"] = spec.learned_positions;
    config["multi_query"] = first.kv_heads == 1;
  }
  if (family.gguf == "bloom") {
    config["n_layer"] = spec.layers.size();
    config["n_head"] = first.heads;
    config["seq_length"] = spec.context;
  }
  if (family.gguf == "exaone") config["num_layers"] = spec.layers.size();
}

}  // namespace

Result<Json> make_hf_config(const ModelSpec& spec, std::string_view gguf_architecture,
                            const TensorFacts& facts, std::string_view dtype) {
  const auto* const found = std::ranges::find(kFamilies, gguf_architecture, &HfFamily::gguf);
  if (found == std::end(kFamilies)) {
    return Status::unsupported("GGUF's '{}' has no Hugging Face architecture that we write",
                               gguf_architecture);
  }
  HfFamily family = *found;
  const AttentionSpec& first = attention_of(spec.layers.front());
  const auto& ffn = std::get<DenseFfnSpec>(spec.layers.front().ffn);
  const bool slides = std::ranges::any_of(
      spec.layers, [](const LayerSpec& layer) { return attention_of(layer).window > 0; });
  if (slides && family.gguf == "llama") {
    family.model_type = "mistral";
    family.class_name = "MistralForCausalLM";
  }
  if (slides && family.gguf == "olmo2") {
    family.model_type = "olmo3";
    family.class_name = "Olmo3ForCausalLM";
  }
  Json config = {{"architectures", Json::array({std::string(family.class_name)})},
                 {"model_type", std::string(family.model_type)},
                 {"torch_dtype", std::string(dtype)},
                 {"vocab_size", spec.vocab},
                 {"hidden_size", spec.hidden},
                 {"intermediate_size", ffn.hidden},
                 {"num_hidden_layers", spec.layers.size()},
                 {"num_attention_heads", first.heads},
                 {"num_key_value_heads", first.kv_heads},
                 {"head_dim", first.key_dim},
                 {"max_position_embeddings", spec.context},
                 {"tie_word_embeddings", spec.ties_output}};
  config[std::string(family.eps_key)] = shortest(spec.norm.eps);
  config[std::string(family.activation_key)] = name_of(ffn.activation);
  INGOT_TRY(set_ropes(spec, facts, config));
  set_attention(spec, facts, config);
  set_family(spec, family, config);
  if (spec.bos_id >= 0) config["bos_token_id"] = spec.bos_id;
  if (spec.eos_ids.size() == 1) config["eos_token_id"] = spec.eos_ids.front();
  if (spec.eos_ids.size() > 1) config["eos_token_id"] = spec.eos_ids;
  return config;
}

}  // namespace ingot
