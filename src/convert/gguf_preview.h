// SPDX-License-Identifier: Apache-2.0
// What a GGUF file that is not written yet would be read as: its header over bytes that exist only
// as addresses, given to our own reader. So a conversion that GGUF cannot express is refused before
// a byte is written.
#pragma once

#include <span>

#include "base/status.h"
#include "formats/gguf_key_values.h"
#include "formats/planned_tensor.h"
#include "model/mapper.h"

namespace ingot {

Result<ModelPlan> preview_gguf(const GgufKeyValues& values, std::span<const PlannedTensor> tensors);

}  // namespace ingot
