// SPDX-License-Identifier: Apache-2.0
// The description of compressed-tensors: groups of modules, by class ("Linear"), name or pattern,
// each with the arguments of its weights and inputs; the format, of all or of a group, says how
// weights are stored.
#include <algorithm>

#include "model/quant/quant_config.h"

namespace ingot {
namespace {

constexpr std::string_view kLinear = "Linear";

Status read_fp8_weights(const HfConfig& weights, WeightQuant& quant) {
  quant.method = QuantMethod::kFp8;
  if (!weights.has("block_structure")) return Status::ok();
  INGOT_TRY(const std::vector<int64_t> block, weights.integers("block_structure", {1, 1 << 20}));
  if (block.size() != 2) return weights.error("block_structure", "must be two numbers");
  quant.block_rows = block[0];
  quant.block_cols = block[1];
  return Status::ok();
}

Status read_weights(const HfConfig& from, const std::string& format, const HfConfig& weights,
                    WeightQuant& quant) {
  quant.method = QuantMethod::kCompressedTensors;
  INGOT_TRY(quant.bits, weights.integer("num_bits", {1, 32}));
  INGOT_TRY(quant.is_symmetric, weights.boolean_or("symmetric", true));
  INGOT_TRY(const std::string type, weights.string_or("type", "int"));
  const bool is_plain =
      format == "int-quantized" || format == "float-quantized" || format == "naive-quantized";
  if (format == "nvfp4-pack-quantized") {
    quant.method = QuantMethod::kNvfp4;
  } else if (format == "mxfp4-pack-quantized") {
    quant.is_e2m1 = true;
  } else if (format == "mxfp8-quantized") {
    quant.method = QuantMethod::kFp8;
    quant.block_rows = 1;
    quant.block_cols = 32;
  } else if (is_plain && quant.bits == 8 && type == "float") {
    return read_fp8_weights(weights, quant);
  } else if (quant.bits > 8 || type != "int" || (format != "pack-quantized" && !is_plain)) {
    return refuse_quant(from, "format",
                        fmt::format("compressed-tensors' '{}' of {} bits cannot be loaded yet",
                                    format, quant.bits));
  }
  return Status::ok();
}

// Inputs of four bits stay as they are, as where hardware has none of them.
Status read_inputs(const HfConfig& inputs, WeightQuant& quant) {
  INGOT_TRY(const int64_t bits, inputs.integer("num_bits", {1, 32}));
  INGOT_TRY(const std::string type, inputs.string_or("type", "int"));
  if (bits == 4 && type == "float") return Status::ok();
  if (bits != 8) {
    return refuse_quant(inputs, "num_bits",
                        fmt::format("inputs rounded to {} bits cannot be computed", bits));
  }
  INGOT_TRY(const bool is_dynamic, inputs.boolean_or("dynamic", false));
  INGOT_TRY(const std::string strategy, inputs.string_or("strategy", "tensor"));
  const bool has_groups = strategy == "group";
  const bool is_int = type == "int";
  if ((strategy != "tensor" && strategy != "token" && !has_groups) ||
      (has_groups && (is_int || !is_dynamic)) || (strategy == "token" && !is_dynamic)) {
    return refuse_quant(
        inputs, "strategy",
        fmt::format("inputs of type '{}' rounded by '{}' cannot be computed", type, strategy));
  }
  quant.input.kind = is_int ? InputKind::kInt8 : InputKind::kE4m3;
  quant.has_input_scale = !is_dynamic;
  if (is_int) {
    INGOT_TRY(quant.input.is_symmetric, inputs.boolean_or("symmetric", true));
  }
  if (has_groups) {
    INGOT_TRY(quant.input.block, inputs.integer("group_size", {1, 1 << 20}));
  }
  // The scales of MXFP8 are powers of two, those of its inputs too.
  quant.input.has_powers = quant.method == QuantMethod::kFp8 && quant.block_cols == 32;
  return Status::ok();
}

Status read_group(const HfConfig& from, const std::string& format, const std::string& name,
                  const HfConfig& group, QuantConfig& config) {
  const auto weights = group.object("weights");
  if (!weights) {
    return refuse_quant(
        group, "weights",
        fmt::format("{} of compressed-tensors without weights cannot be loaded", name));
  }
  if (group.has("output_activations"))
    return refuse_quant(group, "output_activations", "rounded outputs cannot be computed");
  INGOT_TRY(const std::string own, group.string_or("format", format));
  WeightQuant quant;
  INGOT_TRY(read_weights(group.has("format") ? group : from, own, *weights, quant));
  if (const auto inputs = group.object("input_activations")) INGOT_TRY(read_inputs(*inputs, quant));
  std::vector<std::string> targets = {std::string(kLinear)};
  if (group.has("targets")) {
    INGOT_TRY(targets, group.strings("targets"));
  }
  for (const std::string& target : targets) {
    if (target != kLinear) {
      INGOT_TRY(add_rule(group, "targets", target, quant, config));
    } else if (config.method == QuantMethod::kNone) {  // the first group of a class holds
      static_cast<WeightQuant&>(config) = quant;
    }
  }
  return Status::ok();
}

}  // namespace

Result<QuantConfig> read_compressed_config(const HfConfig& from) {
  INGOT_TRY(const std::string format, from.string("format"));
  if (const auto transforms = from.object("transform_config");
      transforms && !transforms->is_empty())
    return refuse_quant(from, "transform_config", "weights that are rotated cannot be loaded");
  if (const auto sparsity = from.object("sparsity_config"); sparsity && !sparsity->is_empty()) {
    INGOT_TRY(const std::string how, sparsity->string_or("format", "dense"));
    if (how != "dense") {
      return refuse_quant(from, "sparsity_config",
                          fmt::format("weights stored as '{}' cannot be loaded", how));
    }
  }
  const auto groups = from.object("config_groups");
  if (!groups) return from.error("config_groups", "missing");
  QuantConfig config;
  for (const std::string& name : groups->keys()) {
    const auto group = groups->object(name);
    if (!group) {
      return refuse_quant(*groups, name,
                          fmt::format("the preset '{}' of compressed-tensors is not known", name));
    }
    INGOT_TRY(read_group(from, format, name, *group, config));
  }
  if (!config.is_quantized()) return from.error("config_groups", "has no group");
  return config;
}

}  // namespace ingot
