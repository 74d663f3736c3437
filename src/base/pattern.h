// SPDX-License-Identifier: Apache-2.0
// Regular expressions for names of modules and tensors, as quantization configs have them
// ("re:.*self_attn\.(q|k|v)_proj$"): the common part of Python's syntax, matched from the beginning
// of a name as re.match does. Patterns come from files: the work of one match is bounded, and what
// would take more does not match. Immutable; thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace ingot {

class Pattern {
 public:
  // Literals, . \d \w \s \b and escapes, [sets], (groups), (?:groups), (?=ahead), (?!not ahead), |,
  // * + ? {m,n} greedy or lazy, ^ and $. Anything else is refused by name.
  static Result<Pattern> parse(std::string_view text);

  // Whether some beginning of the name matches.
  bool matches(std::string_view name) const;

  struct Node;

 private:
  explicit Pattern(std::shared_ptr<const Node> root) : root_(std::move(root)) {}
  std::shared_ptr<const Node> root_;
};

}  // namespace ingot
