// SPDX-License-Identifier: Apache-2.0
// One pwrite that writes everything or says why not: short writes and interruptions go on, a full
// disk gets its own code and a next move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"

namespace ingot {

Status write_all(int fd, std::span<const std::byte> bytes, uint64_t offset, std::string_view name);
// For `errno` after a failed call: kResourceExhausted for a full disk or quota, else kIo.
Status write_error(std::string_view name, std::string_view action, int error);

}  // namespace ingot
