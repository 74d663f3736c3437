// SPDX-License-Identifier: Apache-2.0
// Sampling on the device, as the host sees it: what a step's rows want is sent when the step
// begins; tokens and logprobs come back in memory of the host that kernels write to.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "kernels/cuda/cuda_memory.h"
#include "kernels/cuda/sampling.h"
#include "kernels/row_sampling.h"

namespace ingot::cuda {

// Engine thread only.
class RowSampler {
 public:
  // Queues the copy of what the rows want. What was sent before must have arrived.
  Status begin(std::span<const RowSampling> rows, Stream stream);
  // Queues the sampling of those rows of logits [rows, vocab], which are changed meanwhile.
  Status start(float* logits, int64_t vocab, Stream stream);
  // Waits for it. One sample a row; valid until the next begin().
  Result<std::span<const RowSample>> finish(Stream stream);

 private:
  // Lists the rows in the order of passes: those that are searched, greedy ones, then reports.
  void plan(std::span<const RowSampling> rows);
  void add_row(const RowSampling& wanted, size_t row, RowKind kind);
  Status reserve(int64_t vocab);
  SamplingPass pass_of(float* logits, int64_t vocab) const;
  void take(std::span<RowSample> samples) const;

  std::vector<RowPlan> plans_;
  std::vector<LogitEdit> edits_;
  std::vector<uint32_t> masks_;
  size_t shortest_mask_ = 0;  // in words
  int32_t searched_ = 0;
  bool has_sums_ = false;  // of whole rows, that a search needs
  int32_t sampled_ = 0;    // plans of the first pass; reports are behind them
  int32_t parts_ = 1;
  PinnedMemory sent_host_;
  Memory sent_;
  const RowPlan* device_plans_ = nullptr;
  const LogitEdit* device_edits_ = nullptr;
  const uint32_t* device_masks_ = nullptr;
  Memory tops_, blocks_, saved_, tokens_;
  PinnedMemory host_tokens_, host_reports_;
  std::vector<RowSample> samples_;
};

}  // namespace ingot::cuda
