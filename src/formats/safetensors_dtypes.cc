// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <iterator>

#include "formats/safetensors.h"

namespace ingot {
namespace {

struct Dtype {
  std::string_view name;
  Layout layout;
};
// In the order of the reference implementation, by alignment: the writer sorts by place in this
// list.
constexpr Dtype kDtypes[] = {
    {"BOOL", Layout::kBool},       {"F4", Layout::kF4_E2M1},      {"F6_E2M3", Layout::kF6_E2M3},
    {"F6_E3M2", Layout::kF6_E3M2}, {"U8", Layout::kU8},           {"I8", Layout::kI8},
    {"F8_E5M2", Layout::kF8_E5M2}, {"F8_E4M3", Layout::kF8_E4M3}, {"F8_E8M0", Layout::kF8_E8M0},
    {"I16", Layout::kI16},         {"U16", Layout::kU16},         {"F16", Layout::kF16},
    {"BF16", Layout::kBF16},       {"I32", Layout::kI32},         {"U32", Layout::kU32},
    {"F32", Layout::kF32},         {"C64", Layout::kC64},         {"F64", Layout::kF64},
    {"I64", Layout::kI64},         {"U64", Layout::kU64},
};

}  // namespace

std::optional<Layout> layout_of_safetensors_dtype(std::string_view dtype) {
  const auto* found = std::ranges::find(kDtypes, dtype, &Dtype::name);
  return found == std::end(kDtypes) ? std::nullopt : std::optional(found->layout);
}

std::optional<std::string_view> safetensors_dtype_of_layout(Layout layout) {
  const auto* found = std::ranges::find(kDtypes, layout, &Dtype::layout);
  return found == std::end(kDtypes) ? std::nullopt : std::optional(found->name);
}

}  // namespace ingot
