// SPDX-License-Identifier: Apache-2.0
#include "cli/quantize_flags.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace ingot {
namespace {

const std::vector<std::string> kMethods = {"rtn", "gptq", "awq",   "smoothquant",
                                           "fp8", "nf4",  "mxfp4", "nvfp4"};

Status unfit(std::string_view flag, const std::string& method, std::string_view why) {
  return Status::invalid_argument("{} does not go with --method {}: {}", flag, method, why);
}

Result<WeightKind> affine_kind(const QuantizeFlags& flags) {
  const std::string& format = flags.format;
  if (flags.method == "smoothquant") {
    if (format == "auto" || format == "compressed-tensors") return WeightKind::kInt8;
    return unfit("--format " + format, flags.method, "it writes compressed-tensors");
  }
  if (format == "gptq" || (format == "auto" && flags.method == "gptq")) return WeightKind::kGptq;
  if (format == "awq" || (format == "auto" && flags.method == "awq")) return WeightKind::kAwq;
  return WeightKind::kPacked;
}

Status set_affine(const QuantizeFlags& flags, Layout dtype, CompressOptions& options) {
  WeightFormat& format = options.format;
  INGOT_TRY(format.kind, affine_kind(flags));
  AffineOptions& affine = format.affine;
  const bool is_int8 = format.kind == WeightKind::kInt8;
  affine.bits = flags.bits != 0 ? flags.bits : is_int8 ? 8 : 4;
  if (is_int8 && affine.bits != 8) return unfit("--bits", flags.method, "its weights are bytes");
  const int64_t wanted = flags.group_size == INT64_MIN ? (is_int8 ? -1 : 128) : flags.group_size;
  if (is_int8 && wanted > 0) return unfit("--group-size", flags.method, "its scales are per row");
  if (wanted == 0 || wanted < -1 || (wanted > 0 && wanted % 8 != 0)) {
    return Status::invalid_argument(
        "--group-size must be -1 (a row is one group) or a multiple of 8, not {}", wanted);
  }
  affine.group_columns = std::max<int64_t>(wanted, 0);
  // AWQ files have zero points by convention; the others rarely.
  const bool is_asymmetric =
      format.kind == WeightKind::kAwq ? !flags.is_symmetric : flags.is_asymmetric;
  if (is_int8 && is_asymmetric) return unfit("--asym", flags.method, "its weights are symmetric");
  affine.is_symmetric = !is_asymmetric;
  affine.searches = !flags.has_no_search;
  affine.least_zero = format.kind == WeightKind::kGptq ? 1 : 0;
  affine.scale_layout =
      format.kind == WeightKind::kGptq || format.kind == WeightKind::kAwq ? Layout::kF16 : dtype;
  if (format.kind == WeightKind::kAwq && affine.bits != 4)
    return unfit("--bits", flags.method, "AWQ files have 4 bits");
  if (format.kind == WeightKind::kPacked && affine.bits != 4 && affine.bits != 8)
    return unfit("--bits", flags.method, "compressed-tensors files have 4 or 8 bits here");
  if (format.kind == WeightKind::kGptq && affine.bits != 2 && affine.bits != 3 &&
      affine.bits != 4 && affine.bits != 8)
    return unfit("--bits", flags.method, "GPTQ files have 2, 3, 4 or 8 bits");
  if (flags.orders_columns && (flags.method != "gptq" || format.kind != WeightKind::kGptq))
    return unfit("--act-order", flags.method, "only GPTQ in GPTQ files orders columns");
  return Status::ok();
}

Status set_fp8(const QuantizeFlags& flags, Layout dtype, CompressOptions& options) {
  WeightFormat& format = options.format;
  format.kind = WeightKind::kFp8;
  format.has_static_inputs = flags.is_static;
  std::string scales = flags.scales;
  if (scales == "auto") scales = flags.is_static ? "tensor" : "channel";
  if (scales == "block" && flags.is_static)
    return unfit("--static", flags.method, "blocks of weights have dynamic inputs");
  format.fp8.scales = scales == "tensor"  ? Fp8Scales::kTensor
                      : scales == "block" ? Fp8Scales::kBlock
                                          : Fp8Scales::kRow;
  format.fp8.scale_layout = dtype;
  format.fp8.has_input_scale = flags.is_static;
  return Status::ok();
}

Result<ModuleRule> parse_override(const std::string& text) {
  const size_t equals = text.rfind('=');
  ModuleRule rule;
  if (equals != std::string::npos && equals > 0) {
    rule.pattern = text.substr(0, equals);
    const std::string value = text.substr(equals + 1);
    const size_t colon = value.find(':');
    int bits = 0;
    const char* end = value.data() + std::min(colon, value.size());
    if (const auto [at, error] = std::from_chars(value.data(), end, bits);
        error == std::errc() && at == end && bits >= 2 && bits <= 8) {
      rule.bits = bits;
      if (colon == std::string::npos) return rule;
      int64_t group = 0;
      const char* last = value.data() + value.size();
      const auto [stop, failed] = std::from_chars(end + 1, last, group);
      if (failed == std::errc() && stop == last && (group == -1 || (group > 0 && group % 8 == 0))) {
        rule.group_columns = std::max<int64_t>(group, 0);
        return rule;
      }
    }
  }
  return Status::invalid_argument(
      "--override '{}' is not PATTERN=BITS or PATTERN=BITS:GROUP, such as 'down_proj=8:128'", text);
}

}  // namespace

