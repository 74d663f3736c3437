// SPDX-License-Identifier: Apache-2.0
// The matrices of a layer as the checkpoint has them: the modules that a quantizer changes, each
// once, whatever roles its rows play (a fused qkv is one module), with the input they read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "kernels/exec.h"
#include "model/decoder.h"
#include "model/mapper.h"
#include "model/tensor_overlay.h"

namespace ingot {

struct LayerModule {
  std::string tensor;  // its name in the plan: "model.layers.0.mlp.up_proj.weight"
  std::string name;    // without ".weight"
  size_t layer = 0;
  LinearInput input = LinearInput::kMixerIn;
  bool is_transposed = false;  // stored [in, out]
  int64_t rows = 0;            // out
  int64_t cols = 0;            // in
};

// In the order of their inputs. Weights that are not matrices of their own are left out (an
// architecture that joins several tensors to one weight has each of them here).
Result<std::vector<LayerModule>> layer_modules(const Checkpoint& checkpoint, const ModelPlan& plan,
                                               size_t layer);
// Whether a weight of the checkpoint stands there in quantized form.
bool is_quantized(const Checkpoint& checkpoint, const ModelPlan& plan, const LayerModule& module);

// [rows][cols] floats, decoded or transposed as need be.
Result<std::vector<float>> read_module(const Checkpoint& checkpoint, const ModelPlan& plan,
                                       const LayerModule& module, const Exec& exec);
// A module's values as the checkpoint would store them, into the overlay.
void put_module(TensorOverlay& overlay, const LayerModule& module, const Shape& stored,
                std::vector<float> values);
// The shape a module's tensor has, or would have if it were plain.
Shape stored_shape(const LayerModule& module);

// A plain tensor as floats.
Result<std::vector<float>> read_floats(const Checkpoint& checkpoint, const ModelPlan& plan,
                                       const std::string& tensor);
// The entry of a name, under any of its spellings; null where it is absent.
const TensorEntry* find_entry(const Checkpoint& checkpoint, const ModelPlan& plan,
                              const std::string& tensor);

}  // namespace ingot
