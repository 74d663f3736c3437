// SPDX-License-Identifier: Apache-2.0
// Where the values of one rendering live: a bump allocator inside the rendering's budget, freed as
// a whole. Builders collect text and lists of unknown length; they remember the first failure, so
// code that appends checks once, at the end. One thread only.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/status.h"
#include "tokenizer/jinja/budget.h"
#include "tokenizer/jinja/value.h"

namespace ingot::jinja {

class Heap {
 public:
  explicit Heap(const Allowance& allowance) : budget_(allowance) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  Budget& budget() { return budget_; }

  template <class Object>
  Result<Object*> create(Object object) {
    static_assert(std::is_trivially_destructible_v<Object>);
    INGOT_TRY(void* place, allocate(sizeof(Object)));
    return new (place) Object(object);
  }
  template <class Item>
  Result<std::span<Item>> array(size_t count) {
    static_assert(std::is_trivially_destructible_v<Item>);
    if (count > SIZE_MAX / sizeof(Item))
      return Status::resource_exhausted("the template needs too much memory");
    INGOT_TRY(void* place, allocate(count * sizeof(Item)));
    Item* items = static_cast<Item*>(place);
    for (size_t i = 0; i < count; ++i)
      new (items + i) Item();
    return std::span<Item>(items, count);
  }

  // A string of its own, or a view of bytes that outlive the rendering.
  Result<Value> text(std::string_view bytes, bool is_markup = false);
  Result<Value> view(std::string_view bytes, bool is_markup = false);
  // One character; the 128 of ASCII are shared.
  Result<Value> character(std::string_view bytes);
  // `items` are copied; `own_sequence` takes an array of this heap.
  Result<Value> sequence(Kind kind, std::span<const Value> items);
  Result<Value> own_sequence(Kind kind, std::span<Value> items);
  Result<Value> pair(Value first, Value second);
  Result<Value> undefined(std::string_view name, Value owner = {});
  Result<Value> undefined_element(Value element, Value owner);
  Result<Value> undefined_because(std::string_view hint);
  Result<Value> method(Value self, const Builtin& method);

  // Charged like `text`, without copying: for a buffer whose bytes were reserved while it grew.
  Result<std::string_view> keep_reserved(std::string_view bytes);

 private:
  Result<void*> allocate(size_t bytes);
  void* place(size_t bytes);

  Budget budget_;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::byte* next_ = nullptr;
  size_t left_ = 0;
  std::array<StringObject*, 128> ascii_ = {};
};

// Text that grows. With `limit`, it is the output: bounded by itself and outside the heap.
class TextBuilder {
 public:
  explicit TextBuilder(Heap& heap) : heap_(heap), limit_(SIZE_MAX), is_reserving_(true) {}
  TextBuilder(Heap& heap, uint64_t limit) : heap_(heap), limit_(limit), is_reserving_(false) {}

  void append(std::string_view bytes);
  void append(char byte) { append(std::string_view(&byte, 1)); }
  void append_code_point(char32_t code_point);
  void repeat(std::string_view unit, uint64_t times);
  void fail(Status status) {
    if (status_.is_ok()) status_ = std::move(status);
  }
  bool has_failed() const { return !status_.is_ok(); }
  const Status& status() const { return status_; }
  std::string_view so_far() const { return text_; }
  Heap& heap() { return heap_; }

  Result<Value> finish(bool is_markup = false);
  Result<std::string> take();

 private:
  bool admit(uint64_t bytes);

  Heap& heap_;
  uint64_t limit_;
  bool is_reserving_;
  std::string text_;
  Status status_;
};

class ListBuilder {
 public:
  explicit ListBuilder(Heap& heap) : heap_(heap) {}

  void push(Value value);
  void push(Result<Value> value);
  void fail(Status status) {
    if (status_.is_ok()) status_ = std::move(status);
  }
  bool has_failed() const { return !status_.is_ok(); }
  const Status& status() const { return status_; }
  std::vector<Value>& items() { return items_; }
  Result<Value> finish(Kind kind);

 private:
  Heap& heap_;
  std::vector<Value> items_;
  Status status_;
};

}  // namespace ingot::jinja
