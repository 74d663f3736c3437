// SPDX-License-Identifier: Apache-2.0
#include "convert/gguf_keys.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <variant>

namespace ingot {
namespace {

const AttentionSpec& layer_attention(const LayerSpec& layer) {
  return std::get<AttentionSpec>(layer.mixer);
}

class KeyWriter {
 public:
  KeyWriter(std::string_view architecture, GgufKeyValues& values)
      : architecture_(architecture), values_(values) {}

  void integer(std::string_view key, int64_t value) {
    values_.set(full(key), static_cast<uint32_t>(value));
  }
  void number(std::string_view key, double value) {
    values_.set(full(key), static_cast<float>(value));
  }
  void text(std::string_view key, const std::string& value) { values_.set(full(key), value); }
  void flag(std::string_view key, bool value) { values_.set(full(key), value); }
  void flags(std::string_view key, const std::vector<bool>& value) {
    values_.set(full(key), value);
  }
  // One number when all layers are alike.
  template <class Of>
  void per_layer(std::string_view key, const ModelSpec& spec, const Of& of) {
    std::vector<int32_t> all;
    for (const LayerSpec& layer : spec.layers)
      all.push_back(static_cast<int32_t>(of(layer)));
    const bool is_same = std::ranges::adjacent_find(all, std::not_equal_to()) == all.end();
    if (is_same) {
      integer(key, all.front());
    } else {
      values_.set(full(key), all);
    }
  }
  std::string_view architecture() const { return architecture_; }

