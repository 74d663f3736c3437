// SPDX-License-Identifier: Apache-2.0
// Calibration samples that the model writes itself, drawn from its own distribution: text of the
// kind it was trained on, where nobody has any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "ingot/sampling.h"

namespace ingot {

// `count` windows of `length` tokens, bos first; the same ones for the same model and machine.
Result<std::vector<std::vector<TokenId>>> write_own_samples(const std::string& model, int64_t count,
                                                            int64_t length, int threads);

}  // namespace ingot
