// SPDX-License-Identifier: Apache-2.0
// How much memory a process could still take: what the machine has free, and what the limits of its
// control groups leave. Files are read below `root`, so that tests can lay out machines of their
// own.
#pragma once

#include <cstdint>
#include <filesystem>

namespace ingot {

// Without swapping; the file cache counts as free. 0 where the system does not tell.
uint64_t free_memory_bytes(const std::filesystem::path& root = "/");

}  // namespace ingot
