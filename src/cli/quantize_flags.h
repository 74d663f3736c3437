// SPDX-License-Identifier: Apache-2.0
// What `ingot quantize` can be told, and what it means: names of methods and types become options.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "compress/compress_options.h"

namespace ingot {

struct QuantizeFlags {
  std::string method;
  std::string format = "auto";
  int bits = 0;                    // 0: the method's own
  int64_t group_size = INT64_MIN;  // not given: the method's own; -1: a row
  bool is_symmetric = false;
  bool is_asymmetric = false;
  bool orders_columns = false;
  bool is_parallel = false;  // not true-sequential
  bool has_no_search = false;
  double damping = 0.01;
  std::string scales = "auto";    // FP8: tensor, channel, block
  bool is_static = false;         // FP8: inputs too
  bool has_plain_scales = false;  // NF4 without double quantization
  std::vector<std::string> keeps;
  std::vector<std::string> overrides;  // PATTERN=BITS[:GROUP]
  std::string calibration;
  int64_t samples = 128;
  int64_t sequence_length = 512;
  int64_t own_samples = 0;
};
void add_quantize_flags(CLI::App& command, QuantizeFlags& flags);

// The options but for samples; `dtype` is the layout of the weights that are quantized.
Result<CompressOptions> compress_options(const QuantizeFlags& flags, Layout dtype);
// The methods that write safetensors.
bool is_safetensors_method(const std::string& method);

}  // namespace ingot
