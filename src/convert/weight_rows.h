// SPDX-License-Identifier: Apache-2.0
// Rows of a weight as floats, wherever a checkpoint keeps them: views, row ranges, transposed or
// stacked parts, quantized modules, with a low-rank adapter added. What the binder does for a
// running model, here without holding a whole matrix.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/checkpoint.h"
#include "model/bind.h"
#include "model/mapper.h"
#include "tensor/quant_tensor.h"

namespace ingot {

class LoraAdapter;

// Some rows that stand in one tensor.
struct RowPart {
  TensorPart part;
  int64_t rows = 0;
};
// Of a weight map's source; `rows` in all.
std::vector<RowPart> row_parts(const TensorSource& source, int64_t rows);

// A checkpoint and its plan. Thread-safe.
class WeightInput {
 public:
  WeightInput(std::shared_ptr<const Checkpoint> checkpoint, ModelPlan plan,
              std::shared_ptr<const LoraAdapter> adapter);
  const Checkpoint& checkpoint() const { return *checkpoint_; }
  const ModelPlan& plan() const { return plan_; }
  const LoraAdapter* adapter() const { return adapter_.get(); }
  const TensorEntry* find(const std::string& name) const;  // under any of its spellings
  // Nothing where it is plain. The last one is kept: rows are read in order.
  Result<std::shared_ptr<const QuantTensor>> quantized(const RowPart& part, int64_t cols) const;

 private:
  std::shared_ptr<const Checkpoint> checkpoint_;
  ModelPlan plan_;
  std::shared_ptr<const LoraAdapter> adapter_;
  ModelOptions options_;
  mutable std::mutex mutex_;
  mutable TensorBinder binder_;
  mutable TensorPart last_part_;
  mutable std::shared_ptr<const QuantTensor> last_;
};

// Immutable; thread-safe.
class WeightRows {
 public:
  // Finds and checks every part. A vector has one column; its tensors may have any shape.
  static Result<std::shared_ptr<const WeightRows>> open(std::shared_ptr<const WeightInput> input,
                                                        std::vector<RowPart> parts, int64_t cols);
  Status read(int64_t begin, int64_t end, std::span<float> out) const;
  Layout natural() const { return natural_; }
  bool is_quantized() const { return is_quantized_; }
  // The GGUF type that holds all of it without a change, where one does; and rows in it.
  std::optional<Layout> exact() const { return exact_; }
  Status read_exact(int64_t begin, int64_t end, std::span<std::byte> out) const;
  // The bytes of the file, where they are all of this and in its order.
  std::optional<TensorView> plain() const;

 private:
  struct Segment {
    RowPart part;
    const TensorEntry* entry = nullptr;  // null: a quantized module
    std::vector<int64_t> starts;         // where each range begins, counted in this segment
    std::string module;                  // for adapters
  };
  WeightRows() = default;
  Status add(RowPart part);
  Status check_entry(const RowPart& part, const TensorEntry* entry) const;
  Status read_segment(const Segment& segment, int64_t begin, int64_t end,
                      std::span<float> out) const;
  int64_t file_row(const Segment& segment, int64_t row) const;

  std::shared_ptr<const WeightInput> input_;
  std::vector<Segment> segments_;
  int64_t cols_ = 0;
  int64_t rows_ = 0;
  Layout natural_ = Layout::kF32;
  bool is_quantized_ = false;
  std::optional<Layout> exact_;
};

}  // namespace ingot
