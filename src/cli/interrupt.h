// SPDX-License-Identifier: Apache-2.0
// Ctrl-C as a question instead of an end: while an InterruptScope lives, SIGINT only sets a flag
// that the running answer looks at.
#pragma once

namespace ingot {

// One at a time, on the main thread.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  // Since the scope began.
  static bool was_pressed();
};

}  // namespace ingot
