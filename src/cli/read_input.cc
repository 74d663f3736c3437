// SPDX-License-Identifier: Apache-2.0
#include "cli/read_input.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "base/mapped_file.h"
#include "cli/output.h"

namespace ingot {

Result<std::string> read_stdin() {
  if (is_terminal(STDIN_FILENO)) std::fputs("(type the input, then Ctrl-D)\n", stderr);
  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Status::io("cannot read standard input: {}", std::strerror(errno));
    text.append(buffer.data(), static_cast<size_t>(count));
    if (text.size() > kInputBytes)
      return Status::resource_exhausted("standard input holds more than {} bytes", kInputBytes);
  }
}

Result<std::string> read_text(std::string_view path) {
  if (path == "-") return read_stdin();
  return read_small_file(std::filesystem::path(path), kInputBytes);
}

Result<Json> read_json(std::string_view path) {
  if (path != "-") return read_json_file(std::filesystem::path(path));
  INGOT_TRY(const std::string text, read_stdin());
  if (text.size() > limits::kConfigBytes)
    return Status::resource_exhausted("standard input holds {} bytes of JSON, more than {}",
                                      text.size(), limits::kConfigBytes);
  return parse_json(text, "standard input");
}

}  // namespace ingot
