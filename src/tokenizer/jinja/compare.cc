// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja/compare.h"

#include <algorithm>
#include <cmath>

#include "tokenizer/jinja/dict.h"
#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/iterate.h"
#include "tokenizer/jinja/unicode_text.h"

namespace ingot::jinja {
namespace {

Status too_deep() {
  return Status::resource_exhausted("a value is nested deeper than {}", kValueDepth);
}

// Exact, also where a 64-bit integer has no float of its own.
Ordering compare_mixed(int64_t left, double right) {
  if (std::isnan(right)) return Ordering::kUnordered;
  if (right >= 9223372036854775808.0) return Ordering::kLess;
  if (right < -9223372036854775808.0) return Ordering::kGreater;
  const auto whole = static_cast<int64_t>(right);
  if (left != whole) return left < whole ? Ordering::kLess : Ordering::kGreater;
  const double rest = right - static_cast<double>(whole);
  return rest > 0 ? Ordering::kLess : rest < 0 ? Ordering::kGreater : Ordering::kEqual;
}

Ordering reversed(Ordering ordering) {
  if (ordering == Ordering::kLess) return Ordering::kGreater;
  if (ordering == Ordering::kGreater) return Ordering::kLess;
  return ordering;
}

Ordering compare_numbers(Value left, Value right) {
  if (left.is_integral() && right.is_integral()) {
    const int64_t a = left.as_integer();
    const int64_t b = right.as_integer();
    return a < b ? Ordering::kLess : a > b ? Ordering::kGreater : Ordering::kEqual;
  }
  if (left.is_integral()) return compare_mixed(left.as_integer(), right.as_number());
  if (right.is_integral()) return reversed(compare_mixed(right.as_integer(), left.as_number()));
  const double a = left.as_number();
  const double b = right.as_number();
  if (std::isnan(a) || std::isnan(b)) return Ordering::kUnordered;
  return a < b ? Ordering::kLess : a > b ? Ordering::kGreater : Ordering::kEqual;
}

Result<bool> equal_dicts(Heap& heap, const DictObject& left, DictObject& right, int depth) {
  if (left.entries.size() != right.entries.size()) return false;
  for (const DictEntry& entry : left.entries) {
    INGOT_TRY(const Value other, find_key(heap, right, entry.key));
    if (other.is_absent()) return false;
    INGOT_TRY(const bool is_equal, equal(heap, entry.value, other, depth + 1));
    if (!is_equal) return false;
  }
  return true;
}

}  // namespace

Result<bool> equal(Heap& heap, Value left, Value right, int depth) {
  INGOT_TRY(heap.budget().step());
  if (left.is_number() && right.is_number())
    return compare_numbers(left, right) == Ordering::kEqual;
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case Kind::kNone:
    case Kind::kUndefined:
      return true;
    case Kind::kString:
      if (left.text().size() != right.text().size()) return false;
      INGOT_TRY(heap.budget().copy(left.text().size()));
      return left.text() == right.text();
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange: {
      if (depth >= kValueDepth) return too_deep();
      const std::span<const Value> a = left.items();
      const std::span<const Value> b = right.items();
      if (a.size() != b.size()) return false;
      if (a.data() == b.data()) return true;
      for (size_t i = 0; i < a.size(); ++i) {
        INGOT_TRY(const bool is_equal, equal(heap, a[i], b[i], depth + 1));
        if (!is_equal) return false;
      }
      return true;
    }
    case Kind::kDict:
      if (depth >= kValueDepth) return too_deep();
      if (&left.dict() == &right.dict()) return true;
      return equal_dicts(heap, left.dict(), right.dict(), depth);
    default:
      return left.identity() == right.identity();
  }
}

Result<Ordering> compare(Heap& heap, Value left, Value right, std::string_view sign, int depth) {
  INGOT_TRY(heap.budget().step());
  if (left.is_number() && right.is_number()) return compare_numbers(left, right);
  INGOT_TRY(check_defined(heap, left));
  INGOT_TRY(check_defined(heap, right));
  if (left.is_string() && right.is_string()) {
    INGOT_TRY(heap.budget().copy(std::min(left.text().size(), right.text().size())));
    const int order = left.text().compare(right.text());  // UTF-8 sorts as its code points do
    return order < 0 ? Ordering::kLess : order > 0 ? Ordering::kGreater : Ordering::kEqual;
  }
  if (left.kind() == right.kind() && (left.is(Kind::kList) || left.is(Kind::kTuple))) {
    if (depth >= kValueDepth) return too_deep();
    const std::span<const Value> a = left.items();
    const std::span<const Value> b = right.items();
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      INGOT_TRY(const bool is_equal, equal(heap, a[i], b[i], depth + 1));
      if (!is_equal) return compare(heap, a[i], b[i], sign, depth + 1);
    }
    return a.size() < b.size()   ? Ordering::kLess
           : a.size() > b.size() ? Ordering::kGreater
                                 : Ordering::kEqual;
  }
  return Status::invalid_data("'{}' not supported between instances of '{}' and '{}'", sign,
                              type_name(left), type_name(right));
}

