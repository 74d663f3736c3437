// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja/heap.h"

#include <algorithm>
#include <cstring>

#include "base/utf8.h"

namespace ingot::jinja {
namespace {

constexpr size_t kAlignment = 16;
constexpr size_t kFirstChunk = 16 * limits::kKiB;
constexpr size_t kChunk = 64 * limits::kKiB;

}  // namespace

Result<void*> Heap::allocate(size_t bytes) {
  INGOT_TRY(budget_.reserve(bytes));
  return place(bytes);
}

// The budget has said yes.
void* Heap::place(size_t bytes) {
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (rounded > left_) {
    if (rounded > kChunk / 4) {  // on its own, and the current chunk stays in use
      chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(rounded));
      return chunks_.back().get();
    }
    left_ = chunks_.empty() ? kFirstChunk : kChunk;
    chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(left_));
    next_ = chunks_.back().get();
  }
  void* result = next_;
  next_ += rounded;
  left_ -= rounded;
  return result;
}

Result<Value> Heap::text(std::string_view bytes, bool is_markup) {
  INGOT_TRY(budget_.copy(bytes.size()));
  INGOT_TRY(budget_.reserve(bytes.size()));
  INGOT_TRY(const std::string_view kept, keep_reserved(bytes));
  return view(kept, is_markup);
}

Result<std::string_view> Heap::keep_reserved(std::string_view bytes) {
  if (bytes.empty()) return std::string_view();
  char* copy = static_cast<char*>(place(bytes.size()));
  std::memcpy(copy, bytes.data(), bytes.size());
  return std::string_view(copy, bytes.size());
}

Result<Value> Heap::view(std::string_view bytes, bool is_markup) {
  INGOT_TRY(StringObject * object, create(StringObject{.bytes = bytes, .is_markup = is_markup}));
  return Value::object(Kind::kString, object);
}

Result<Value> Heap::character(std::string_view bytes) {
  if (bytes.size() != 1 || static_cast<unsigned char>(bytes[0]) >= ascii_.size())
    return view(bytes);
  StringObject*& shared = ascii_[static_cast<unsigned char>(bytes[0])];
  if (shared == nullptr) {
    INGOT_TRY(shared, create(StringObject{.bytes = bytes}));
  }
  return Value::object(Kind::kString, shared);
}

Result<Value> Heap::sequence(Kind kind, std::span<const Value> items) {
  INGOT_TRY(budget_.copy(items.size_bytes()));
  INGOT_TRY(const std::span<Value> copy, array<Value>(items.size()));
  std::ranges::copy(items, copy.begin());
  return own_sequence(kind, copy);
}

Result<Value> Heap::own_sequence(Kind kind, std::span<Value> items) {
  INGOT_TRY(SequenceObject * object, create(SequenceObject{.items = items}));
  return Value::object(kind, object);
}

Result<Value> Heap::pair(Value first, Value second) {
  INGOT_TRY(const std::span<Value> items, array<Value>(2));
  items[0] = first;
  items[1] = second;
  return own_sequence(Kind::kTuple, items);
}

Result<Value> Heap::undefined(std::string_view name, Value owner) {
  INGOT_TRY(UndefinedObject * object,
            create(UndefinedObject{.owner = owner, .element = {}, .name = name, .hint = {}}));
  return Value::object(Kind::kUndefined, object);
}

Result<Value> Heap::undefined_element(Value element, Value owner) {
  INGOT_TRY(UndefinedObject * object,
            create(UndefinedObject{.owner = owner, .element = element, .name = {}, .hint = {}}));
  return Value::object(Kind::kUndefined, object);
}

Result<Value> Heap::undefined_because(std::string_view hint) {
  INGOT_TRY(UndefinedObject * object,
            create(UndefinedObject{.owner = {}, .element = {}, .name = {}, .hint = hint}));
  return Value::object(Kind::kUndefined, object);
}

Result<Value> Heap::method(Value self, const Builtin& method) {
  INGOT_TRY(MethodObject * object, create(MethodObject{.self = self, .method = &method}));
  return Value::object(Kind::kMethod, object);
}

bool TextBuilder::admit(uint64_t bytes) {
  if (has_failed()) return false;
  if (bytes > limit_ - text_.size()) {
    fail(Status::resource_exhausted("the output grows past {} bytes", limit_));
    return false;
  }
  if (is_reserving_) fail(heap_.budget().reserve(bytes));
  if (!has_failed()) fail(heap_.budget().copy(bytes));
  return !has_failed();
}

void TextBuilder::append(std::string_view bytes) {
  if (admit(bytes.size())) text_.append(bytes);
}

void TextBuilder::append_code_point(char32_t code_point) {
  const uint64_t size = code_point < 0x80      ? 1
                        : code_point < 0x800   ? 2
                        : code_point < 0x10000 ? 3
                                               : 4;
  if (admit(size)) utf8::append(text_, code_point);
}

void TextBuilder::repeat(std::string_view unit, uint64_t times) {
  if (unit.empty() || times == 0) return;
  const uint64_t bytes = times > UINT64_MAX / unit.size() ? UINT64_MAX : times * unit.size();
  if (!admit(bytes)) return;
  text_.reserve(text_.size() + bytes);
  for (uint64_t i = 0; i < times; ++i)
    text_.append(unit);
}

Result<Value> TextBuilder::finish(bool is_markup) {
  INGOT_TRY(status_);
  INGOT_TRY(const std::string_view kept, heap_.keep_reserved(text_));
  return heap_.view(kept, is_markup);
}

Result<std::string> TextBuilder::take() {
  INGOT_TRY(status_);
  return std::move(text_);
}

void ListBuilder::push(Value value) {
  // Twice its size: a growing vector keeps spare room.
  if (!has_failed()) fail(heap_.budget().reserve(2 * sizeof(Value)));
  if (!has_failed()) items_.push_back(value);
}

void ListBuilder::push(Result<Value> value) {
  if (value.is_ok()) {
    push(*value);
  } else {
    fail(value.status());
  }
}

Result<Value> ListBuilder::finish(Kind kind) {
  INGOT_TRY(status_);
  return heap_.sequence(kind, items_);
}

}  // namespace ingot::jinja
