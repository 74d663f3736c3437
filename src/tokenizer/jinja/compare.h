// SPDX-License-Identifier: Apache-2.0
// Python's comparisons: ==, <, `in`, and the total order of hashable values that dicts and `unique`
// search by. All of them count their steps and their depth: values may share parts and so be larger
// to walk than to store.
#pragma once

#include <vector>

#include "base/status.h"
#include "tokenizer/jinja/heap.h"
#include "tokenizer/jinja/value.h"

namespace ingot::jinja {

// How deeply nested a value may be for us to walk it.
inline constexpr int kValueDepth = 100;

Result<bool> equal(Heap& heap, Value left, Value right, int depth = 0);

enum class Ordering { kLess, kEqual, kGreater, kUnordered };
// `sign` names the operator in the error for types that have no order.
Result<Ordering> compare(Heap& heap, Value left, Value right, std::string_view sign, int depth = 0);
Result<bool> is_less(Heap& heap, Value left, Value right);

// `item in container`.
Result<bool> contains(Heap& heap, Value container, Value item);

// Whether a value may be a key: Python's hash() would work.
Status check_hashable(Value value, int depth = 0);
// A total order over hashable values in which equal ones are equal; otherwise without meaning.
Result<int> key_order(Heap& heap, Value left, Value right, int depth = 0);

// Stable merge sort of positions 0 .. count-1.
template <class Less>
Result<std::vector<uint32_t>> sorted_positions(size_t count, Less&& less) {
  std::vector<uint32_t> order(count);
  for (size_t i = 0; i < count; ++i)
    order[i] = static_cast<uint32_t>(i);
  std::vector<uint32_t> other(count);
  for (size_t width = 1; width < count; width *= 2) {
    for (size_t begin = 0; begin < count; begin += 2 * width) {
      const size_t middle = std::min(begin + width, count);
      const size_t end = std::min(begin + 2 * width, count);
      size_t left = begin;
      size_t right = middle;
      for (size_t out = begin; out < end; ++out) {
        bool takes_right = left == middle;
        if (left < middle && right < end) {
          INGOT_TRY(takes_right, less(order[right], order[left]));
        }
        other[out] = takes_right ? order[right++] : order[left++];
      }
    }
    order.swap(other);
  }
  return order;
}

}  // namespace ingot::jinja
