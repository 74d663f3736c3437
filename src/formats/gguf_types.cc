// SPDX-License-Identifier: Apache-2.0
#include "formats/gguf_types.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace ingot {
namespace {

struct ValueType {
  std::string_view name;
  uint8_t size;
};
constexpr std::array<ValueType, kGgufTypeCount> kValueTypes = {{{"u8", 1},
                                                                {"i8", 1},
                                                                {"u16", 2},
                                                                {"i16", 2},
                                                                {"u32", 4},
                                                                {"i32", 4},
                                                                {"f32", 4},
                                                                {"bool", 1},
                                                                {"string", 8},
                                                                {"array", 0},
                                                                {"u64", 8},
                                                                {"i64", 8},
                                                                {"f64", 8}}};

struct TensorType {
  uint32_t id;
  Layout layout;
};
constexpr TensorType kTensorTypes[] = {
    {0, Layout::kF32},      {1, Layout::kF16},     {2, Layout::kQ4_0},     {3, Layout::kQ4_1},
    {6, Layout::kQ5_0},     {7, Layout::kQ5_1},    {8, Layout::kQ8_0},     {9, Layout::kQ8_1},
    {10, Layout::kQ2_K},    {11, Layout::kQ3_K},   {12, Layout::kQ4_K},    {13, Layout::kQ5_K},
    {14, Layout::kQ6_K},    {15, Layout::kQ8_K},   {16, Layout::kIQ2_XXS}, {17, Layout::kIQ2_XS},
    {18, Layout::kIQ3_XXS}, {19, Layout::kIQ1_S},  {20, Layout::kIQ4_NL},  {21, Layout::kIQ3_S},
    {22, Layout::kIQ2_S},   {23, Layout::kIQ4_XS}, {24, Layout::kI8},      {25, Layout::kI16},
    {26, Layout::kI32},     {27, Layout::kI64},    {28, Layout::kF64},     {29, Layout::kIQ1_M},
    {30, Layout::kBF16},    {34, Layout::kTQ1_0},  {35, Layout::kTQ2_0},   {39, Layout::kMXFP4},
    {40, Layout::kNVFP4},   {41, Layout::kQ1_0},   {42, Layout::kQ2_0},
};

struct RemovedType {
  uint32_t id;
  std::string_view name;
};
constexpr RemovedType kRemovedTypes[] = {
    {4, "Q4_2"},      {5, "Q4_3"},        {31, "Q4_0_4_4"},   {32, "Q4_0_4_8"},
    {33, "Q4_0_8_8"}, {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"},
};

}  // namespace

std::string_view name_of(GgufType type) {
  return kValueTypes[static_cast<size_t>(type)].name;
}

uint64_t min_size_of(GgufType type) {
  return kValueTypes[static_cast<size_t>(type)].size;
}

bool is_integer(GgufType type) {
  switch (type) {
    case GgufType::kUint8:
    case GgufType::kInt8:
    case GgufType::kUint16:
    case GgufType::kInt16:
    case GgufType::kUint32:
    case GgufType::kInt32:
    case GgufType::kUint64:
    case GgufType::kInt64:
      return true;
    default:
      return false;
  }
}

bool is_float(GgufType type) {
  return type == GgufType::kFloat32 || type == GgufType::kFloat64;
}

std::string_view removed_ggml_type(uint32_t type) {
  const auto* found = std::ranges::find(kRemovedTypes, type, &RemovedType::id);
  return found == std::end(kRemovedTypes) ? std::string_view() : found->name;
}

std::optional<Layout> layout_of_ggml_type(uint32_t type) {
  const auto* found = std::ranges::find(kTensorTypes, type, &TensorType::id);
  return found == std::end(kTensorTypes) ? std::nullopt : std::optional(found->layout);
}

std::optional<uint32_t> ggml_type_of_layout(Layout layout) {
  const auto* found = std::ranges::find(kTensorTypes, layout, &TensorType::layout);
  return found == std::end(kTensorTypes) ? std::nullopt : std::optional(found->id);
}

}  // namespace ingot
