// SPDX-License-Identifier: Apache-2.0
// From a checkpoint of safetensors to a quantized one: module by module where rounding is all, or
// layer by layer behind calibration samples. In memory are a layer's weights, its statistics and
// the samples' hidden states, never the model.
#pragma once

#include <filesystem>
#include <memory>

#include "base/status.h"
#include "compress/compress_options.h"
#include "formats/checkpoint.h"

namespace ingot {

Result<CompressReport> compress_safetensors(std::shared_ptr<const Checkpoint> input,
                                            const std::filesystem::path& folder,
                                            const CompressOptions& options);

}  // namespace ingot