 private:
  std::string full(std::string_view key) const { return fmt::format("{}.{}", architecture_, key); }
  std::string_view architecture_;
  GgufKeyValues& values_;
};

// Of the scores, by longrope's own rule where the model does not say.
double longrope_factor(const RopeSpec& rope) {
  if (rope.attention_factor != 0) return rope.attention_factor;
  if (rope.factor <= 1) return 1;
  return std::sqrt(1 +
                   std::log(rope.factor) / std::log(static_cast<double>(rope.original_context)));
}

void set_rope(const ModelSpec& spec, KeyWriter& keys) {
  if (spec.ropes.empty()) {
    if (keys.architecture() == "granite") keys.flag("rope.scaling.finetuned", false);
    return;
  }
  const RopeSpec& rope = spec.ropes.front();
  keys.integer("rope.dimension_count", rope.rotary_dim);
  keys.number("rope.freq_base", rope.theta);
  if (spec.ropes.size() > 1 && spec.ropes[1].theta != rope.theta)
    keys.number("rope.freq_base_swa", spec.ropes[1].theta);
  switch (rope.scaling) {
    case RopeScaling::kLinear:
      keys.text("rope.scaling.type", "linear");
      keys.number("rope.scaling.factor", rope.factor);
      break;
    case RopeScaling::kYarn:
      keys.text("rope.scaling.type", "yarn");
      keys.number("rope.scaling.factor", rope.factor);
      keys.integer("rope.scaling.original_context_length", rope.original_context);
      if (rope.beta_fast != 32) keys.number("rope.scaling.yarn_beta_fast", rope.beta_fast);
      if (rope.beta_slow != 1) keys.number("rope.scaling.yarn_beta_slow", rope.beta_slow);
      if (rope.mscale_all_dim != 0)
        keys.number("rope.scaling.yarn_log_multiplier", rope.mscale_all_dim);
      if (rope.attention_factor != 0)
        keys.number("rope.scaling.yarn_attn_factor", rope.attention_factor);
      break;
    case RopeScaling::kLongRope:
      keys.integer("rope.scaling.original_context_length", rope.original_context);
      keys.number("rope.scaling.attn_factor", longrope_factor(rope));
      break;
    case RopeScaling::kNone:
    case RopeScaling::kLlama3:  // by its divisors
    case RopeScaling::kDynamic:
      break;
  }
}

void set_attention(const ModelSpec& spec, const std::set<GgufExtra>& extras, KeyWriter& keys) {
  const AttentionSpec& first = layer_attention(spec.layers.front());
  if (spec.hidden != first.heads * first.key_dim || first.key_dim != first.value_dim) {
    keys.integer("attention.key_length", first.key_dim);
    keys.integer("attention.value_length", first.value_dim);
  }
  if (extras.contains(GgufExtra::kAttentionScale) || keys.architecture() == "granite")
    keys.number("attention.scale", first.scale);
  if (first.softcap != 0) keys.number("attn_logit_softcapping", first.softcap);
  if (first.clip_qkv != 0) keys.number("attention.clamp_kqv", first.clip_qkv);
  std::vector<bool> slides;
  std::vector<bool> turns;
  int64_t window = 0;
  for (const LayerSpec& layer : spec.layers) {
    window = std::max(window, layer_attention(layer).window);
    slides.push_back(layer_attention(layer).window > 0);
    turns.push_back(layer_attention(layer).rope >= 0);
  }
  if (window > 0) keys.integer("attention.sliding_window", window);
  if (extras.contains(GgufExtra::kWindowPattern))
    keys.flags("attention.sliding_window_pattern", slides);
  if (extras.contains(GgufExtra::kRopePattern)) keys.flags("attention.rope_pattern", turns);
}

// What only some architectures have keys for.
void set_family(const ModelSpec& spec, KeyWriter& keys) {
  const std::string_view arch = keys.architecture();
  const AttentionSpec& attention = layer_attention(spec.layers.front());
  if (arch == "gptneox")
    keys.flag("use_parallel_residual", spec.layers.front().form == BlockForm::kParallel);
  if (arch == "command-r" || arch == "cohere2") keys.number("logit_scale", spec.logit_scale);
  if (arch == "granite" || arch == "minicpm") {  // these divide
    keys.number("embedding_scale", spec.embedding_scale);
    keys.number("residual_scale", spec.residual_scale);
    keys.number("logit_scale", 1.0 / static_cast<double>(spec.logit_scale));
  }
  if (arch == "mpt")
    keys.number("attention.max_alibi_bias", attention.uses_alibi ? attention.alibi_max : 0);
  if (arch == "falcon") keys.text("tensor_data_layout", "jploski");
  if (spec.logit_softcap != 0) keys.number("final_logit_softcapping", spec.logit_softcap);
}

bool is_close(double a, double b) {
  return std::abs(a - b) <= 1e-6 * std::max({1e-30, std::abs(a), std::abs(b)});
}

// The rope a layer turns by; null for none.
const RopeSpec* rope_of(const ModelSpec& spec, const LayerSpec& layer) {
  const int rope = layer_attention(layer).rope;
  return rope < 0 ? nullptr : &spec.ropes[static_cast<size_t>(rope)];
}

bool is_same_rope(const RopeSpec& wanted, const RopeSpec& found) {
  // GGUF keeps Llama 3's stretch as divisors and no key.
  const auto by_keys = [](const RopeSpec& rope) {
    return rope.scaling == RopeScaling::kLlama3 ? RopeScaling::kNone : rope.scaling;
  };
  const RopeScaling scaling = by_keys(wanted);
  if (wanted.rotary_dim != found.rotary_dim || !is_close(wanted.theta, found.theta) ||
      scaling != by_keys(found))
    return false;
  switch (scaling) {
    case RopeScaling::kLinear:
      return is_close(wanted.factor, found.factor);
    case RopeScaling::kYarn:
      return is_close(wanted.factor, found.factor) &&
             wanted.original_context == found.original_context &&
             is_close(wanted.beta_fast, found.beta_fast) &&
             is_close(wanted.beta_slow, found.beta_slow) &&
             is_close(wanted.attention_factor, found.attention_factor) &&
             is_close(wanted.mscale_all_dim, found.mscale_all_dim) &&
             (wanted.mscale_all_dim == 0 || is_close(wanted.mscale, found.mscale)) &&
             wanted.truncates == found.truncates;
    case RopeScaling::kLongRope:
      return wanted.original_context == found.original_context &&
             is_close(longrope_factor(wanted), longrope_factor(found));
    default:
      return true;
  }
}

std::optional<SpecDifference> compare_layers(const ModelSpec& wanted, const ModelSpec& found,
                                             size_t index) {
  const LayerSpec& a = wanted.layers[index];
  const LayerSpec& b = found.layers[index];
  const AttentionSpec& p = layer_attention(a);
  const AttentionSpec& q = layer_attention(b);
  if (a.form != b.form || a.has_mixer_norm != b.has_mixer_norm ||
      a.has_mixer_post_norm != b.has_mixer_post_norm || a.has_ffn_norm != b.has_ffn_norm ||
      a.has_ffn_post_norm != b.has_ffn_post_norm)
    return SpecDifference{"the order of norms and branches", std::nullopt};
  if (p.heads != q.heads || p.kv_heads != q.kv_heads || p.key_dim != q.key_dim ||
      p.value_dim != q.value_dim)
    return SpecDifference{"the heads", std::nullopt};
  if (!is_close(p.scale, q.scale))
    return SpecDifference{"the scale of the scores", GgufExtra::kAttentionScale};
  if (!is_close(p.softcap, q.softcap) || !is_close(p.clip_qkv, q.clip_qkv))
    return SpecDifference{"a bound on scores", std::nullopt};
  if (p.window != q.window) return SpecDifference{"the sliding layers", GgufExtra::kWindowPattern};
  const RopeSpec* turn = rope_of(wanted, a);
  const RopeSpec* other = rope_of(found, b);
  if ((turn == nullptr) != (other == nullptr))
    return SpecDifference{"the layers that are turned", GgufExtra::kRopePattern};
  if (turn != nullptr && !is_same_rope(*turn, *other))
    return SpecDifference{"the rope", std::nullopt};
  if (p.qk_norm != q.qk_norm || p.norm_after_rope != q.norm_after_rope ||
      (p.qk_norm != QkNorm::kNone && (p.qk_norm_spec.kind != q.qk_norm_spec.kind ||
                                      !is_close(p.qk_norm_spec.eps, q.qk_norm_spec.eps))))
    return SpecDifference{"the norms of queries and keys", std::nullopt};
  if (p.uses_alibi != q.uses_alibi || (p.uses_alibi && (!is_close(p.alibi_max, q.alibi_max) ||
                                                        !is_close(p.alibi_scale, q.alibi_scale))))
    return SpecDifference{"ALiBi", std::nullopt};
  if (p.has_sinks != q.has_sinks) return SpecDifference{"attention sinks", std::nullopt};
  if (std::get<DenseFfnSpec>(a.ffn) != std::get<DenseFfnSpec>(b.ffn))
    return SpecDifference{"the feed-forward part", std::nullopt};
  return std::nullopt;
}

}  // namespace

void set_model_keys(const ModelSpec& spec, std::string_view architecture,
                    const std::set<GgufExtra>& extras, GgufKeyValues& values) {
  values.set("general.architecture", std::string(architecture));
  KeyWriter keys(architecture, values);
  keys.integer("vocab_size", spec.vocab);
  keys.integer("context_length", spec.context);
  keys.integer("embedding_length", spec.hidden);
  keys.integer("block_count", static_cast<int64_t>(spec.layers.size()));
  keys.per_layer("feed_forward_length", spec,
                 [](const LayerSpec& layer) { return std::get<DenseFfnSpec>(layer.ffn).hidden; });
  keys.per_layer("attention.head_count", spec,
                 [](const LayerSpec& layer) { return layer_attention(layer).heads; });
  keys.per_layer("attention.head_count_kv", spec,
                 [](const LayerSpec& layer) { return layer_attention(layer).kv_heads; });
  keys.number(spec.norm.kind == NormKind::kRms ? "attention.layer_norm_rms_epsilon"
                                               : "attention.layer_norm_epsilon",
              spec.norm.eps);
  set_attention(spec, extras, keys);
  set_rope(spec, keys);
  set_family(spec, keys);
}

std::vector<float> rope_divisors(const RopeSpec& rope) {
  std::vector<float> divisors;
  if (rope.scaling != RopeScaling::kLlama3) return divisors;
  const auto original = static_cast<double>(rope.original_context);
  for (int64_t pair = 0; pair < rope.rotary_dim / 2; ++pair) {
    const double exponent = 2.0 * static_cast<double>(pair) / static_cast<double>(rope.rotary_dim);
    const double wavelength = 2 * std::numbers::pi * std::pow(rope.theta, exponent);
    const double smooth = std::clamp((original / wavelength - rope.low_freq_factor) /
                                         (rope.high_freq_factor - rope.low_freq_factor),
                                     0.0, 1.0);
    divisors.push_back(static_cast<float>(1 / ((1 - smooth) / rope.factor + smooth)));
  }
  return divisors;
}

std::optional<SpecDifference> compare_specs(const ModelSpec& wanted, const ModelSpec& found) {
  if (wanted.vocab != found.vocab || wanted.hidden != found.hidden ||
      wanted.layers.size() != found.layers.size() || wanted.context != found.context)
    return SpecDifference{"its sizes", std::nullopt};
  if (wanted.embedding_dim != found.embedding_dim)
    return SpecDifference{"its projected embeddings", std::nullopt};
  if (wanted.norm.kind != found.norm.kind || wanted.norm.has_affine != found.norm.has_affine ||
      !is_close(wanted.norm.eps, found.norm.eps))
    return SpecDifference{"its norms", std::nullopt};
  if (wanted.has_final_norm != found.has_final_norm ||
      wanted.has_embedding_norm != found.has_embedding_norm)
    return SpecDifference{"the norms of its ends", std::nullopt};
  if (wanted.learned_positions != found.learned_positions ||
      wanted.position_offset != found.position_offset)
    return SpecDifference{"its learned positions", std::nullopt};
  if (wanted.ties_output != found.ties_output)
    return SpecDifference{"its output head", std::nullopt};
  if (!is_close(wanted.embedding_scale, found.embedding_scale) ||
      !is_close(wanted.residual_scale, found.residual_scale) ||
      !is_close(wanted.logit_scale, found.logit_scale) ||
      !is_close(wanted.logit_softcap, found.logit_softcap))
    return SpecDifference{"its multipliers", std::nullopt};
  for (size_t i = 0; i < wanted.layers.size(); ++i) {
    if (auto difference = compare_layers(wanted, found, i)) return difference;
  }
  return std::nullopt;
}

}  // namespace ingot
