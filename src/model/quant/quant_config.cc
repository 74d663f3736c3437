// SPDX-License-Identifier: Apache-2.0
#include "model/quant/quant_config.h"

#include <algorithm>

#include "base/pattern.h"

namespace ingot {
namespace {

constexpr std::string_view kPattern = "re:";

bool fits(const std::string& target, const std::string& name) {
  if (!target.starts_with(kPattern)) return target == name;
  const Result<Pattern> pattern = Pattern::parse(target.substr(kPattern.size()));
  return pattern.is_ok() && pattern->matches(name);
}

Status read_gptq_fields(const HfConfig& from, WeightQuant& quant) {
  INGOT_TRY(quant.bits, from.integer_or(from.first_of({"bits", "w_bit"}), quant.bits, {1, 32}));
  if (quant.bits != 2 && quant.bits != 3 && quant.bits != 4 && quant.bits != 8) {
    return refuse_quant(from, "bits", fmt::format("GPTQ of {} bits cannot be loaded", quant.bits));
  }
  const std::string_view key = from.first_of({"group_size", "q_group_size"});
  const int64_t fallback = quant.group_columns == 0 ? -1 : quant.group_columns;
  INGOT_TRY(const int64_t group, from.integer_or(key, fallback, {-1, 1 << 20}));
  if (group == 0) return from.error(key, "must not be 0");
  quant.group_columns = group < 0 ? 0 : group;
  INGOT_TRY(quant.is_symmetric, from.boolean_or("sym", quant.is_symmetric));
  return Status::ok();
}

// Overrides by pattern; "-:" before one excludes modules, whose weights are then plain in the file.
Status read_gptq_rules(const HfConfig& from, QuantConfig& config) {
  if (!from.has("dynamic")) return Status::ok();
  const auto rules = from.object("dynamic");
  if (!rules) return from.error("dynamic", "must be an object");
  for (const std::string& key : rules->keys()) {
    std::string_view pattern = key;
    if (pattern.starts_with("+:") || pattern.starts_with("-:")) pattern.remove_prefix(2);
    WeightQuant quant = config;
    const auto fields = rules->object(key);
    if (key.starts_with("-:")) {
      quant = WeightQuant();
    } else if (fields) {
      INGOT_TRY(read_gptq_fields(*fields, quant));
    } else if (rules->has(key)) {
      return rules->error(key, "must be an object");
    }
    INGOT_TRY(add_rule(*rules, key, fmt::format("{}{}", kPattern, pattern), quant, config));
  }
  return Status::ok();
}

Result<QuantConfig> read_gptq(const HfConfig& from) {
  QuantConfig config;
  config.method = QuantMethod::kGptq;
  config.group_columns = 128;
  const std::string_view bits = from.first_of({"bits", "w_bit"});
  if (!from.has(bits)) return from.error(bits, "missing");
  INGOT_TRY(read_gptq_fields(from, config));
  const std::string_view key = from.first_of({"checkpoint_format", "format"});
  INGOT_TRY(const std::string format, from.string_or(key, "gptq"));
  INGOT_TRY(const bool is_marlin, from.boolean_or("is_marlin_format", false));
  if (is_marlin || (format != "gptq" && format != "gptq_v2")) {
    return refuse_quant(from, key,
                        fmt::format("GPTQ in the format '{}' cannot be loaded",
                                    is_marlin ? std::string("marlin") : format));
  }
  config.stores_zeros_less_one = format == "gptq";
  INGOT_TRY(const std::string words, from.string_or("pack_dtype", "int32"));
  if (words != "int32") {
    return refuse_quant(from, "pack_dtype",
                        fmt::format("GPTQ in words of '{}' cannot be loaded", words));
  }
  INGOT_TRY(read_gptq_rules(from, config));
  return config;
}

Result<QuantConfig> read_awq(const HfConfig& from) {
  QuantConfig config;
  config.method = QuantMethod::kAwq;
  INGOT_TRY(config.bits, from.integer_or(from.first_of({"bits", "w_bit"}), 4, {1, 32}));
  if (config.bits != 4)
    return refuse_quant(from, "bits", fmt::format("AWQ of {} bits cannot be loaded", config.bits));
  const std::string_view key = from.first_of({"group_size", "q_group_size"});
  INGOT_TRY(const int64_t group, from.integer_or(key, 128, {-1, 1 << 20}));
  if (group == 0) return from.error(key, "must not be 0");
  config.group_columns = group < 0 ? 0 : group;
  INGOT_TRY(std::string version, from.string_or("version", "gemm"));
  for (char& c : version)
    c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  config.is_gemv = version == "gemv";
  if (version != "gemm" && !config.is_gemv) {
    return refuse_quant(
        from, "version",
        fmt::format("AWQ of version '{}' cannot be loaded, only 'gemm' and 'gemv'", version));
  }
  return config;
}

// FP4 or NF4: each weight says.
Result<QuantConfig> read_bitsandbytes(const HfConfig& from) {
  QuantConfig config;
  config.method = QuantMethod::kBitsandbytes;
  INGOT_TRY(const bool is_8_bit, from.boolean_or("load_in_8bit", false));
  config.bits = is_8_bit ? 8 : 4;
  return config;
}

Result<QuantConfig> read_fp8(const HfConfig& from) {
  QuantConfig config;
  config.method = QuantMethod::kFp8;
  INGOT_TRY(const std::string format, from.string_or("fmt", "e4m3"));
  if (format != "e4m3" && format != "e5m2")
    return refuse_quant(from, "fmt", fmt::format("FP8 of '{}' cannot be loaded", format));
  if (from.has("weight_block_size")) {
    INGOT_TRY(const std::vector<int64_t> block, from.integers("weight_block_size", {1, 1 << 20}));
    if (block.size() != 2) return from.error("weight_block_size", "must be two numbers");
    config.block_rows = block[0];
    config.block_cols = block[1];
  }
  INGOT_TRY(const std::string scheme, from.string_or("activation_scheme", "dynamic"));
  if (scheme != "dynamic" && scheme != "static") {
    return refuse_quant(from, "activation_scheme",
                        fmt::format("inputs rounded by '{}' are not known", scheme));
  }
  config.input.kind = InputKind::kE4m3;
  config.has_input_scale = scheme == "static";
  config.input.block = config.has_input_scale ? 0 : config.block_cols;
  INGOT_TRY(const std::string scales, from.string_or("scale_fmt", "float"));
  config.input.has_powers = scales == "ue8m0";
  return config;
}

Result<QuantConfig> read_fbgemm(const HfConfig& from) {
  QuantConfig config;
  config.method = QuantMethod::kFp8;
  config.input.kind = InputKind::kE4m3;
  INGOT_TRY(const double limit, from.number_or("activation_scale_ub", 1200));
  if (!(limit > 0) || limit > 1e9) return from.error("activation_scale_ub", "must be positive");
  config.input.limit = static_cast<float>(limit);
  return config;
}

// Intel's AutoRound writes the tensors of others.
Result<QuantConfig> read_auto_round(const HfConfig& from) {
  INGOT_TRY(const std::string packing, from.string_or("packing_format", ""));
  if (packing.ends_with("auto_gptq")) return read_gptq(from);
  if (packing.ends_with("auto_awq")) return read_awq(from);
  return refuse_quant(
      from, "packing_format",
      fmt::format("AutoRound's '{}' cannot be loaded, only auto_gptq and auto_awq", packing));
}

Result<QuantConfig> read_method(const HfConfig& from, const std::string& method) {
  if (method == "gptq") return read_gptq(from);
  if (method == "awq") return read_awq(from);
  if (method == "auto-round") return read_auto_round(from);
  if (method == "bitsandbytes") return read_bitsandbytes(from);
  if (method == "fp8") return read_fp8(from);
  if (method == "fbgemm_fp8") return read_fbgemm(from);
  if (method.starts_with("modelopt")) return read_modelopt_config(from);
  if (method == "compressed-tensors") return read_compressed_config(from);
  if (method == "mxfp4") {
    QuantConfig config;
    config.method = QuantMethod::kMxfp4;
    return config;
  }
  return refuse_quant(from, "quant_method",
                      fmt::format("checkpoints quantized by '{}' cannot be loaded yet", method));
}

}  // namespace

Status refuse_quant(const HfConfig& from, std::string_view key, std::string_view what) {
  return from.unsupported(key, fmt::format("{}; use the original weights or a GGUF file", what));
}

Status add_rule(const HfConfig& from, std::string_view key, std::string target,
                const WeightQuant& quant, QuantConfig& config) {
  if (target.starts_with(kPattern)) {
    const Status status = Pattern::parse(target.substr(kPattern.size())).status();
    if (!status.is_ok()) return from.unsupported(key, status.message());
  }
  config.rules.push_back({std::move(target), quant});
  return Status::ok();
}

const WeightQuant& QuantConfig::of(std::span<const std::string> names) const {
  for (const QuantRule& rule : rules) {
    if (std::ranges::any_of(names,
                            [&](const std::string& name) { return fits(rule.target, name); }))
      return rule.quant;
  }
  return *this;
}

Result<QuantConfig> read_quant_config(const HfConfig& config) {
  if (!config.has("quantization_config")) return QuantConfig();
  const auto from = config.object("quantization_config");
  if (!from) return config.error("quantization_config", "must be an object");
  // Old files of AutoAWQ and ModelOpt go without.
  const bool is_modelopt = !from->has("quant_method") && from->has("quant_algo");
  if (is_modelopt) return read_modelopt_config(*from);
  INGOT_TRY(const std::string method, from->string("quant_method"));
  return read_method(*from, method);
}

Result<QuantConfig> read_quant_config(const HfConfig& config, const std::filesystem::path& folder) {
  if (config.has("quantization_config")) return read_quant_config(config);
  struct File {
    const char* name;
    const char* method;
  };
  for (const File& file : {File{"quantize_config.json", "gptq"}, File{"quant_config.json", "awq"},
                           File{"hf_quant_config.json", "modelopt"}}) {
    std::error_code error;
    if (!std::filesystem::exists(folder / file.name, error)) continue;
    INGOT_TRY(const HfConfig from, HfConfig::open(folder / file.name));
    INGOT_TRY(const std::string method, from.string_or("quant_method", file.method));
    return read_method(from, method);
  }
  return QuantConfig();
}

}  // namespace ingot
