// SPDX-License-Identifier: Apache-2.0
#include "formats/gguf_field.h"

#include "base/limits.h"
#include "base/utf8.h"

namespace ingot {

Result<std::string_view> GgufField::read_name() {
  INGOT_TRY(const uint64_t size, read<uint64_t>());
  if (size == 0) return error("the name is empty");
  if (size > limits::kTensorNameBytes) {
    return error(
        fmt::format("the name has {} bytes, more than {}", size, limits::kTensorNameBytes));
  }
  INGOT_TRY(const auto view, bytes(size));
  const std::string_view name(reinterpret_cast<const char*>(view.data()), view.size());
  if (!utf8::is_valid(name)) return error("the name is not valid UTF-8");
  if (has_control_characters(name)) return error("the name holds a control character");
  name_ = name;
  return name;
}

std::string GgufField::describe() const {
  if (name_.empty()) return fmt::format("{} {}", kind_, number_);
  return fmt::format("{} {}", kind_, quote_name(name_));
}

}  // namespace ingot
