// SPDX-License-Identifier: Apache-2.0
// The conversation and the tools of a request in Anthropic's form become the same in OpenAI's,
// which templates read: blocks become text, tool_use blocks calls, tool_result blocks messages of
// their own, and turns of one speaker in a row become one turn.
#pragma once

#include "base/json.h"
#include "base/status.h"

namespace ingot {

// Errors begin with the field and say where in it. `system` may be null or empty.
Result<Json> anthropic_chat(const Json& system, const Json& messages);
// Errors continue a sentence that the field's name begins, as everywhere in api/.
Result<Json> anthropic_tools(const Json& tools);

}  // namespace ingot
