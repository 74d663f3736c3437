// SPDX-License-Identifier: Apache-2.0
// The prompts of a parsed request become token ids, before any of them is submitted: a request that
// cannot run fails whole, and writers know what was asked.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "api/openai_error.h"
#include "api/openai_request.h"
#include "ingot/engine.h"

namespace ingot {

// Renders and encodes every prompt and checks that it fits. Afterwards each of request.requests has
// its prompt as ids alone, and request.prompt_texts what was given.
std::optional<OpenAiError> encode_prompts(const TextEngine& engine, OpenAiRequest& request);

// Shortens the prompt as truncate_prompt_tokens asks; false when there was nothing to do.
bool truncate_prompt(const OpenAiRequest& request, const TextRequest& text, int64_t context,
                     std::vector<TokenId>& ids);

}  // namespace ingot
