// SPDX-License-Identifier: Apache-2.0
// Where every thread of this process stands right now: for the log of a server that is stuck.
// Threads tell it themselves, from a signal handler that allocates nothing.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace ingot {

struct ThreadStack {
  int id = 0;
  std::string name = {};
  std::vector<std::string> frames = {};  // innermost first; empty: the thread did not answer
};

// Of all threads but the caller's. One caller at a time. Waits so long for each thread.
std::vector<ThreadStack> stacks_of_other_threads(std::chrono::milliseconds limit);

}  // namespace ingot
