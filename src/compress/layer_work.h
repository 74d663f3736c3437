// SPDX-License-Identifier: Apache-2.0
// What the methods that calibrate do with one layer: gather, choose, write, and leave in the
// overlay what the next layer's inputs must come through. One file per method (gptq_layer.cc,
// scaled_layer.cc).
#pragma once

#include <vector>

#include "calibrate/layer_walk.h"
#include "compress/checkpoint_output.h"
#include "compress/compress_options.h"

namespace ingot {

struct LayerWork {
  std::shared_ptr<const Checkpoint> checkpoint;
  const ModelPlan& plan;
  const CompressOptions& options;
  size_t layer;
  std::vector<const ModulePlan*> modules;  // of this layer, in the order of their inputs
  LayerWalk& walk;                         // before this layer
  CheckpointOutput& output;
};

Status quantize_gptq_layer(const LayerWork& work, TensorOverlay& overlay);
// AWQ and SmoothQuant.
Status quantize_scaled_layer(const LayerWork& work, TensorOverlay& overlay);
// Rounding, with one scale for each module's inputs (static FP8).
Status quantize_static_layer(const LayerWork& work, TensorOverlay& overlay);

// Plain tensors of a layer that AWQ and SmoothQuant may change: norms, biases.
std::vector<std::string> foldable_tensors(const ModelPlan& plan, size_t layer);

}  // namespace ingot
