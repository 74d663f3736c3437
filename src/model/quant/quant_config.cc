// SPDX-License-Identifier: Apache-2.0
#include "model/quant/quant_config.h"

namespace ingot {
namespace {

Status refuse(const HfConfig& from, std::string_view key, std::string_view what) {
  return from.unsupported(key, fmt::format("{}; use the original weights or a GGUF file", what));
}

Result<QuantConfig> read_gptq(const HfConfig& from) {
  QuantConfig config;
  config.method = QuantMethod::kGptq;
  INGOT_TRY(config.bits, from.integer(from.first_of({"bits", "w_bit"}), {1, 32}));
  if (config.bits != 2 && config.bits != 3 && config.bits != 4 && config.bits != 8)
    return refuse(from, "bits", fmt::format("GPTQ of {} bits cannot be loaded", config.bits));
  INGOT_TRY(const int64_t group,
            from.integer_or(from.first_of({"group_size", "q_group_size"}), 128, {-1, 1 << 20}));
  config.group_columns = group < 0 ? 0 : group;
  const std::string_view key = from.first_of({"checkpoint_format", "format"});
  INGOT_TRY(const std::string format, from.string_or(key, "gptq"));
  INGOT_TRY(const bool is_marlin, from.boolean_or("is_marlin_format", false));
  if (is_marlin || (format != "gptq" && format != "gptq_v2")) {
    return refuse(from, key,
                  fmt::format("GPTQ in the format '{}' cannot be loaded",
                              is_marlin ? std::string("marlin") : format));
  }
  config.stores_zeros_less_one = format == "gptq";
  INGOT_TRY(config.is_symmetric, from.boolean_or("sym", false));
  if (from.has("dynamic"))
    return refuse(from, "dynamic", "GPTQ with bits that differ by layer cannot be loaded");
  return config;
}

Result<QuantConfig> read_awq(const HfConfig& from) {
  QuantConfig config;
  config.method = QuantMethod::kAwq;
  INGOT_TRY(config.bits, from.integer_or(from.first_of({"bits", "w_bit"}), 4, {1, 32}));
  if (config.bits != 4)
    return refuse(from, "bits", fmt::format("AWQ of {} bits cannot be loaded", config.bits));
  INGOT_TRY(const std::string version, from.string_or("version", "gemm"));
  if (const std::string_view is = version; is != "gemm" && is != "GEMM") {
    return refuse(from, "version",
                  fmt::format("AWQ of version '{}' cannot be loaded, only 'gemm'", version));
  }
  return config;
}

Result<QuantConfig> read_bitsandbytes(const HfConfig& from) {
  QuantConfig config;
  config.method = QuantMethod::kBitsandbytes;
  INGOT_TRY(const bool is_8_bit, from.boolean_or("load_in_8bit", false));
  config.bits = is_8_bit ? 8 : 4;
  INGOT_TRY(const std::string type, from.string_or("bnb_4bit_quant_type", "fp4"));
  if (!is_8_bit && type != "nf4") {
    return refuse(from, "bnb_4bit_quant_type",
                  fmt::format("bitsandbytes' '{}' cannot be loaded, only 'nf4'", type));
  }
  return config;
}

Status read_block(const HfConfig& from, std::string_view key, QuantConfig& config) {
  if (!from.has(key)) return Status::ok();
  INGOT_TRY(const std::vector<int64_t> block, from.integers(key, {1, 1 << 20}));
  if (block.size() != 2) return from.error(key, "must be two numbers");
  config.block_rows = block[0];
  config.block_cols = block[1];
  return Status::ok();
}

Result<QuantConfig> read_fp8(const HfConfig& from) {
  QuantConfig config;
  config.method = QuantMethod::kFp8;
  INGOT_TRY(const std::string format, from.string_or("fmt", "e4m3"));
  if (format != "e4m3")
    return refuse(from, "fmt", fmt::format("FP8 of '{}' cannot be loaded, only 'e4m3'", format));
  INGOT_TRY(read_block(from, "weight_block_size", config));
  return config;
}

Result<QuantConfig> read_modelopt(const HfConfig& from) {
  INGOT_TRY(const std::string algorithm, from.string("quant_algo"));
  if (algorithm == "FP8" || algorithm == "FP8_PER_CHANNEL_PER_TOKEN") {
    QuantConfig config;
    config.method = QuantMethod::kFp8;
    return config;
  }
  return refuse(from, "quant_algo", fmt::format("ModelOpt's '{}' cannot be loaded yet", algorithm));
}

// Its format says how weights are stored; the group's arguments say the rest.
Result<QuantConfig> read_compressed(const HfConfig& from) {
  QuantConfig config;
  config.method = QuantMethod::kCompressedTensors;
  INGOT_TRY(const std::string format, from.string("format"));
  const auto groups = from.object("config_groups");
  if (!groups) return from.error("config_groups", "missing");
  const auto group = groups->object("group_0");
  const auto weights = group ? group->object("weights") : std::nullopt;
  if (!weights) {
    return refuse(from, "config_groups",
                  "compressed-tensors without a group_0 with weights cannot be loaded");
  }
  if (groups->size() != 1) {
    return refuse(from, "config_groups",
                  "compressed-tensors with several groups cannot be loaded yet");
  }
  INGOT_TRY(config.bits, weights->integer("num_bits", {1, 32}));
  INGOT_TRY(config.is_symmetric, weights->boolean_or("symmetric", true));
  INGOT_TRY(const std::string type, weights->string_or("type", "int"));
  if (format == "mxfp4-pack-quantized") {
    config.is_e2m1 = true;
    return config;
  }
  if (format == "pack-quantized" && (config.bits == 4 || config.bits == 8)) return config;
  const bool is_plain =
      format == "int-quantized" || format == "float-quantized" || format == "naive-quantized";
  if (is_plain && config.bits == 8 && type == "int") return config;
  if (is_plain && config.bits == 8 && type == "float") {
    config.method = QuantMethod::kFp8;
    INGOT_TRY(read_block(*weights, "block_structure", config));
    return config;
  }
  return refuse(
      from, "format",
      fmt::format("compressed-tensors' '{}' of {} bits cannot be loaded yet", format, config.bits));
}

}  // namespace

Result<QuantConfig> read_quant_config(const HfConfig& config) {
  if (!config.has("quantization_config")) return QuantConfig();
  const auto from = config.object("quantization_config");
  if (!from) return config.error("quantization_config", "must be an object");
  INGOT_TRY(const std::string method, from->string("quant_method"));
  if (method == "gptq") return read_gptq(*from);
  if (method == "awq") return read_awq(*from);
  if (method == "bitsandbytes") return read_bitsandbytes(*from);
  if (method == "fp8") return read_fp8(*from);
  if (method == "modelopt") return read_modelopt(*from);
  if (method == "compressed-tensors") return read_compressed(*from);
  return refuse(*from, "quant_method",
                fmt::format("checkpoints quantized by '{}' cannot be loaded yet", method));
}

}  // namespace ingot
