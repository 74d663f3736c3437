// SPDX-License-Identifier: Apache-2.0
// Rotary embedding as GGUF describes it: keys under rope.*, and for Llama 3 and longrope tensors of
// divisors (rope_freqs, rope_factors_*), which the binder fetches.
#include <cmath>

#include "base/limits.h"
#include "model/gguf_decoder.h"

namespace ingot {
namespace {

constexpr NumberRange kGgufTheta = {1.0 + 1e-9, 1e15};  // its logarithm divides
constexpr NumberRange kGgufFactor = {1e-6, 1e9};

// The stretch of the context; 0 and nothing both mean none.
Result<double> read_factor(const GgufConfig& config) {
  const std::string_view key =
      config.has("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
  INGOT_TRY(const double factor, config.number_or(key, 0, {0, kGgufFactor.max}));
  if (factor == 0) return 1.0;
  if (factor < kGgufFactor.min) return config.error(key, fmt::format("{} is too small", factor));
  return factor;
}

Status read_yarn(const GgufConfig& config, RopeSpec& rope) {
  INGOT_TRY(rope.beta_fast, config.number_or("rope.scaling.yarn_beta_fast", 32, kGgufFactor));
  INGOT_TRY(rope.beta_slow, config.number_or("rope.scaling.yarn_beta_slow", 1, kGgufFactor));
  INGOT_TRY(rope.mscale_all_dim,
            config.number_or("rope.scaling.yarn_log_multiplier", 0, {0, kGgufFactor.max}));
  if (rope.mscale_all_dim != 0) rope.mscale = 1;
  if (config.has("rope.scaling.yarn_attn_factor")) {
    INGOT_TRY(rope.attention_factor, config.number("rope.scaling.yarn_attn_factor", kGgufFactor));
    return Status::ok();
  }
  // attn_factor multiplies yarn's own factor.
  INGOT_TRY(const double extra, config.number_or("rope.scaling.attn_factor", 1, kGgufFactor));
  if (extra != 1 && rope.mscale_all_dim == 0)
    rope.attention_factor = extra * (rope.factor > 1 ? 0.1 * std::log(rope.factor) + 1 : 1);
  return Status::ok();
}

Status read_longrope(const GgufConfig& config, int64_t context, RopeSpec& rope) {
  for (const std::string_view name : {"rope_factors_long.weight", "rope_factors_short.weight"}) {
    if (config.has_tensor(name)) continue;
    return config.error("rope.scaling.type", fmt::format("needs the tensor '{}'", name));
  }
  if (rope.original_context < 2)  // its logarithm divides
    return config.error("rope.scaling.original_context_length", "must be more than 1");
  rope.factor = static_cast<double>(context) / static_cast<double>(rope.original_context);
  INGOT_TRY(rope.attention_factor, config.number_or("rope.scaling.attn_factor", 0, kGgufFactor));
  return Status::ok();
}

Status read_scaling(const GgufConfig& config, int64_t context, RopeSpec& rope) {
  INGOT_TRY(rope.original_context, config.integer_or("rope.scaling.original_context_length",
                                                     context, {1, limits::kContext}));
  INGOT_TRY(const double factor, read_factor(config));
  // Phi-3 files have the tensors but no type.
  const bool has_factors = config.has_tensor("rope_factors_long.weight");
  INGOT_TRY(const std::string type,
            config.string_or("rope.scaling.type", has_factors ? "longrope" : "linear"));
  if (type == "none") return Status::ok();
  if (type == "longrope") {
    rope.scaling = RopeScaling::kLongRope;
    return read_longrope(config, context, rope);
  }
  if (type == "linear") {
    if (factor != 1) rope.scaling = RopeScaling::kLinear;
    rope.factor = factor;
    return Status::ok();
  }
  if (type == "yarn") {
    rope.scaling = RopeScaling::kYarn;
    rope.factor = factor;
    return read_yarn(config, rope);
  }
  return config.unsupported("rope.scaling.type", fmt::format("unknown kind '{}'", type));
}

}  // namespace

Result<std::vector<RopeSpec>> read_gguf_ropes(const GgufConfig& config, const GgufFamily& family,
                                              int64_t head_dim, int64_t context) {
  if (family.rope == RopeUse::kNowhere) return std::vector<RopeSpec>();
  RopeSpec rope;
  rope.pairing = family.pairing;
  INGOT_TRY(rope.rotary_dim,
            config.integer_or("rope.dimension_count", head_dim, {2, limits::kHeadDim}));
  if (rope.rotary_dim % 2 != 0 || rope.rotary_dim > head_dim) {
    return config.error(
        "rope.dimension_count",
        fmt::format("{} must be even and at most the head's {}", rope.rotary_dim, head_dim));
  }
  INGOT_TRY(rope.theta, config.number_or("rope.freq_base", 10000, kGgufTheta));
  RopeSpec sliding = rope;
  INGOT_TRY(read_scaling(config, context, rope));
  if (!family.has_plain_sliding_rope) sliding = rope;
  const double sliding_theta = family.sliding_theta > 0 ? family.sliding_theta : rope.theta;
  INGOT_TRY(sliding.theta, config.number_or("rope.freq_base_swa", sliding_theta, kGgufTheta));
  const bool is_same = sliding.theta == rope.theta && sliding.scaling == rope.scaling;
  std::vector<RopeSpec> ropes = {rope};
  if (!is_same) ropes.push_back(std::move(sliding));
  return ropes;
}

}  // namespace ingot
