// SPDX-License-Identifier: Apache-2.0
#include "model/dtype.h"

#include <algorithm>
#include <iterator>

namespace ingot {
namespace {

struct Name {
  std::string_view name;
  ModelDtype dtype;
};
// The first of each is its own.
constexpr Name kNames[] = {
    {"auto", ModelDtype::kAuto},     {"half", ModelDtype::kHalf},
    {"float16", ModelDtype::kHalf},  {"fp16", ModelDtype::kHalf},
    {"f16", ModelDtype::kHalf},      {"bfloat16", ModelDtype::kBFloat16},
    {"bf16", ModelDtype::kBFloat16}, {"float", ModelDtype::kFloat},
    {"float32", ModelDtype::kFloat}, {"f32", ModelDtype::kFloat},
};

// Below it a prompt takes no time to speak of, and rounded inputs would only cost exactness.
constexpr uint64_t kSmallBytes = uint64_t{128} << 20;

}  // namespace

Result<ModelDtype> parse_dtype(std::string_view name) {
  const auto* found = std::ranges::find(kNames, name, &Name::name);
  if (found != std::end(kNames)) return found->dtype;
  return Status::invalid_argument("dtype '{}': use auto, half, bfloat16 or float", name);
}

std::string_view to_string(ModelDtype dtype) {
  return std::ranges::find(kNames, dtype, &Name::dtype)->name;
}

ModelDtype dtype_for(ModelDtype dtype, uint64_t weight_bytes) {
  const bool is_small = weight_bytes < kSmallBytes;
  return dtype == ModelDtype::kAuto && is_small ? ModelDtype::kFloat : dtype;
}

std::optional<Layout> cast_of(ModelDtype dtype, Layout layout) {
  const bool is_wide = layout == Layout::kF32 || layout == Layout::kF64;
  if (dtype == ModelDtype::kHalf && (is_wide || layout == Layout::kBF16)) return Layout::kF16;
  if (dtype == ModelDtype::kBFloat16 && (is_wide || layout == Layout::kF16)) return Layout::kBF16;
  return std::nullopt;
}

Rounding rounding_of(ModelDtype dtype) {
  if (dtype == ModelDtype::kFloat) return Rounding::kNothing;
  return dtype == ModelDtype::kAuto ? Rounding::kCodes : Rounding::kInputs;
}

}  // namespace ingot
