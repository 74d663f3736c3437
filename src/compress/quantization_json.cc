// SPDX-License-Identifier: Apache-2.0
#include "compress/quantization_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ingot {
namespace {

using OrderedJson = nlohmann::ordered_json;

int64_t group_or_all(const AffineOptions& options) {
  return options.group_columns == 0 ? -1 : options.group_columns;
}

// A name as a regular expression that matches nothing else.
std::string exact_pattern(const std::string& name) {
  std::string pattern;
  for (const char c : name)
    pattern += c == '.' ? std::string("\\.") : std::string(1, c);
  return "^" + pattern + "$";
}

OrderedJson gptq_json(const CompressOptions& options, const std::vector<FormatGroup>& groups,
                      const std::vector<std::string>& kept) {
  const AffineOptions& affine = groups.front().format.affine;
  OrderedJson json = {{"quant_method", "gptq"},
                      {"bits", affine.bits},
                      {"group_size", group_or_all(affine)},
                      {"desc_act", options.orders_columns},
                      {"sym", affine.is_symmetric},
                      {"static_groups", false},
                      {"true_sequential", options.is_sequential},
                      {"damp_percent", options.damping},
                      {"checkpoint_format", "gptq"},
                      {"lm_head", false}};
  OrderedJson dynamic = OrderedJson::object();
  for (const std::string& name : kept) {
    if (name != "lm_head") dynamic["-:" + exact_pattern(name)] = OrderedJson::object();
  }
  for (size_t i = 1; i < groups.size(); ++i) {
    for (const std::string& name : groups[i].modules) {
      dynamic["+:" + exact_pattern(name)] = {{"bits", groups[i].format.affine.bits},
                                             {"group_size", group_or_all(groups[i].format.affine)}};
    }
  }
  if (!dynamic.empty()) json["dynamic"] = std::move(dynamic);
  return json;
}

OrderedJson awq_json(const AffineOptions& affine, const std::vector<std::string>& kept) {
  OrderedJson names = OrderedJson(nullptr);
  for (const std::string& name : kept) {
    if (name != "lm_head") names.push_back(name);
  }
  return {{"quant_method", "awq"},
          {"bits", affine.bits},
          {"group_size", group_or_all(affine)},
          {"zero_point", !affine.is_symmetric},
          {"version", "gemm"},
          {"modules_to_not_convert", std::move(names)}};
}

OrderedJson arguments(int bits, std::string_view type, std::string_view strategy, bool is_symmetric,
                      OrderedJson group, bool is_dynamic) {
  return {{"num_bits", bits},
          {"type", type},
          {"symmetric", is_symmetric},
          {"strategy", strategy},
          {"group_size", std::move(group)},
          {"dynamic", is_dynamic},
          {"actorder", nullptr},
          {"block_structure", nullptr},
          {"observer", is_dynamic ? OrderedJson(nullptr) : OrderedJson("minmax")},
          {"observer_kwargs", OrderedJson::object()}};
}

OrderedJson weight_arguments(const WeightFormat& format) {
  switch (format.kind) {
    case WeightKind::kFp8:
      return arguments(8, "float", format.fp8.scales == Fp8Scales::kRow ? "channel" : "tensor",
                       true, nullptr, false);
    case WeightKind::kMxfp4:
      return arguments(4, "float", "group", true, 32, false);
    case WeightKind::kNvfp4:
      return arguments(4, "float", "tensor_group", true, 16, false);
    default:
      break;
  }
  const AffineOptions& affine = format.affine;
  const bool is_whole = affine.group_columns == 0;
  return arguments(affine.bits, "int", is_whole ? "channel" : "group", affine.is_symmetric,
                   is_whole ? OrderedJson(nullptr) : OrderedJson(affine.group_columns), false);
}

OrderedJson input_arguments(const WeightFormat& format) {
  if (format.kind == WeightKind::kInt8) return arguments(8, "int", "token", true, nullptr, true);
  if (format.kind != WeightKind::kFp8) return nullptr;
  return format.has_static_inputs ? arguments(8, "float", "tensor", true, nullptr, false)
                                  : arguments(8, "float", "token", true, nullptr, true);
}

std::string_view format_name(WeightKind kind) {
  switch (kind) {
    case WeightKind::kInt8:
      return "int-quantized";
    case WeightKind::kFp8:
      return "float-quantized";
    case WeightKind::kMxfp4:
      return "mxfp4-pack-quantized";
    case WeightKind::kNvfp4:
      return "nvfp4-pack-quantized";
    default:
      return "pack-quantized";
  }
}

OrderedJson compressed_json(const std::vector<FormatGroup>& groups,
                            const std::vector<std::string>& kept) {
  OrderedJson config_groups = OrderedJson::object();
  for (size_t i = 0; i < groups.size(); ++i) {
    // The rest is named by class; what differs from it by its own names, which win.
    const OrderedJson targets =
        i == 0 ? OrderedJson::array({"Linear"}) : OrderedJson(groups[i].modules);
    config_groups["group_" + std::to_string(i)] = {
        {"targets", targets},
        {"weights", weight_arguments(groups[i].format)},
        {"input_activations", input_arguments(groups[i].format)},
        {"output_activations", nullptr}};
  }
  return {{"quant_method", "compressed-tensors"},
          {"format", format_name(groups.front().format.kind)},
          {"quantization_status", "compressed"},
          {"global_compression_ratio", nullptr},
          {"ignore", kept},
          {"kv_cache_scheme", nullptr},
          {"config_groups", std::move(config_groups)}};
}

OrderedJson nf4_json(const Nf4Options& options, const std::vector<std::string>& kept) {
  return {{"quant_method", "bitsandbytes"},
          {"load_in_4bit", true},
          {"load_in_8bit", false},
          {"_load_in_4bit", true},
          {"_load_in_8bit", false},
          {"bnb_4bit_quant_type", "nf4"},
          {"bnb_4bit_use_double_quant", options.is_nested},
          {"bnb_4bit_compute_dtype", options.dtype},
          {"bnb_4bit_quant_storage", "uint8"},
          {"llm_int8_enable_fp32_cpu_offload", false},
          {"llm_int8_has_fp16_weight", false},
          {"llm_int8_skip_modules", kept},
          {"llm_int8_threshold", 6.0}};
}

}  // namespace

OrderedJson quantization_json(const CompressOptions& options,
                              const std::vector<FormatGroup>& groups,
                              const std::vector<std::string>& kept) {
  const WeightFormat& format = groups.front().format;
  switch (format.kind) {
    case WeightKind::kGptq:
      return gptq_json(options, groups, kept);
    case WeightKind::kAwq:
      return awq_json(format.affine, kept);
    case WeightKind::kNf4:
      return nf4_json(format.nf4, kept);
    case WeightKind::kFp8:
      if (format.fp8.scales == Fp8Scales::kBlock) {
        return {{"quant_method", "fp8"},
                {"activation_scheme", "dynamic"},
                {"fmt", "e4m3"},
                {"weight_block_size", {format.fp8.block, format.fp8.block}},
                {"modules_to_not_convert", kept}};
      }
      return compressed_json(groups, kept);
    default:
      return compressed_json(groups, kept);
  }
}

}  // namespace ingot
