// SPDX-License-Identifier: Apache-2.0
// A forward pass on the processor: ops.h by the kernels chosen for the targets given.
#pragma once

#include <array>

#include "base/wide_memory.h"
#include "kernels/activations.h"
#include "kernels/attention.h"
#include "kernels/exec.h"
#include "kernels/ops.h"

namespace ingot {

// Engine thread only.
class CpuOps final : public Ops {
 public:
  CpuOps(Exec exec, TargetSet targets, KvCacheType cache_type);

  void begin(const OpsStep& step) override { step_ = step; }
  Status finish() override { return Status::ok(); }
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
  void clamp(float* x, float limit, int64_t count) override;
  void rotate(const RotateOp& op) override;
  void attend(const AttendOp& op) override;
  void activate(Activation activation, const float* gate, const float* up, float* out,
                int64_t count) override;
  void add_scaled(float* y, const float* x, float factor, int64_t count) override;
  void copy_rows(RowList rows, const float* x, int64_t dim, float* out) override;
  void finish_logits(float* y, float scale, float cap, int64_t count) override;

 private:
  int64_t rows() const { return static_cast<int64_t>(step_.tokens.size()); }

  Exec exec_;
  const AttentionKernel* attention_;
  const NormKernel* norm_;
  const RopeKernel* rope_;
  const ElementwiseKernels* elementwise_;
  OpsStep step_;
  std::array<Scratch, kBuffers> buffers_;
  std::array<Activations, 2> inputs_;
};

}  // namespace ingot
