// SPDX-License-Identifier: Apache-2.0
// The messages of a chat in Ollama's form become the same in OpenAI's, which templates read.
#pragma once

#include "base/json.h"
#include "base/status.h"

namespace ingot {

// `messages` is a list. Errors are to be put right behind the name of the field.
Result<Json> ollama_chat(const Json& messages);

}  // namespace ingot
