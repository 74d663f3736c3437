// SPDX-License-Identifier: Apache-2.0
// A loaded model: the spec and its weights, bound to kernels. Weights are views into the checkpoint
// where the file's own bytes serve; norms and biases are small float copies. Immutable;
// thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/checkpoint.h"
#include "kernels/device.h"
#include "kernels/linear.h"
#include "kernels/target.h"
#include "model/dtype.h"
#include "model/mapper.h"
#include "model/spec.h"
#include "model/tensor_overlay.h"

namespace ingot {

// Told how far a load is, from 0 to 1. Called on the loading thread.
using Progress = std::function<void(double fraction)>;

struct ModelOptions {
  TargetSet targets = TargetSet::of_this_machine();
  int threads = 0;  // for checking and repacking; 0: all usable cores
  ModelDtype dtype = ModelDtype::kAuto;
  bool checks_tensors = true;      // refuse weights with NaN or infinite scales
  Progress progress;               // may be empty
  std::shared_ptr<Device> device;  // null: the processor alone
  // So many of the last layers go there; more than there are: embedding and head too. -1: as many
  // as fit, with a KV cache for `device_context` tokens.
  int64_t device_layers = -1;
  int64_t device_context = 8192;
  bool is_batch_invariant = false;  // on the device; see Ops::set_batch_invariant
};

struct NormWeights {
  std::vector<float> weight;  // empty: no affine part
  std::vector<float> bias;
};

// A linear layer and the memory behind what is not a plain view of the file.
struct LinearWeights {
  Linear linear;
  std::vector<float> bias;
  std::vector<std::byte> owned;  // gathered, transposed or realigned weights
  bool is_bound() const { return linear.is_bound(); }
};

struct LayerWeights {
  NormWeights mixer_norm, mixer_post_norm, ffn_norm, ffn_post_norm;
  LinearWeights q, k, v, o;
  NormWeights q_norm, k_norm;
  std::vector<float> sinks;         // [heads]
  std::vector<float> alibi_slopes;  // [heads]
  LinearWeights gate, up, down;
};

class WeightGenerator;

class Model {
 public:
  static Result<std::shared_ptr<const Model>> load(std::shared_ptr<const Checkpoint> checkpoint,
                                                   const ModelOptions& options);
  // With weights that come from no file (model/generate.h). The generator is needed no longer.
  static Result<std::shared_ptr<const Model>> generate(std::string name, WeightGenerator& generator,
                                                       const ModelOptions& options);
  // One layer of a plan by itself, as layer 0, without embedding and head: for those who walk a
  // model layer by layer in little memory. Tensors of the overlay, which must outlive it, take the
  // place of the checkpoint's.
  static Result<std::shared_ptr<const Model>> load_layer(
      std::shared_ptr<const Checkpoint> checkpoint, const ModelPlan& plan, size_t layer,
      const TensorOverlay& overlay, const ModelOptions& options);
  // What stands before and behind them, without any layer: the embedding, and where it has a head
  // also the final norm and the head.
  static Result<std::shared_ptr<const Model>> load_ends(
      std::shared_ptr<const Checkpoint> checkpoint, const ModelPlan& plan,
      const TensorOverlay& overlay, const ModelOptions& options, bool has_head);

  const ModelSpec& spec() const { return spec_; }
  const std::vector<LayerWeights>& layers() const { return layers_; }
  const TensorView& embedding() const { return embedding_; }  // [vocab, hidden]
  const std::vector<float>& position_table() const {
    return positions_;
  }  // [learned_positions, hidden]
  const NormWeights& embedding_norm() const { return embedding_norm_; }
  const LinearWeights& embedding_in() const { return embedding_in_; }
  const LinearWeights& embedding_out() const { return embedding_out_; }
  const NormWeights& final_norm() const { return final_norm_; }
  const LinearWeights& output() const { return output_; }
  TargetSet targets() const { return targets_; }
  ModelDtype dtype() const { return dtype_; }  // kFloat for kAuto where the model is small
  const Checkpoint& checkpoint() const { return *checkpoint_; }
  // Null where all of it is the processor's.
  const std::shared_ptr<Device>& device() const { return device_; }
  bool is_all_on_device() const { return is_all_on_device_; }  // the embedding too
  bool is_head_on_device() const { return is_all_on_device_; }
  // The embedding as a weight of the device; unbound elsewhere.
  const Linear& placed_embedding() const { return placed_embedding_; }
  bool is_batch_invariant() const { return is_batch_invariant_; }  // what the device is asked for
  int64_t parameters() const { return parameters_; }

 private:
  friend class Binder;
  friend class GeneratedBinder;
  Model(TargetSet targets, ModelDtype dtype) : targets_(targets), dtype_(dtype) {}
  static std::shared_ptr<Model> unbound(std::shared_ptr<const Checkpoint> checkpoint,
                                        const ModelSpec& spec, uint64_t weight_bytes,
                                        const ModelOptions& options);

  std::shared_ptr<const Checkpoint> checkpoint_;
  TargetSet targets_;
  ModelDtype dtype_;
  ModelSpec spec_;
  TensorView embedding_;
  WeightMemory memory_;  // of the packed weights
  std::vector<std::byte> embedding_owned_;
  std::vector<float> positions_;
  NormWeights embedding_norm_;
  LinearWeights embedding_in_;
  LinearWeights embedding_out_;
  NormWeights final_norm_;
  LinearWeights output_;
  std::vector<LayerWeights> layers_;
  std::shared_ptr<Device> device_;
  bool is_all_on_device_ = false;
  bool is_batch_invariant_ = false;
  Linear placed_embedding_;
  int64_t parameters_ = 0;
};

}  // namespace ingot
