// SPDX-License-Identifier: Apache-2.0
// Standard output carries results and nothing else. Written unbuffered, so that streamed text shows
// token by token; a reader that left is a Status, not a signal.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"

namespace ingot {

// Before anything else: SIGPIPE becomes an error of write(), and descriptors 0 to 2 exist, so that
// no file we open can take their place.
void prepare_standard_streams();

// kCancelled when it cannot be written: with an empty message when the reader left (no news to
// him), else with the reason.
Status print(std::string_view text);
Status print_json(const Json& value);  // one line

bool is_terminal(int fd);
// Text for a terminal: control characters but newline and tab removed, so that a model (or a file's
// metadata) cannot drive the screen.
std::string without_control_characters(std::string_view text);

}  // namespace ingot
