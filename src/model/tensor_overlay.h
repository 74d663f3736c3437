// SPDX-License-Identifier: Apache-2.0
// Tensors that stand in for a checkpoint's of the same names: what a quantizer has made of them so
// far, as floats. The binder looks here first.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tensor_entry.h"

namespace ingot {

// Single thread. Views of a tensor hold until it is set again or erased.
class TensorOverlay {
 public:
  void set(const std::string& name, const Shape& shape, std::vector<float> values) {
    Item& item = items_[name];
    item.values = std::move(values);
    item.entry = {name, {Layout::kF32, shape, std::as_bytes(std::span(item.values))}, 0};
  }
  void erase(std::string_view name) {
    if (const auto it = items_.find(name); it != items_.end()) items_.erase(it);
  }
  const TensorEntry* find(std::string_view name) const {
    const auto it = items_.find(name);
    return it == items_.end() ? nullptr : &it->second.entry;
  }
  void clear() { items_.clear(); }

 private:
  struct Item {
    std::vector<float> values;
    TensorEntry entry;
  };
  std::map<std::string, Item, std::less<>> items_;
};

}  // namespace ingot
