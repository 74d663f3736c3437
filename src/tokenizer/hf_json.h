// SPDX-License-Identifier: Apache-2.0
// Reader of Hugging Face's tokenizer.json. Truncation and padding are the caller's affair and
// ignored.
#pragma once

#include <string_view>

#include "base/status.h"
#include "tokenizer/pipeline.h"

namespace ingot::tok {

Result<PipelineParts> read_tokenizer_json(std::string_view text, std::string_view source);

}  // namespace ingot::tok