bool is_safetensors_method(const std::string& method) {
  return std::ranges::find(kMethods, method) != kMethods.end();
}

void add_quantize_flags(CLI::App& command, QuantizeFlags& flags) {
  command.add_option("--format", flags.format, "auto, gptq, awq or compressed-tensors")
      ->check(CLI::IsMember({"auto", "gptq", "awq", "compressed-tensors"}))
      ->type_name("NAME");
  command.add_option("--bits,--wbits", flags.bits, "Of a code: 2, 3, 4 or 8 (the method's own: 4)")
      ->check(CLI::Range(2, 8))
      ->type_name("N");
  command
      .add_option("--group-size", flags.group_size,
                  "Columns that share a scale; -1: a whole row (128)")
      ->type_name("N");
  command.add_flag("--sym", flags.is_symmetric, "No zero points");
  command.add_flag("--asym", flags.is_asymmetric, "Zero points");
  command.add_flag("--act-order,--desc-act", flags.orders_columns,
                   "GPTQ: the columns with the largest inputs first");
  command.add_flag("--no-true-sequential", flags.is_parallel,
                   "GPTQ: gather all inputs of a layer before any of its weights is quantized");
  command.add_flag("--no-search", flags.has_no_search,
                   "Take each group's whole range instead of the one that loses least");
  command.add_option("--damp-percent", flags.damping, "GPTQ: share of the mean added to H (0.01)")
      ->check(CLI::Range(1e-6, 1.0))
      ->type_name("X");
  command.add_option("--scales", flags.scales, "FP8: tensor, channel or block (channel)")
      ->check(CLI::IsMember({"auto", "tensor", "channel", "block"}))
      ->type_name("NAME");
  command.add_flag("--static", flags.is_static, "FP8: one scale for all inputs, by calibration");
  command.add_flag("--no-double-quant", flags.has_plain_scales, "NF4: scales as floats");
  command
      .add_option("--keep,--ignore", flags.keeps,
                  "Modules that stay as they are: a regular expression found in their names")
      ->type_name("PATTERN");
  command.add_option("--override", flags.overrides, "Other bits or groups: PATTERN=BITS[:GROUP]")
      ->type_name("RULE");
  command
      .add_option("--calibration,--dataset", flags.calibration,
                  "Text or .jsonl to calibrate on (a small built-in mix)")
      ->type_name("FILE");
  command.add_option("--samples,--num-samples", flags.samples, "Windows of it, at most (128)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
      ->type_name("N");
  command.add_option("--seq-len,--max-seq-length", flags.sequence_length, "Tokens of each (512)")
      ->check(CLI::Range(int64_t{8}, int64_t{1} << 20))
      ->type_name("N");
  command
      .add_option("--own-samples", flags.own_samples,
                  "Besides: windows that the model writes itself (0)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 16))
      ->type_name("N");
}

Result<CompressOptions> compress_options(const QuantizeFlags& flags, Layout dtype) {
  CompressOptions options;
  const std::string& method = flags.method;
  if (flags.is_symmetric && flags.is_asymmetric)
    return Status::invalid_argument("--sym and --asym exclude each other");
  const Layout scale_layout =
      dtype == Layout::kF16 || dtype == Layout::kBF16 ? dtype : Layout::kF32;
  if (method == "rtn" || method == "gptq" || method == "awq" || method == "smoothquant") {
    INGOT_TRY(set_affine(flags, scale_layout, options));
    options.method = method == "gptq"  ? CompressMethod::kGptq
                     : method == "awq" ? CompressMethod::kAwq
                     : method == "rtn" ? CompressMethod::kRtn
                                       : CompressMethod::kSmoothQuant;
  } else if (method == "fp8") {
    INGOT_TRY(set_fp8(flags, scale_layout, options));
  } else if (method == "nf4") {
    options.format.kind = WeightKind::kNf4;
    options.format.nf4.is_nested = !flags.has_plain_scales;
    if (flags.group_size > 0) options.format.nf4.block = flags.group_size;
    options.format.nf4.dtype = dtype == Layout::kF16    ? "float16"
                               : dtype == Layout::kBF16 ? "bfloat16"
                                                        : "float32";
  } else {
    options.format.kind = method == "mxfp4" ? WeightKind::kMxfp4 : WeightKind::kNvfp4;
  }
  options.orders_columns = flags.orders_columns;
  options.damping = flags.damping;
  options.is_sequential = !flags.is_parallel;
  for (const std::string& pattern : flags.keeps) {
    ModuleRule rule;
    rule.pattern = pattern;
    rule.keeps = true;
    options.rules.push_back(std::move(rule));
  }
  for (const std::string& text : flags.overrides) {
    if (!options.format.is_affine() || options.format.kind == WeightKind::kAwq ||
        options.format.kind == WeightKind::kInt8)
      return unfit("--override", method, "its files have one width");
    INGOT_TRY(ModuleRule rule, parse_override(text));
    options.rules.push_back(std::move(rule));
  }
  return options;
}

}  // namespace ingot
