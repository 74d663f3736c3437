// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja/dict.h"

#include <algorithm>

#include "tokenizer/jinja/compare.h"

namespace ingot::jinja {
namespace {

constexpr size_t kScanned = 8;

Status build_order(Heap& heap, DictObject& dict) {
  INGOT_TRY(const std::vector<uint32_t> order,
            sorted_positions(dict.entries.size(), [&](uint32_t a, uint32_t b) -> Result<bool> {
              INGOT_TRY(const int sign, key_order(heap, dict.entries[a].key, dict.entries[b].key));
              return sign < 0;
            }));
  INGOT_TRY(const std::span<uint32_t> kept, heap.array<uint32_t>(order.size()));
  std::ranges::copy(order, kept.begin());
  dict.order = kept.data();
  return Status::ok();
}

// `order_of(key)` is negative where the key sorts before the one looked for.
template <class OrderOf>
Result<Value> search(Heap& heap, DictObject& dict, OrderOf&& order_of) {
  if (dict.entries.size() <= kScanned) {
    for (const DictEntry& entry : dict.entries) {
      INGOT_TRY(const int order, order_of(entry.key));
      if (order == 0) return entry.value;
    }
    return Value();
  }
  if (dict.order == nullptr) INGOT_TRY(build_order(heap, dict));
  size_t low = 0;
  size_t high = dict.entries.size();
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const DictEntry& entry = dict.entries[dict.order[middle]];
    INGOT_TRY(const int order, order_of(entry.key));
    if (order == 0) return entry.value;
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return Value();
}

}  // namespace

Result<Value> find_key(Heap& heap, DictObject& dict, Value key) {
  return search(heap, dict, [&](Value candidate) { return key_order(heap, candidate, key); });
}

Result<Value> find_key(Heap& heap, DictObject& dict, std::string_view key) {
  return search(heap, dict, [&](Value candidate) -> Result<int> {
    if (!candidate.is_string()) return candidate.is_number() ? -1 : 1;  // as key_order ranks them
    const size_t shorter = std::min(candidate.text().size(), key.size());
    if (shorter > 64) INGOT_TRY(heap.budget().copy(shorter));
    return candidate.text().compare(key);
  });
}

Status DictBuilder::add(Value key, Value value) {
  INGOT_TRY(check_hashable(key));
  INGOT_TRY(heap_.budget().step());
  INGOT_TRY(heap_.budget().reserve(2 * sizeof(DictEntry)));
  entries_.push_back({key, value});
  return Status::ok();
}

Result<Value> DictBuilder::finish() {
  std::vector<Value> keys;
  keys.reserve(entries_.size());
  for (const DictEntry& entry : entries_)
    keys.push_back(entry.key);
  INGOT_TRY(const std::vector<uint32_t> first, first_positions(heap_, keys));
  size_t distinct = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    entries_[first[i]].value = entries_[i].value;
    if (first[i] == i) ++distinct;
  }
  INGOT_TRY(const std::span<DictEntry> kept, heap_.array<DictEntry>(distinct));
  size_t next = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[i] == i) kept[next++] = entries_[i];
  }
  return make_dict(heap_, kept);
}

Result<Value> make_dict(Heap& heap, std::span<DictEntry> entries) {
  INGOT_TRY(DictObject * object, heap.create(DictObject{.entries = entries}));
  return Value::object(Kind::kDict, object);
}

Result<std::vector<uint32_t>> first_positions(Heap& heap, std::span<const Value> keys) {
  INGOT_TRY(const std::vector<uint32_t> order,
            sorted_positions(keys.size(), [&](uint32_t a, uint32_t b) -> Result<bool> {
              INGOT_TRY(const int sign, key_order(heap, keys[a], keys[b]));
              return sign < 0;
            }));
  std::vector<uint32_t> first(keys.size());
  for (size_t i = 0; i < order.size(); ++i) {
    first[order[i]] = order[i];
    if (i == 0) continue;
    INGOT_TRY(const int sign, key_order(heap, keys[order[i - 1]], keys[order[i]]));
    if (sign == 0) first[order[i]] = first[order[i - 1]];
  }
  return first;
}

}  // namespace ingot::jinja
