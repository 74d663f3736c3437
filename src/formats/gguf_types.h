// SPDX-License-Identifier: Apache-2.0
// The value types of GGUF key-values: names and sizes. Tensor types are in gguf.h
// (layout_of_ggml_type).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "formats/gguf.h"

namespace ingot {

inline constexpr uint32_t kGgufTypeCount = static_cast<uint32_t>(GgufType::kFloat64) + 1;

inline constexpr uint32_t kGgufAlignment = 32;  // of tensors where a file names none

std::string_view name_of(GgufType type);  // "u32"
// Bytes of one value of fixed size; for strings the eight of their length, nothing for arrays.
uint64_t min_size_of(GgufType type);
bool is_integer(GgufType type);
bool is_float(GgufType type);
// What an id that no file uses today once stood for, so that the refusal can say so; else empty.
std::string_view removed_ggml_type(uint32_t type);

}  // namespace ingot
