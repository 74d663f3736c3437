// SPDX-License-Identifier: Apache-2.0
#include "kernels/activations.h"

#include "base/check.h"
#include "kernels/activation_tiles.h"

namespace ingot {
namespace {

constexpr size_t kLineBytes = 64;

}  // namespace

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
    default:
      return tile_row_bytes(layout, cols) / kTokensOfTile;
  }
}

void Activations::set(const float* x, int64_t tokens, int64_t cols) {
  x_ = x;
  tokens_ = tokens;
  cols_ = cols;
  for (Packed& packed : packed_)
    packed.is_ready = false;
  for (const auto& ordered : ordered_)
    ordered->order = nullptr;
}

const std::byte* Activations::rows(ActivationLayout layout, const Exec& exec,
                                   const ColumnOrder* order) {
  if (order == nullptr) return form(layout, x_, packed_, exec);
  Ordered& input = ordered(*order, exec);
  return form(layout, input.x.data(), input.forms, exec);
}

Activations::Ordered& Activations::ordered(const ColumnOrder& order, const Exec& exec) {
  INGOT_CHECK(order.size() == static_cast<size_t>(cols_));
  Ordered* free = nullptr;
  for (const auto& ordered : ordered_) {
    if (ordered->order == &order) return *ordered;
    if (ordered->order == nullptr) free = ordered.get();
  }
  if (free == nullptr) free = ordered_.emplace_back(std::make_unique<Ordered>()).get();
  free->order = &order;
  for (Packed& packed : free->forms)
    packed.is_ready = false;
  const auto size = static_cast<size_t>(tokens_ * cols_);
  if (free->x.size() < size) free->x.resize(size);
  exec.for_ranges(tokens_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t token = begin; token < end; ++token) {
      const float* from = x_ + token * cols_;
      float* to = free->x.data() + token * cols_;
      for (int64_t i = 0; i < cols_; ++i)
        to[i] = from[order[static_cast<size_t>(i)]];
    }
  });
  return *free;
}

const std::byte* Activations::form(ActivationLayout layout, const float* x, Forms& forms,
                                   const Exec& exec) {
  if (layout == ActivationLayout::kF32) return reinterpret_cast<const std::byte*>(x);
  Packed& packed = forms[static_cast<size_t>(layout)];
  if (packed.is_ready) return packed.begin();
  INGOT_CHECK(cols_ % activation_group(layout) == 0);
  if (is_tiles(layout)) {
    const std::byte* rows = form(rows_of(layout), x, forms, exec);
    const int64_t groups = (tokens_ + kTokensOfTile - 1) / kTokensOfTile;
    packed.reserve(tile_row_bytes(layout, cols_) * static_cast<size_t>(groups));
    const TileArgs args{rows, cols_, tokens_, packed.begin()};
    exec.for_ranges(groups, 1,
                    [&](int64_t begin, int64_t end) { arrange_tiles(layout, args, begin, end); });
  } else {
    packed.reserve(activation_row_bytes(layout, cols_) * static_cast<size_t>(tokens_));
    const PackKernel* kernel = choose_pack(layout, targets_);
    const PackArgs args{x, cols_, packed.begin()};
    exec.for_ranges(tokens_, 1, [&](int64_t begin, int64_t end) { kernel->run(args, begin, end); });
  }
  packed.is_ready = true;
  return packed.begin();
}

void Activations::Packed::reserve(size_t size) {
  if (bytes.size() < size + kLineBytes) bytes.resize(size + kLineBytes);
}

std::byte* Activations::Packed::begin() {
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  return bytes.data() + (kLineBytes - address % kLineBytes) % kLineBytes;
}

}  // namespace ingot
