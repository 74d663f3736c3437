// SPDX-License-Identifier: Apache-2.0
#include "kernels/activations.h"

#include "base/check.h"
#include "kernels/activation_tiles.h"
#include "kernels/input_rounding.h"

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
    case ActivationLayout::kI16G128:
      return static_cast<size_t>(blocks) * sizeof(I16G128);
    default:
      return arranged_bytes(layout, cols) / kTokensOfTile;
  }
}

void Activations::set(const float* x, int64_t tokens, int64_t cols) {
  x_ = x;
  tokens_ = tokens;
  cols_ = cols;
  for (Packed& packed : packed_)
    packed.is_ready = false;
  for (const auto& variant : variants_)
    variant->is_used = false;
}

PackedInput Activations::input(ActivationLayout layout, const Exec& exec, const ColumnOrder* order,
                               const InputQuant& quant) {
  if (order == nullptr && !quant.rounds()) return {form(layout, x_, packed_, exec), nullptr};
  const float* x = order == nullptr ? x_ : ordered(*order, exec);
  Variant& input = variant(order, quant);
  if (!quant.rounds()) return {form(layout, x, input.forms, exec), nullptr};
  // A layout that cannot hold the codes is packed from the rounded values.
  const ActivationLayout rows = rows_of(layout);
  const bool holds_codes = choose_round(rows, quant, targets_) != nullptr;
  const ActivationLayout rounded = holds_codes ? rows : ActivationLayout::kF32;
  if (!input.forms[static_cast<size_t>(rounded)].is_ready) round(rounded, x, input, exec);
  const std::vector<float>& scales = input.scales[static_cast<size_t>(rounded)];
  const auto* values = reinterpret_cast<const float*>(
      input.forms[static_cast<size_t>(ActivationLayout::kF32)].rows.data());
  return {form(layout, values, input.forms, exec), scales.empty() ? nullptr : scales.data()};
}

Activations::Variant& Activations::variant(const ColumnOrder* order, const InputQuant& quant) {
  Variant* free = nullptr;
  for (const auto& variant : variants_) {
    if (!variant->is_used) {
      free = variant.get();
    } else if (variant->order == order && variant->quant == quant) {
      return *variant;
    }
  }
  if (free == nullptr) free = variants_.emplace_back(std::make_unique<Variant>()).get();
  free->is_used = true;
  free->order = order;
  free->quant = quant;
  for (Packed& packed : free->forms)
    packed.is_ready = false;
  for (std::vector<float>& scales : free->scales)
    scales.clear();
  return *free;
}

const float* Activations::ordered(const ColumnOrder& order, const Exec& exec) {
  INGOT_CHECK(order.size() == static_cast<size_t>(cols_));
  Variant& input = variant(&order, {});
  Packed& state = input.forms[static_cast<size_t>(ActivationLayout::kF32)];
  if (state.is_ready) return input.x.data();
  const auto size = static_cast<size_t>(tokens_ * cols_);
  if (input.x.size() < size) input.x.resize(size);
  exec.for_ranges(tokens_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t token = begin; token < end; ++token) {
      const float* from = x_ + token * cols_;
      float* to = input.x.data() + token * cols_;
      for (int64_t i = 0; i < cols_; ++i)
        to[i] = from[order[static_cast<size_t>(i)]];
    }
  });
  state.is_ready = true;
  return input.x.data();
}

void Activations::round(ActivationLayout layout, const float* x, Variant& input, const Exec& exec) {
  Packed& packed = input.forms[static_cast<size_t>(layout)];
  packed.rows.reserve(activation_row_bytes(layout, cols_) * static_cast<size_t>(tokens_));
  std::vector<float>& scales = input.scales[static_cast<size_t>(layout)];
  const int64_t spans = (cols_ + kScaleColumns - 1) / kScaleColumns;
  if (layout == ActivationLayout::kQ8G32) scales.resize(static_cast<size_t>(tokens_));
  if (layout == ActivationLayout::kBF16) scales.resize(static_cast<size_t>(tokens_ * spans));
  const RoundKernel* kernel = choose_round(layout, input.quant, targets_);
  const RoundArgs args{x, cols_, &input.quant, packed.rows.data(), scales.data()};
  exec.for_ranges(tokens_, 1, [&](int64_t begin, int64_t end) { kernel->run(args, begin, end); });
  packed.is_ready = true;
}

const std::byte* Activations::form(ActivationLayout layout, const float* x, Forms& forms,
                                   const Exec& exec) {
  if (layout == ActivationLayout::kF32) return reinterpret_cast<const std::byte*>(x);
  Packed& packed = forms[static_cast<size_t>(layout)];
  if (packed.is_ready) return packed.rows.data();
  INGOT_CHECK(cols_ % activation_group(layout) == 0);
  if (is_arranged(layout)) {
    const std::byte* rows = form(rows_of(layout), x, forms, exec);
    const int64_t groups = (tokens_ + kTokensOfTile - 1) / kTokensOfTile;
    packed.rows.reserve(arranged_bytes(layout, cols_) * static_cast<size_t>(groups));
    const ArrangeArgs args{rows, cols_, tokens_, packed.rows.data()};
    exec.for_ranges(groups, 1,
                    [&](int64_t begin, int64_t end) { arrange_rows(layout, args, begin, end); });
  } else {
    packed.rows.reserve(activation_row_bytes(layout, cols_) * static_cast<size_t>(tokens_));
    const PackKernel* kernel = choose_pack(layout, targets_);
    const PackArgs args{x, cols_, packed.rows.data()};
    exec.for_ranges(tokens_, 1, [&](int64_t begin, int64_t end) { kernel->run(args, begin, end); });
  }
  packed.is_ready = true;
  return packed.rows.data();
}

}  // namespace ingot
