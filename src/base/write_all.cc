// SPDX-License-Identifier: Apache-2.0
#include "base/write_all.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ingot {

Status write_error(std::string_view name, std::string_view action, int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT;
  return {is_full ? StatusCode::kResourceExhausted : StatusCode::kIo,
          fmt::format("{}: cannot {}: {}{}", name, action, std::strerror(error),
                      is_full ? "; free some space and run again" : "")};
}

Status write_all(int fd, std::span<const std::byte> bytes, uint64_t offset, std::string_view name) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return write_error(name, "write", count == 0 ? ENOSPC : errno);
    offset += static_cast<uint64_t>(count);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return Status::ok();
}

}  // namespace ingot