Result<bool> is_less(Heap& heap, Value left, Value right) {
  INGOT_TRY(const Ordering ordering, compare(heap, left, right, "<"));
  return ordering == Ordering::kLess;
}

Result<bool> contains(Heap& heap, Value container, Value item) {
  if (container.is_string()) {
    if (!item.is_string()) {
      INGOT_TRY(check_defined(heap, item));
      return Status::invalid_data("'in <string>' requires string as left operand, not {}",
                                  type_name(item));
    }
    INGOT_TRY(heap.budget().copy(container.text().size() + item.text().size()));
    return find_text(container.text(), item.text()) != std::string_view::npos;
  }
  if (container.is_dict()) {
    INGOT_TRY(check_hashable(item));
    INGOT_TRY(const Value found, find_key(heap, container.dict(), item));
    return !found.is_absent();
  }
  if (!is_iterable(container)) {
    return Status::invalid_data("argument of type '{}' is not iterable", type_name(container));
  }
  if (container.is(Kind::kGenerator)) {  // read up to the item, as `in` does
    SequenceObject& generator = container.sequence();
    while (generator.taken < generator.items.size()) {
      INGOT_TRY(const bool is_equal, equal(heap, generator.items[generator.taken++], item));
      if (is_equal) return true;
    }
    return false;
  }
  if (container.is(Kind::kKeys)) INGOT_TRY(check_hashable(item));
  INGOT_TRY(const std::span<const Value> items, iterate(heap, container));
  for (const Value candidate : items) {
    INGOT_TRY(const bool is_equal, equal(heap, candidate, item));
    if (is_equal) return true;
  }
  return false;
}

Status check_hashable(Value value, int depth) {
  if (depth >= kValueDepth) return too_deep();
  if (value.is(Kind::kList) || value.is(Kind::kDict) || value.is(Kind::kKeys) ||
      value.is(Kind::kItems)) {
    return Status::invalid_data("unhashable type: '{}'", type_name(value));
  }
  if (value.is(Kind::kTuple)) {
    for (const Value item : value.items())
      INGOT_TRY(check_hashable(item, depth + 1));
  }
  return Status::ok();
}

Result<int> key_order(Heap& heap, Value left, Value right, int depth) {
  INGOT_TRY(heap.budget().step());
  const auto rank = [](Value value) {
    if (value.is_number()) return 0;
    if (value.is_string()) return 1;
    if (value.is(Kind::kTuple)) return 2;
    if (value.is_none() || value.is_undefined()) return 3 + static_cast<int>(value.kind());
    return 100;
  };
  const int left_rank = rank(left);
  const int right_rank = rank(right);
  if (left_rank != right_rank) return left_rank < right_rank ? -1 : 1;
  if (left_rank == 0) {
    const Ordering ordering = compare_numbers(left, right);
    if (ordering != Ordering::kUnordered) {
      return ordering == Ordering::kLess ? -1 : ordering == Ordering::kGreater ? 1 : 0;
    }
    const auto is_nan = [](Value value) {
      return value.is(Kind::kFloat) && std::isnan(value.as_number());
    };
    return static_cast<int>(is_nan(left)) - static_cast<int>(is_nan(right));
  }
  if (left_rank == 1) {
    INGOT_TRY(heap.budget().copy(std::min(left.text().size(), right.text().size())));
    return left.text().compare(right.text());
  }
  if (left_rank == 2) {
    if (depth >= kValueDepth) return too_deep();
    const std::span<const Value> a = left.items();
    const std::span<const Value> b = right.items();
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      INGOT_TRY(const int order, key_order(heap, a[i], b[i], depth + 1));
      if (order != 0) return order;
    }
    return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
  }
  if (left_rank < 100) return 0;
  return left.identity() < right.identity() ? -1 : left.identity() > right.identity() ? 1 : 0;
}

}  // namespace ingot::jinja
