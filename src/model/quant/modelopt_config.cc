// SPDX-License-Identifier: Apache-2.0
// ModelOpt's description: one algorithm for all weights, or one for each of them by name
// (MIXED_PRECISION). In hf_quant_config.json it stands inside "quantization".
#include "model/quant/quant_config.h"

namespace ingot {
namespace {

Result<WeightQuant> read_algorithm(const HfConfig& from) {
  WeightQuant quant;
  INGOT_TRY(const std::string algorithm, from.string("quant_algo"));
  quant.method = QuantMethod::kFp8;
  if (algorithm == "FP8") {
    quant.input.kind = InputKind::kE4m3;
    quant.has_input_scale = true;
  } else if (algorithm == "FP8_PER_CHANNEL_PER_TOKEN") {
    quant.input.kind = InputKind::kE4m3;
  } else if (algorithm == "FP8_PB_WO" || algorithm == "FP8_PB_REAL") {
    quant.block_rows = 128;
    quant.block_cols = 128;
  } else if (algorithm == "MXFP8") {
    quant.block_rows = 1;
    quant.block_cols = 32;
    quant.input = {.kind = InputKind::kE4m3, .block = 32, .has_powers = true};
  } else if (algorithm == "NVFP4" || algorithm == "W4A16_NVFP4") {
    quant.method = QuantMethod::kNvfp4;
  } else {
    return refuse_quant(from, "quant_algo",
                        fmt::format("ModelOpt's '{}' cannot be loaded yet", algorithm));
  }
  return quant;
}

}  // namespace

Result<QuantConfig> read_modelopt_config(const HfConfig& outer) {
  const auto inner = outer.object("quantization");
  const HfConfig& from = inner ? *inner : outer;
  QuantConfig config;
  INGOT_TRY(const std::string algorithm, from.string("quant_algo"));
  if (algorithm != "MIXED_PRECISION") {
    INGOT_TRY(static_cast<WeightQuant&>(config), read_algorithm(from));
    return config;
  }
  const auto layers = from.object("quantized_layers");
  if (!layers) return from.error("quantized_layers", "missing");
  for (const std::string& name : layers->keys()) {
    const auto layer = layers->object(name);
    if (!layer) return layers->error(name, "must be an object");
    INGOT_TRY(const WeightQuant quant, read_algorithm(*layer));
    INGOT_TRY(add_rule(*layers, name, name, quant, config));
  }
  return config;
}

}  // namespace ingot
