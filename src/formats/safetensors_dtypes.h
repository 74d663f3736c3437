// SPDX-License-Identifier: Apache-2.0
// The order in which safetensors files store their dtypes; names are mapped in safetensors.h.
#pragma once

#include <cstddef>

#include "blocks/layout.h"

namespace ingot {

// Larger is stored earlier: tensors of eight-byte elements first, bytes last, so that all are
// aligned.
size_t safetensors_dtype_rank(Layout layout);

}  // namespace ingot
