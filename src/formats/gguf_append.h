// SPDX-License-Identifier: Apache-2.0
// GGUF's integers and strings, appended to bytes that become a header. Little-endian machines only,
// like the rest of formats/.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace ingot {

template <class T>
void gguf_append(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

inline void gguf_append_string(std::string& out, std::string_view text) {
  gguf_append<uint64_t>(out, text.size());
  out.append(text);
}

}  // namespace ingot
