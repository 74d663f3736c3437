// SPDX-License-Identifier: Apache-2.0
// Walks a model layer by layer over calibration samples: the hidden states of all samples stand
// before one layer, whose weights alone are in memory; its inputs are handed to whoever gathers
// statistics; then the states go through it. Memory is bounded by the samples and one layer, not by
// the model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/thread_pool.h"
#include "model/decoder.h"
#include "model/mapper.h"

namespace ingot {

struct WalkOptions {
  TargetSet targets = TargetSet::of_this_machine();
  int threads = 0;              // 0: all usable cores
  int64_t batch_tokens = 2048;  // rows of a pass, in whole samples
};

// Single thread.
class LayerWalk {
 public:
  // Sees some rows of what linears read, [rows, cols].
  using Visit = std::function<void(LinearInput input, std::span<const float> x)>;

  // Samples of any lengths of at least one token; ids in the model's vocabulary.
  static Result<LayerWalk> create(std::shared_ptr<const Checkpoint> checkpoint,
                                  const ModelPlan& plan, std::vector<std::vector<TokenId>> samples,
                                  const WalkOptions& options);

  size_t layers() const { return plan_->spec.layers.size(); }
  size_t layer() const { return layer_; }  // that the states stand before
  int64_t tokens() const { return tokens_; }
  // All samples' states, [tokens, hidden].
  std::span<const float> hidden() const { return hidden_; }
  // Columns of an input of the current layer.
  int64_t columns(LinearInput input) const;
  Exec exec() { return Exec(*pool_); }
  TargetSet targets() const { return options_.targets; }

  // Runs the current layer over all samples as far as `last`; the states stay before it. Weights in
  // the overlay take the place of the checkpoint's.
  Status visit(const TensorOverlay& overlay, LinearInput last, const Visit& visit);
  // The states go through the layer; `visit` may be empty.
  Status advance(const TensorOverlay& overlay, const Visit& visit = {});
  // Other states of the same samples, each like hidden(), through the current layer; the walk stays
  // where it is.
  Status run_others(const TensorOverlay& overlay, std::span<std::vector<float>> states);

  using VisitLogits = std::function<void(int64_t row, std::span<const float> logits)>;
  // The logits of states that stand behind the last layer, row by row.
  Status visit_logits(const TensorOverlay& overlay, std::span<const float> states,
                      const VisitLogits& visit);
  // The samples as the model embeds them, with tensors of the overlay.
  Result<std::vector<float>> embed(const TensorOverlay& overlay);

 private:
  struct Pass {  // whole samples that run together
    Batch batch;
    int64_t first_row = 0;
    int64_t rows = 0;
  };
  LayerWalk() = default;
  struct Layer;  // the current one, loaded
  Result<std::unique_ptr<Layer>> load(const TensorOverlay& overlay);
  Status run_states(Layer& layer, std::span<float> states);
  void plan_passes();
  // Runs the layer as far as `last`, or to its end, where the states move on.
  Status run(const TensorOverlay& overlay, const Visit& visit, std::optional<LinearInput> last);

  std::shared_ptr<const Checkpoint> checkpoint_;
  std::shared_ptr<const ModelPlan> plan_;
  WalkOptions options_;
  std::unique_ptr<ThreadPool> pool_;
  std::vector<std::vector<TokenId>> samples_;
  std::vector<Pass> passes_;
  std::vector<PageTable> tables_;  // one per sample of a pass, reused by every pass
  int64_t page_count_ = 0;
  std::vector<float> hidden_;
  int64_t tokens_ = 0;
  size_t layer_ = 0;
};

}  // namespace ingot
