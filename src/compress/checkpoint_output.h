// SPDX-License-Identifier: Apache-2.0
// The quantized checkpoint on its way to disk: laid out before the first weight is touched, written
// module by module, and readable while it grows, so that a run that was killed goes on behind what
// is done.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "compress/compress_options.h"
#include "compress/layer_modules.h"
#include "formats/tensor_writer.h"

namespace ingot {

// A module and what becomes of it.
struct ModulePlan {
  LayerModule module;
  bool keeps = false;  // stays as it is
  WeightFormat format;
};

// Single thread.
class CheckpointOutput {
 public:
  // `changed`: plain tensors that are written later, by write_floats, instead of copied.
  static Result<CheckpointOutput> create(const std::filesystem::path& folder,
                                         std::shared_ptr<const Checkpoint> input,
                                         const ModelPlan& plan,
                                         const std::vector<ModulePlan>& modules,
                                         const std::vector<std::string>& changed,
                                         const std::string& config, const CompressOptions& options);

  // Everything that stays: embeddings, norms, biases, modules that are kept.
  Status copy_plain(const std::function<void(double fraction)>& progress);
  bool is_done(const ModulePlan& module) const;
  Status write(const ModulePlan& module, const PackedTensors& tensors);
  // A plain tensor whose values have changed, in the layout it had.
  Status write_floats(const std::string& tensor, std::span<const float> values);
  bool has_floats(const std::string& tensor) const;
  // What a reader gets of a module, or of a changed tensor, that is done.
  Result<std::vector<float>> read_back(const ModulePlan& module) const;
  Result<std::vector<float>> read_back(const std::string& tensor) const;
  Status commit() { return writer_->commit(); }
  uint64_t size_bytes() const;
  bool was_resumed() const { return was_resumed_; }

 private:
  struct Copy {
    size_t index;
    const TensorEntry* from;
  };
  CheckpointOutput() = default;
  const size_t* index_of(const std::string& name) const;

  std::shared_ptr<const Checkpoint> input_;
  std::shared_ptr<const ModelPlan> plan_;
  QuantConfig quantization_;  // of the output
  std::unique_ptr<TensorWriter> writer_;
  std::map<std::string, size_t, std::less<>> indexes_;
  std::map<std::string, std::string, std::less<>> prefixes_;  // plan's name -> the file's
  std::vector<Copy> copies_;
  bool was_resumed_ = false;
};

}  // namespace ingot
