// SPDX-License-Identifier: Apache-2.0
// XXH64 with seed 0: tells a torn or rotten file from a whole one at memory speed. Not for keys:
// collisions are easily made (page_key.h has the hash for those).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ingot {

uint64_t checksum64(std::span<const std::byte> bytes);

}  // namespace ingot
