// SPDX-License-Identifier: Apache-2.0
#include "kernels/activations.h"

#include "base/check.h"

namespace ingot {

size_t activation_row_bytes(ActivationLayout layout, int64_t cols) {
  const int64_t blocks = (cols + kPackedColumns - 1) / kPackedColumns;
  switch (layout) {
    case ActivationLayout::kF32:
      return static_cast<size_t>(cols) * sizeof(float);
    case ActivationLayout::kQ8G32:
      return static_cast<size_t>(blocks) * sizeof(Q8G32);
    case ActivationLayout::kQ8G256:
      return static_cast<size_t>(blocks) * sizeof(Q8G256);
    case ActivationLayout::kBF16:
      return static_cast<size_t>((cols + 31) / 32 * 32) * sizeof(uint16_t);
  }
  return 0;
}

void Activations::set(const float* x, int64_t tokens, int64_t cols) {
  x_ = x;
  tokens_ = tokens;
  cols_ = cols;
  for (Packed& packed : packed_)
    packed.is_ready = false;
}

const std::byte* Activations::rows(ActivationLayout layout, const Exec& exec) {
  if (layout == ActivationLayout::kF32) return reinterpret_cast<const std::byte*>(x_);
  Packed& packed = packed_[static_cast<size_t>(layout)];
  if (packed.is_ready) return packed.bytes.data();
  INGOT_CHECK(cols_ % activation_group(layout) == 0);
  const size_t size = activation_row_bytes(layout, cols_) * static_cast<size_t>(tokens_);
  if (packed.bytes.size() < size) packed.bytes.resize(size);
  const PackKernel* kernel = choose_pack(layout, targets_);
  const PackArgs args{x_, cols_, packed.bytes.data()};
  exec.for_ranges(tokens_, 1, [&](int64_t begin, int64_t end) { kernel->run(args, begin, end); });
  packed.is_ready = true;
  return packed.bytes.data();
}

}  // namespace ingot
