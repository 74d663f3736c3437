// SPDX-License-Identifier: Apache-2.0
// Tokens into a Program, by recursive descent with a depth counter: nesting past
// limits::kTemplateDepth is refused, chains of any length are not nesting.
#pragma once

#include <memory>
#include <string_view>

#include "base/status.h"
#include "tokenizer/jinja/ast.h"

namespace ingot::jinja {

// Errors name the line.
Result<std::shared_ptr<const Program>> parse_template(std::string_view source);

}  // namespace ingot::jinja
