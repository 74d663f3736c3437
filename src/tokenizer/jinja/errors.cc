// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja/errors.h"

#include "tokenizer/jinja/python_text.h"

namespace ingot::jinja {
namespace {

// Messages quote the template and the data; a name of a megabyte helps nobody.
std::string_view shortened(std::string_view text) {
  constexpr size_t kMost = 200;
  if (text.size() <= kMost) return text;
  size_t size = kMost;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80)
    --size;
  return text.substr(0, size);
}

}  // namespace

std::string undefined_message(Heap& heap, Value undefined) {
  const UndefinedObject& what = undefined.undefined();
  if (!what.hint.empty()) return std::string(what.hint);
  if (what.owner.is_absent()) return fmt::format("'{}' is undefined", shortened(what.name));
  const std::string owner =
      what.owner.is_none() ? "None" : fmt::format("{} object", type_name(what.owner));
  if (what.element.is_absent()) {
    return fmt::format("'{}' has no attribute '{}'", owner, shortened(what.name));
  }
  TextBuilder element(heap);
  write_repr(element, what.element);
  return fmt::format("{} has no element {}", owner, shortened(element.so_far()));
}

Status check_defined(Heap& heap, Value value) {
  if (!value.is_undefined()) return Status::ok();
  return {StatusCode::kInvalidData, undefined_message(heap, value)};
}

Result<std::string_view> expect_text(Heap& heap, Value value) {
  if (value.is_string()) return value.text();
  INGOT_TRY(check_defined(heap, value));
  return Status::invalid_data("expected a string, not {}", type_name(value));
}

Result<int64_t> expect_integer(Heap& heap, Value value) {
  if (value.is_integral()) return value.as_integer();
  INGOT_TRY(check_defined(heap, value));
  return Status::invalid_data("'{}' object cannot be interpreted as an integer", type_name(value));
}

}  // namespace ingot::jinja
