// SPDX-License-Identifier: Apache-2.0
#include "model/hf_decoder.h"

#include <cmath>

#include "base/limits.h"

namespace ingot {
namespace {

Result<Activation> read_activation(const HfConfig& config, const DecoderFamily& family) {
  INGOT_TRY(const std::string name, config.string_or(family.activation_key, family.activation));
  const std::optional<Activation> activation = activation_named(name);
  if (activation) return *activation;
  return config.unsupported(family.activation_key, fmt::format("unknown activation '{}'", name));
}

Status read_heads(const HfConfig& config, const DecoderFamily& family, HfDecoder& decoder) {
  AttentionSpec& attention = decoder.attention;
  INGOT_TRY(attention.heads,
            config.integer_or(family.heads_key, family.heads, {1, limits::kHeads}));
  const bool has_default_kv = family.kv_heads > 0 && !config.is_null(family.kv_heads_key);
  INGOT_TRY(
      attention.kv_heads,
      config.integer_or(family.kv_heads_key, has_default_kv ? family.kv_heads : attention.heads,
                        {1, limits::kHeads}));
  if (attention.heads % attention.kv_heads != 0) {
    return config.error(family.kv_heads_key,
                        fmt::format("{} does not divide the {} attention heads", attention.kv_heads,
                                    attention.heads));
  }
  if (attention.heads * decoder.layers > limits::kHeadsOfAllLayers) {
    return config.error(family.heads_key,
                        fmt::format("{} heads in each of {} layers are more than {} in all",
                                    attention.heads, decoder.layers, limits::kHeadsOfAllLayers));
  }
  if (config.has(family.head_dim_key)) {
    INGOT_TRY(attention.key_dim, config.integer(family.head_dim_key, {1, limits::kHeadDim}));
  } else if (family.head_dim > 0 && !config.is_null(family.head_dim_key)) {
    attention.key_dim = family.head_dim;
  } else {
    const int64_t hidden = decoder.spec.hidden;
    if (hidden % attention.heads != 0) {
      return config.error(
          family.hidden_key,
          fmt::format("{} is not a multiple of the {} attention heads", hidden, attention.heads));
    }
    attention.key_dim = hidden / attention.heads;
    if (attention.key_dim > limits::kHeadDim) {
      return config.error(family.hidden_key,
                          fmt::format("{} over {} heads makes heads of more than {}", hidden,
                                      attention.heads, limits::kHeadDim));
    }
  }
  attention.value_dim = attention.key_dim;
  attention.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(attention.key_dim)));
  return Status::ok();
}

Status read_special_tokens(const HfConfig& config, const DecoderFamily& family, ModelSpec& spec) {
  const auto default_id = [&](int32_t id) { return id < spec.vocab ? id : -1; };
  INGOT_TRY(const int64_t bos,
            config.integer_or("bos_token_id", default_id(family.bos), {-1, spec.vocab - 1}));
  spec.bos_id = static_cast<int32_t>(bos);
  std::vector<int64_t> eos = {default_id(family.eos)};
  if (config.has("eos_token_id")) {
    INGOT_TRY(eos, config.integers("eos_token_id", {-1, spec.vocab - 1}));
  }
  for (const int64_t id : eos) {
    if (id >= 0) spec.eos_ids.push_back(static_cast<int32_t>(id));
  }
  return Status::ok();
}

}  // namespace

Result<HfDecoder> read_decoder(const HfConfig& config, const DecoderFamily& family) {
  HfDecoder decoder;
  ModelSpec& spec = decoder.spec;
  spec.architecture = family.architecture;
  INGOT_TRY(spec.vocab, config.integer_or("vocab_size", family.vocab, {1, limits::kVocab}));
  INGOT_TRY(spec.hidden, config.integer_or(family.hidden_key, family.hidden, {1, limits::kHidden}));
  INGOT_TRY(decoder.layers,
            config.integer_or(family.layers_key, family.layers, {1, limits::kLayers}));
  INGOT_TRY(spec.context,
            config.integer_or(family.context_key, family.context, {1, limits::kContext}));
  INGOT_TRY(read_heads(config, family, decoder));

  const int64_t ffn = family.ffn > 0 ? family.ffn : 4 * spec.hidden;
  INGOT_TRY(decoder.ffn.hidden, config.integer_or(family.ffn_key, ffn, {1, limits::kHidden}));
  INGOT_TRY(decoder.ffn.activation, read_activation(config, family));

  spec.norm.kind = family.norm;
  INGOT_TRY(spec.norm.eps, read_real(config, family.norm_eps_key, family.norm_eps, {0, 1}));
  INGOT_TRY(spec.ties_output, config.boolean_or("tie_word_embeddings", family.ties_output));
  INGOT_TRY(read_special_tokens(config, family, spec));
  return decoder;
}

Result<float> read_real(const HfConfig& config, std::string_view key, double fallback,
                        RealRange range) {
  if (!config.has(key)) return static_cast<float>(fallback);
  INGOT_TRY(const double value, config.number(key));
  if (value < range.min || value > range.max)
    return config.error(key, fmt::format("{} is outside [{}, {}]", value, range.min, range.max));
  return static_cast<float>(value);
}

Result<int64_t> read_window(const HfConfig& config, int64_t fallback) {
  if (config.is_null("sliding_window")) return 0;
  return config.integer_or("sliding_window", fallback, {1, limits::kContext});
}

Result<std::vector<bool>> read_sliding_layers(const HfConfig& config, int64_t layers,
                                              const std::function<bool(int64_t layer)>& rule) {
  std::vector<bool> slides;
  if (!config.has("layer_types")) {
    for (int64_t layer = 0; layer < layers; ++layer)
      slides.push_back(rule(layer));
    return slides;
  }
  INGOT_TRY(const std::vector<std::string> types, config.strings("layer_types"));
  if (static_cast<int64_t>(types.size()) != layers) {
    return config.error("layer_types",
                        fmt::format("has {} entries for {} layers", types.size(), layers));
  }
  for (const std::string& type : types) {
    if (type != "sliding_attention" && type != "full_attention") {
      return config.unsupported("layer_types", fmt::format("unknown layer type '{}'", type));
    }
    slides.push_back(type == "sliding_attention");
  }
  return slides;
}

Result<int64_t> read_window_pattern(const HfConfig& config, int64_t fallback) {
  return config.integer_or("sliding_window_pattern", fallback, {1, limits::kLayers});
}

}  // namespace ingot
