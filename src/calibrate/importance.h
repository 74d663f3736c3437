// SPDX-License-Identifier: Apache-2.0
// An importance matrix: for each weight, the mean square of every column of its input on some text.
// Quantizers weigh errors by it. Kept under the names of the model's own modules; files are
// llama.cpp's (GGUF, and the older binary form for reading).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "calibrate/layer_walk.h"

namespace ingot {

struct ImportanceMatrix {
  // By name without ".weight": "blk.0.ffn_up", or "model.layers.0.mlp.up_proj".
  std::map<std::string, std::vector<float>, std::less<>> columns;
  int64_t tokens = 0;      // it was gathered from
  int64_t chunk_size = 0;  // tokens of a sample
  std::string dataset;     // for people

  // Null where nothing is known.
  const std::vector<float>* find(std::string_view name) const;
};

// Runs the whole model over the walk's samples.
Result<ImportanceMatrix> gather_importance(LayerWalk& walk, const ModelPlan& plan,
                                           const std::function<void(double fraction)>& progress);

Result<ImportanceMatrix> read_importance(const std::filesystem::path& path);
// Names must be GGUF's, without ".weight".
Status write_importance(const ImportanceMatrix& matrix, const std::filesystem::path& path);

}  // namespace ingot
