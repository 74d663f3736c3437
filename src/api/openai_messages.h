// SPDX-License-Identifier: Apache-2.0
// The messages and tools of a chat as a client sends them become what chat templates expect: text
// parts joined, arguments of tool calls as objects. Everything else is passed through.
#pragma once

#include "base/json.h"
#include "base/status.h"

namespace ingot {

// Errors say which message.
Result<Json> template_messages(const Json& messages);
Result<Json> template_tools(const Json& tools);

}  // namespace ingot
