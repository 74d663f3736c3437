// SPDX-License-Identifier: Apache-2.0
// A model whose weights come from a generator instead of a checkpoint: for benchmarks of models
// that nobody wants to store. Model::generate binds and places them as a load would; every layer
// has memory of its own, so that reading them costs what reading real ones costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/model.h"
#include "model/spec.h"
#include "tensor/quant_tensor.h"
#include "tensor/tensor_view.h"

namespace ingot {

enum class WeightPart : uint8_t { kEmbedding, kHead, kQ, kK, kV, kO, kGate, kUp, kDown };

struct WantedWeight {
  WeightPart part;
  int64_t layer;  // 0 outside of the layers
  int64_t rows;
  int64_t cols;
};

// One matrix, with its scales in it or apart.
struct GeneratedWeight {
  TensorView plain;  // where it is not quantized
  std::optional<QuantTensor> quantized;
  std::vector<std::byte> bytes;  // behind either
};

// Single thread.
class WeightGenerator {
 public:
  virtual ~WeightGenerator() = default;
  // Blocks of the sequential form, gated, without biases and norms of their own.
  virtual const ModelSpec& spec() const = 0;
  virtual uint64_t size_bytes(const WantedWeight& wanted) const = 0;
  // One object for all that are alike: a device copies what it has placed once. Stays where it is
  // as long as the generator lives. An embedding is never quantized apart.
  virtual const GeneratedWeight& weight(const WantedWeight& wanted) = 0;
};

}  // namespace ingot
