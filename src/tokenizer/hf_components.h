// SPDX-License-Identifier: Apache-2.0
// The small parts of a tokenizer.json: "normalizer", "pre_tokenizer", "post_processor", "decoder".
// Sequences are flattened; each list is at most limits::kPipelineSteps long.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "tokenizer/decoders.h"
#include "tokenizer/normalizers.h"
#include "tokenizer/post_processor.h"
#include "tokenizer/pre_tokenizers.h"

namespace ingot::tok {

// A null `json` means "none", which is an empty list.
Result<std::vector<NormalizerPtr>> read_normalizers(const Json& json, std::string_view source);
Result<std::vector<PreTokenizerPtr>> read_pre_tokenizers(const Json& json, std::string_view source);
Result<std::vector<DecoderPtr>> read_decoders(const Json& json, std::string_view source);
// Every id must be below `vocab_size`.
Result<std::vector<Template>> read_templates(const Json& json, size_t vocab_size,
                                             std::string_view source);

}  // namespace ingot::tok
