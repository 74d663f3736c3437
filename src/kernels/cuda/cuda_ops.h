// SPDX-License-Identifier: Apache-2.0
// A forward pass on a GPU: ops.h as launches on one stream. What a step needs to know is sent in
// one piece when it begins; from then on the host only queues work until a result is read.
#pragma once

#include <array>
#include <compare>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/cuda_inputs.h"
#include "kernels/cuda/cuda_step.h"
#include "kernels/cuda/cuda_wide.h"
#include "kernels/cuda/row_sampler.h"
#include "kernels/ops.h"

struct CUgraphExec_st;

namespace ingot::cuda {

// Engine thread only.
class CudaOps final : public Ops {
 public:
  static Result<std::unique_ptr<CudaOps>> create(std::shared_ptr<CudaDevice> device);
  ~CudaOps() override;

  void set_batch_invariant(bool is_batch_invariant) override;
  void begin(const OpsStep& step) override;
  bool replay() override;
  void end_pass() override;
  Status finish() override;
  float* buffer(Buffer which, int64_t floats) override;
  void write(float* to, std::span<const float> from) override;
  Status read(const float* from, std::span<float> to) override;
  Result<std::span<const float>> view(const float* from, size_t count) override;
  void embed(const EmbeddingTable& table, float factor, float* out, int64_t dim) override;
  void add_positions(std::span<const float> table, float* x, int64_t dim) override;
  void normalize(const NormOp& norm, const float* x, float* y, int64_t rows, int64_t dim) override;
  void add_and_normalize(float* x, const float* branch, float factor, const NormOp& norm, float* y,
                         int64_t rows, int64_t dim) override;
  void set_input(InputSlot slot, const float* x, int64_t rows, int64_t cols) override;
  void run_linears(InputSlot slot, std::span<const LinearOutput> outputs) override;
  void run_gated(InputSlot slot, const GatedOp& op) override;
  void clamp(float* x, float limit, int64_t count) override;
  void rotate(const RotateOp& op) override;
  void attend(const AttendOp& op) override;
  void activate(Activation activation, const float* gate, const float* up, float* out,
                int64_t count) override;
  void add_scaled(float* y, const float* x, float factor, int64_t count) override;
  void copy_rows(RowList rows, const float* x, int64_t dim, float* out) override;
  void finish_logits(float* y, float scale, float cap, int64_t count) override;
  void start_sampling(float* logits, int64_t vocab) override;
  Result<std::span<const RowSample>> samples() override;

 private:
  explicit CudaOps(std::shared_ptr<CudaDevice> device);
  Status grow(Memory& memory, size_t bytes);
  Status grow_zeros(Memory& memory, size_t bytes);
  int64_t moves() const {
    return moves_ + inputs_[0].moves() + inputs_[1].moves() + wide_.moves() + sampler_.moves();
  }
  // Keeps the first failure of a step; what follows is queued all the same and means nothing.
  void keep(const Status& status);
  // The device's copy of a constant of the host; null of nothing.
  const float* constant(std::span<const float> values);
  // Ops that wait for the next one, which may take them in; every op but those that do calls it.
  void flush();
  void run_rotations();
  RopeRows take_rotation(const AttendOp& op);
  void normalize_rows(const NormOp& norm, const float* x, float* y, int64_t rows, int64_t dim,
                      float* residual, const float* branch, float factor);
  // Linears of one input, which can share a launch; `gating`: as one output.
  void forget_inner(InputSlot slot);
  Status run_narrow(Inputs& inputs, std::span<const LinearOutput> outputs,
                    const Gating& gating = {});
  // The first two groups of weights in one launch; how many outputs that were, 0: it cannot be.
  Result<size_t> run_pair(Inputs& inputs, std::span<const LinearOutput> outputs);
  // False: it takes more than one launch.
  Result<bool> run_gated_at_once(Inputs& inputs, const GatedOp& op);
  // The form in which the first kernel that is asked reads the inputs of linears.
  InputForm form_for(std::span<const LinearOutput> outputs, int64_t tokens) const;

  // y += factor * x
  struct Sum {
    float* y = nullptr;  // null: there is none
    const float* x = nullptr;
    float factor = 0;
    int64_t count = 0;
  };

  // What tells passes apart that can be replayed: the rest of a step is read from memory.
  struct PassKey {
    int32_t rows = 0;
    int64_t longest = 0;
    const void* cache = nullptr;
    auto operator<=>(const PassKey&) const = default;
  };
  struct Recording {
    int64_t moves = -1;  // when it was recorded; -1: the pass was run once, not recorded
    CUgraphExec_st* graph = nullptr;
  };
  void drop_recordings();

  std::shared_ptr<CudaDevice> device_;
  Stream stream_;
  Status status_;
  int64_t moves_ = 0;
  bool is_decode_ = false;  // single tokens only: what is recorded
  PassKey key_;
  bool is_recording_ = false;
  std::map<PassKey, Recording> recordings_;
  DeviceStep step_;
  PinnedMemory step_host_;
  Memory step_memory_;
  CUevent_st* step_sent_ = nullptr;
  std::array<Memory, kBuffers> buffers_;
  std::array<Inputs, 2> inputs_;
  Producer producer_;
  Sum sum_;
  std::vector<RotateOp> rotations_;  // at most two, which can go together
  std::unordered_map<const float*, Memory> constants_;
  RowSampler sampler_;
  bool has_sampled_ = false;  // this step
  Memory attention_scratch_;
  Memory linear_partials_;
  Memory linear_counters_;
  WideProducts wide_;
  bool is_batch_invariant_ = false;
  std::vector<PinnedMemory> views_;
  size_t views_used_ = 0;
};

}  // namespace ingot::cuda
