// SPDX-License-Identifier: Apache-2.0
#include "kernels/decode_rows.h"

#include <span>

namespace ingot {

int64_t decode_bytes(Layout layout, int64_t count) {
  const LayoutInfo& layout_info = info(layout);
  return count / layout_info.block_elements * layout_info.block_bytes;
}

void decode_values(Layout layout, const std::byte* bytes, int64_t count, float* out) {
  dequantize(layout,
             std::span<const std::byte>(bytes, static_cast<size_t>(decode_bytes(layout, count))),
             std::span<float>(out, static_cast<size_t>(count)));
}

}  // namespace ingot
