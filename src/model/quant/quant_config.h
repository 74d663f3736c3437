// SPDX-License-Identifier: Apache-2.0
// What config.json says of a quantized checkpoint (quantization_config, or a file of its own beside
// it): which tensors stand for a weight, what their numbers mean, and how inputs are rounded. What
// is plain in the file is plain, whatever lists of modules say. What cannot be loaded is refused
// here, with its name.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/hf_config.h"
#include "tensor/input_quant.h"

namespace ingot {

enum class QuantMethod : uint8_t {
  kNone,
  kGptq,
  kAwq,
  kBitsandbytes,
  kFp8,                // also the float formats of compressed-tensors and ModelOpt
  kNvfp4,              // of compressed-tensors and ModelOpt
  kMxfp4,              // the experts of gpt-oss; its other weights are plain
  kCompressedTensors,  // packed integers, bytes and MXFP4
};

// How the weight of a module is stored.
struct WeightQuant {
  QuantMethod method = QuantMethod::kNone;
  int64_t bits = 0;                    // GPTQ, packed integers
  int64_t group_columns = 0;           // GPTQ, AWQ; 0: one group
  bool stores_zeros_less_one = false;  // GPTQ's first format
  bool is_symmetric = false;
  bool is_gemv = false;    // AWQ whose words run along the columns
  bool is_e2m1 = false;    // MXFP4 of compressed-tensors
  int64_t block_rows = 0;  // of FP8 scales; 0: per row or tensor
  int64_t block_cols = 0;
  InputQuant input;
  bool has_input_scale = false;  // a tensor beside the weight
  bool operator==(const WeightQuant&) const = default;
};

// Modules that are stored in another way: a name, or a pattern after "re:".
struct QuantRule {
  std::string target;
  WeightQuant quant;
  bool operator==(const QuantRule&) const = default;
};

struct QuantConfig : WeightQuant {
  std::vector<QuantRule> rules;  // the first that fits holds
  bool operator==(const QuantConfig&) const = default;

  bool is_quantized() const { return method != QuantMethod::kNone || !rules.empty(); }
  // Of the module with one of these names.
  const WeightQuant& of(std::span<const std::string> names) const;
};

// None where the checkpoint is not quantized.
Result<QuantConfig> read_quant_config(const HfConfig& config);
// The same where quantize_config.json, quant_config.json or hf_quant_config.json may say what
// config.json does not.
Result<QuantConfig> read_quant_config(const HfConfig& config, const std::filesystem::path& folder);

// Parts of it, each for the object of its method.
Result<QuantConfig> read_compressed_config(const HfConfig& from);
Result<QuantConfig> read_modelopt_config(const HfConfig& from);
Status refuse_quant(const HfConfig& from, std::string_view key, std::string_view what);
// Refused where it is a pattern that is not understood.
Status add_rule(const HfConfig& from, std::string_view key, std::string target,
                const WeightQuant& quant, QuantConfig& config);

}  // namespace ingot
