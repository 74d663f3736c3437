// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/utf8.h"

namespace ingot {

void prepare_standard_streams() {
  ::signal(SIGPIPE, SIG_IGN);
  // Opened the wrong way round on purpose: using a stream that was closed stays an error.
  for (const int fd : {0, 1, 2}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    if (::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

Status print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<size_t>(count));
    } else if (errno == EAGAIN) {
      pollfd ready{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, -1);
    } else if (errno == EPIPE) {
      return Status::cancelled("");
    } else if (errno != EINTR) {
      return Status::cancelled("cannot write to standard output: {}", std::strerror(errno));
    }
  }
  return Status::ok();
}

Status print_json(const Json& value) {
  return print(dump_json(value) + "\n");
}

bool is_terminal(int fd) {
  return ::isatty(fd) == 1;
}

std::string without_control_characters(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const utf8::Decoded decoded = utf8::decode(text);
    const char32_t c = decoded.code_point;
    const bool is_control = (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0);
    if (!is_control) clean += text.substr(0, decoded.size);
    text.remove_prefix(decoded.size);
  }
  return clean;
}

}  // namespace ingot
