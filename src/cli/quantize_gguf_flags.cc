// SPDX-License-Identifier: Apache-2.0
#include "cli/quantize_gguf_flags.h"

#include <fmt/core.h>

#include "blocks/layout.h"
#include "quant/mixture.h"
#include "quant/quantize_rows.h"

namespace ingot {

void add_quantize_gguf_flags(CLI::App& command, QuantizeGgufFlags& flags) {
  command
      .add_option("--imatrix", flags.imatrix,
                  "GGUF types: importance matrix (of 'ingot imatrix' or llama-imatrix)")
      ->type_name("FILE");
  command.add_option("--token-embedding-type", flags.embedding_type, "GGUF: type of the embedding")
      ->type_name("TYPE");
  command.add_option("--output-tensor-type", flags.output_type, "GGUF: type of the output matrix")
      ->type_name("TYPE");
  command
      .add_option("--tensor-type", flags.tensor_types,
                  "GGUF: type of tensors whose name contains a match: PATTERN=TYPE")
      ->type_name("RULE");
  command.add_flag("--pure", flags.is_pure, "GGUF: one type for all matrices");
  command.add_flag("--leave-output-tensor", flags.keeps_output, "GGUF: the output matrix in F16");
  command.add_flag("--no-error-feedback", flags.has_no_feedback,
                   "GGUF: calibration weighs errors, but no column takes in those of others");
}

Result<Layout> parse_gguf_type(const std::string& name) {
  const std::optional<Layout> layout = layout_named(name);
  if (layout && can_quantize(*layout)) return *layout;
  return Status::invalid_argument("unknown GGUF type '{}'; give one like Q4_K, Q8_0 or F16", name);
}

Result<GgufTypeOptions> gguf_type_options(const QuantizeGgufFlags& flags) {
  GgufTypeOptions options;
  options.is_pure = flags.is_pure;
  if (!flags.embedding_type.empty()) {
    INGOT_TRY(options.embedding, parse_gguf_type(flags.embedding_type));
  }
  if (!flags.output_type.empty()) {
    INGOT_TRY(options.output, parse_gguf_type(flags.output_type));
  } else if (flags.keeps_output) {
    options.output = Layout::kF16;
  }
  for (const std::string& text : flags.tensor_types) {
    const size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      return Status::invalid_argument("--tensor-type '{}' is not PATTERN=TYPE, such as '{}'", text,
                                      "ffn_down=Q6_K");
    }
    INGOT_TRY(const Layout layout, parse_gguf_type(text.substr(equals + 1)));
    options.patterns.emplace_back(text.substr(0, equals), layout);
  }
  return options;
}

std::string mixture_table() {
  std::string text;
  for (const Mixture& mixture : all_mixtures()) {
    text += fmt::format("  {:<12} {:5.2f} bits  {}\n", mixture.name, mixture.bits_per_weight,
                        mixture.description);
  }
  return text;
}

}  // namespace ingot
