// SPDX-License-Identifier: Apache-2.0
// The activation functions by name. Only values: kernels of every device read it.
#pragma once

#include <cstdint>

namespace ingot {

enum class Activation : uint8_t { kSilu, kGelu, kGeluTanh, kGeluQuick, kRelu, kReluSquared };

}  // namespace ingot
