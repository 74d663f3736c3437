// SPDX-License-Identifier: Apache-2.0
// Rows and columns are counted in int64_t, as in shapes; vectors take size_t.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingot {

constexpr size_t index(int64_t value) {
  return static_cast<size_t>(value);
}

}  // namespace ingot
