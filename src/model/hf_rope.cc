// SPDX-License-Identifier: Apache-2.0
#include "model/hf_rope.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/limits.h"

namespace ingot {
namespace {

constexpr RealRange kTheta = {1.0 + 1e-6, 1e18};  // rules take its logarithm
constexpr RealRange kFactor = {1e-6, 1e9};

// A number of `scaling` (which may be missing) in range, or the fallback.
Result<double> read(const std::optional<HfConfig>& scaling, std::string_view key, double fallback,
                    RealRange range) {
  if (!scaling || !scaling->has(key)) return fallback;
  INGOT_TRY(const double value, scaling->number(key));
  if (value >= range.min && value <= range.max) return value;
  return scaling->error(key, fmt::format("{} is outside [{}, {}]", value, range.min, range.max));
}

Status require(const HfConfig& scaling, std::string_view key) {
  return scaling.has(key) ? Status::ok() : scaling.error(key, "missing");
}

struct NamedScaling {
  std::string_view name;
  RopeScaling scaling;
};
constexpr NamedScaling kScalings[] = {
    {"default", RopeScaling::kNone},    {"linear", RopeScaling::kLinear},
    {"dynamic", RopeScaling::kDynamic}, {"yarn", RopeScaling::kYarn},
    {"llama3", RopeScaling::kLlama3},   {"longrope", RopeScaling::kLongRope},
    {"su", RopeScaling::kLongRope},
};

Result<RopeScaling> read_scaling_type(const HfConfig& scaling, const RopeRules& rules) {
  const std::string_view key = scaling.first_of({"rope_type", "type"});
  INGOT_TRY(const std::string name, scaling.string_or(key, "default"));
  const auto* const it = std::ranges::find(kScalings, name, &NamedScaling::name);
  if (it == std::end(kScalings))
    return scaling.unsupported(key, fmt::format("unknown rope type '{}'", name));
  if (rules.takes_yarn_as_longrope && it->scaling == RopeScaling::kYarn)
    return RopeScaling::kLongRope;
  return it->scaling;
}

Result<std::vector<float>> read_divisors(const HfConfig& scaling, std::string_view key,
                                         int64_t pairs) {
  INGOT_TRY(std::vector<float> divisors, scaling.numbers(key));
  if (static_cast<int64_t>(divisors.size()) != pairs) {
    return scaling.error(
        key, fmt::format("has {} numbers for {} pairs of dimensions", divisors.size(), pairs));
  }
  const bool is_sound = std::ranges::all_of(
      divisors, [](float divisor) { return divisor >= 1e-6F && divisor <= 1e9F; });
  if (!is_sound) return scaling.error(key, "must hold positive numbers");
  return divisors;
}

// The context the model was trained with before its rope was stretched.
Result<int64_t> read_original_context(const HfConfig& config, const HfConfig& scaling,
                                      const RopeRules& rules, int64_t context) {
  constexpr std::string_view kKey = "original_max_position_embeddings";
  const Range range = {1, limits::kContext};
  // Beside the rope wins over inside it: Phi-3 keeps it there.
  if (config.has(kKey)) return config.integer(kKey, range);
  if (rules.original_context > 0) return rules.original_context;
  return scaling.integer_or(kKey, context, range);
}

Status read_yarn(const std::optional<HfConfig>& scaling, RopeSpec& rope) {
  INGOT_TRY(rope.beta_fast, read(scaling, "beta_fast", 0, {0, 1e6}));
  INGOT_TRY(rope.beta_slow, read(scaling, "beta_slow", 0, {0, 1e6}));
  if (rope.beta_fast == 0) rope.beta_fast = 32;
  if (rope.beta_slow == 0) rope.beta_slow = 1;
  INGOT_TRY(rope.mscale, read(scaling, "mscale", 0, {0, 1e6}));
  INGOT_TRY(rope.mscale_all_dim, read(scaling, "mscale_all_dim", 0, {0, 1e6}));
  INGOT_TRY(rope.truncates, scaling->boolean_or("truncate", true));
  return Status::ok();
}

Status read_llama3(const std::optional<HfConfig>& scaling, RopeSpec& rope) {
  INGOT_TRY(require(*scaling, "low_freq_factor"));
  INGOT_TRY(require(*scaling, "high_freq_factor"));
  INGOT_TRY(rope.low_freq_factor, read(scaling, "low_freq_factor", 1, kFactor));
  INGOT_TRY(rope.high_freq_factor, read(scaling, "high_freq_factor", 4, kFactor));
  if (rope.high_freq_factor > rope.low_freq_factor) return Status::ok();
  return scaling->error("high_freq_factor", "must be greater than low_freq_factor");
}

Status read_scaling(const HfConfig& config, const std::optional<HfConfig>& scaling,
                    const RopeRules& rules, int64_t context, RopeSpec& rope) {
  if (!scaling) return Status::ok();
  INGOT_TRY(rope.scaling, read_scaling_type(*scaling, rules));
  if (rope.scaling == RopeScaling::kNone) return Status::ok();

  const bool has_original =
      rope.scaling != RopeScaling::kLinear && rope.scaling != RopeScaling::kDynamic;
  const bool may_infer_factor =
      rope.scaling == RopeScaling::kYarn || rope.scaling == RopeScaling::kLongRope;
  if (rope.scaling == RopeScaling::kDynamic) rope.original_context = context;
  if (has_original) {
    INGOT_TRY(rope.original_context, read_original_context(config, *scaling, rules, context));
  }
  if (may_infer_factor) {
    rope.factor = static_cast<double>(context) / static_cast<double>(rope.original_context);
    INGOT_TRY(rope.attention_factor, read(scaling, "attention_factor", 0, kFactor));
  } else {
    INGOT_TRY(require(*scaling, "factor"));
  }
  INGOT_TRY(rope.factor, read(scaling, "factor", rope.factor, kFactor));

  if (rope.scaling == RopeScaling::kYarn) return read_yarn(scaling, rope);
  if (rope.scaling == RopeScaling::kLlama3) return read_llama3(scaling, rope);
  if (rope.scaling == RopeScaling::kLongRope) {
    INGOT_TRY(rope.short_factors, read_divisors(*scaling, "short_factor", rope.rotary_dim / 2));
    INGOT_TRY(rope.long_factors, read_divisors(*scaling, "long_factor", rope.rotary_dim / 2));
    if (rope.original_context == 1) {  // its logarithm divides
      return scaling->error("original_max_position_embeddings", "must be more than 1");
    }
  }
  if (rope.scaling == RopeScaling::kDynamic && rope.rotary_dim <= 2)
    return scaling->error("rope_type", "'dynamic' needs more than two turned dimensions");
  return Status::ok();
}

// `scaling` is the object that describes this rope, if there is one; `theta` holds when it names
// none.
Result<RopeSpec> read_rope(const HfConfig& config, const std::optional<HfConfig>& scaling,
                           double theta, const RopeRules& rules, const HfDecoder& decoder) {
  RopeSpec rope;
  rope.pairing = rules.pairing;
  INGOT_TRY(rope.theta, read(scaling, "rope_theta", theta, kTheta));

  const int64_t head_dim = decoder.attention.key_dim;
  rope.rotary_dim = head_dim;
  if (rules.partial > 0) {
    INGOT_TRY(const double outside, read(config, rules.partial_key, rules.partial, {0, 1}));
    INGOT_TRY(const double share, read(scaling, "partial_rotary_factor", outside, {0, 1}));
    rope.rotary_dim = static_cast<int64_t>(static_cast<double>(head_dim) * share);
  }
  if (rope.rotary_dim < 2 || rope.rotary_dim % 2 != 0) {
    return config.error(rules.partial > 0 ? rules.partial_key : "head_dim",
                        fmt::format("turns {} of {} dimensions of each head; that must be an even "
                                    "number",
                                    rope.rotary_dim, head_dim));
  }
  INGOT_TRY(read_scaling(config, scaling, rules, decoder.spec.context, rope));
  return rope;
}

std::optional<HfConfig> nested(const std::optional<HfConfig>& ropes, std::string_view layer_type) {
  return ropes ? ropes->object(layer_type) : std::nullopt;
}

// Null, {} and nothing mean the same; anything else must be an object.
Result<std::optional<HfConfig>> rope_object(const HfConfig& config, std::string_view key) {
  std::optional<HfConfig> found = config.object(key);
  if (!found && config.has(key)) return config.error(key, "must be an object");
  if (found && found->is_empty()) found.reset();
  return found;
}

}  // namespace

Status add_rope(const HfConfig& config, const RopeRules& rules, HfDecoder& decoder) {
  INGOT_TRY(const std::optional<HfConfig> legacy, rope_object(config, "rope_scaling"));
  INGOT_TRY(const std::optional<HfConfig> current, rope_object(config, "rope_parameters"));
  const std::optional<HfConfig>& scaling = legacy ? legacy : current;
  if (scaling && (scaling->has("full_attention") || scaling->has("sliding_attention"))) {
    return config.unsupported(
        "rope_parameters",
        fmt::format("a rope per layer type is not known for '{}'", decoder.spec.architecture));
  }
  INGOT_TRY(const double theta, read(config, rules.theta_key, rules.theta, kTheta));
  INGOT_TRY(RopeSpec rope, read_rope(config, scaling, theta, rules, decoder));
  decoder.spec.ropes.push_back(std::move(rope));
  decoder.attention.rope = 0;
  return Status::ok();
}

Status add_rope_per_layer_type(const HfConfig& config, const RopeRules& full,
                               const RopeRules& sliding, HfDecoder& decoder) {
  INGOT_TRY(const std::optional<HfConfig> legacy, rope_object(config, "rope_scaling"));
  INGOT_TRY(const std::optional<HfConfig> current, rope_object(config, "rope_parameters"));
  INGOT_TRY(double full_theta, read(config, full.theta_key, full.theta, kTheta));
  INGOT_TRY(const double sliding_theta, read(config, sliding.theta_key, sliding.theta, kTheta));
  const std::optional<HfConfig> of_full = nested(current, "full_attention");
  if (legacy) {
    INGOT_TRY(full_theta, read(of_full, "rope_theta", full_theta, kTheta));
  }
  INGOT_TRY(RopeSpec first,
            read_rope(config, legacy ? legacy : of_full, full_theta, full, decoder));
  INGOT_TRY(RopeSpec second, read_rope(config, nested(current, "sliding_attention"), sliding_theta,
                                       sliding, decoder));
  decoder.spec.ropes.push_back(std::move(first));
  decoder.spec.ropes.push_back(std::move(second));
  decoder.attention.rope = 0;
  return Status::ok();
}

}  // namespace ingot
