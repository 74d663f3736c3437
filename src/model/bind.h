// SPDX-License-Identifier: Apache-2.0
// Finds the weights a WeightMap names, checks their shapes against the spec, and makes them usable:
// views where the file's bytes serve as they are, copies where rows must be gathered, transposed or
// aligned. Used once, by Model::load.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/status.h"
#include "base/thread_pool.h"
#include "kernels/exec.h"
#include "model/model.h"

namespace ingot {

// A matrix of the model, with the memory behind it where it is not a view of the file.
struct BoundTensor {
  TensorView view;
  std::vector<std::byte> owned;
};

// Single thread; the checkpoint must outlive every view.
class TensorBinder {
 public:
  // Tensors of the overlay, where there is one, come before the checkpoint's.
  TensorBinder(const Checkpoint& checkpoint, const ModelPlan& plan, const ModelOptions& options,
               const TensorOverlay* overlay = nullptr);

  bool has(const TensorSource& source) const;
  // [rows, cols], exactly.
  Result<BoundTensor> matrix(const TensorSource& source, int64_t rows, int64_t cols);
  // A quantized weight, or nothing where it is plain. Its codes are the file's.
  Result<std::optional<QuantTensor>> quantized(const TensorSource& source, int64_t rows,
                                               int64_t cols);
  // `size` floats; an absent optional source gives an empty vector.
  Result<std::vector<float>> vector(const TensorSource& source, int64_t size);
  // As `vector`, of any size (rope factors, position tables).
  Result<std::vector<float>> floats(const TensorSource& source);

  int64_t parameters() const { return parameters_; }
  Exec exec() { return Exec(pool_); }
  // Names in the checkpoint that nothing asked for.
  std::vector<std::string> unused() const;

 private:
  const TensorEntry* look_up(const TensorPart& part) const;  // null when absent
  Result<const TensorEntry*> find(const TensorPart& part);
  Result<BoundTensor> part(const TensorPart& part);
  Result<const TensorEntry*> find_quantized(const std::string& module, std::string_view suffix);
  Status check_finite(const TensorEntry& entry);

  const Checkpoint* checkpoint_;
  const WeightMap* weights_;
  const QuantConfig* quantization_;
  const ModelOptions* options_;
  const TensorOverlay* overlay_;
  ThreadPool pool_;
  std::unordered_set<const TensorEntry*> used_;
  uint64_t total_bytes_ = 0;
  uint64_t checked_bytes_ = 0;
  int64_t parameters_ = 0;
};

}  // namespace ingot
