// SPDX-License-Identifier: Apache-2.0
// A GGUF file as a Hugging Face folder: the inverse of what plan_gguf does. config.json is written
// from the ModelSpec and read back by the architecture's own mapper, whose weight map then says
// which rows go where.
#pragma once

#include <memory>

#include "convert/source_tensor.h"

namespace ingot {

Result<SafetensorsPlan> convert_to_hf(std::shared_ptr<const Checkpoint> input,
                                      std::shared_ptr<const LoraAdapter> adapter);

}  // namespace ingot
