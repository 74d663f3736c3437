// SPDX-License-Identifier: Apache-2.0
// What `ingot quantize` can be told where it writes GGUF, by llama-quantize's names.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "compress/gguf_types.h"

namespace ingot {

struct QuantizeGgufFlags {
  std::string imatrix;
  std::string embedding_type;
  std::string output_type;
  std::vector<std::string> tensor_types;  // PATTERN=TYPE
  bool is_pure = false;
  bool keeps_output = false;
  bool has_no_feedback = false;
};
void add_quantize_gguf_flags(CLI::App& command, QuantizeGgufFlags& flags);

Result<Layout> parse_gguf_type(const std::string& name);
// Everything but the mixture and the recipe.
Result<GgufTypeOptions> gguf_type_options(const QuantizeGgufFlags& flags);
// The mixtures, a line each, for --help.
std::string mixture_table();

}  // namespace ingot
