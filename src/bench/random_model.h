// SPDX-License-Identifier: Apache-2.0
// Models for benchmarks that need no file: a known shape, a format, random weights.
#pragma once

#include <string>
#include <string_view>

#include "api/loaded_model.h"
#include "base/status.h"

namespace ingot {

// "8B:q4_k_m". It has no tokenizer: benchmarks feed token ids. Its name is "random 8B q4_k_m".
Result<LoadedModel> make_random_model(std::string_view text, const ModelOptions& options);
// "tiny, 160M, 1B, ...": the shapes.
std::string random_shape_names();

}  // namespace ingot
