// SPDX-License-Identifier: Apache-2.0
// Sampling on the device, as the host sees it: what a step's rows want is sent when the step
// begins; tokens and logprobs come back in memory of the host that kernels write to. A step may
// begin before the tokens of the one before it are known here: it finds them on the device.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "base/status.h"
#include "kernels/cuda/cuda_memory.h"
#include "kernels/cuda/sampling.h"
#include "kernels/row_sampling.h"

struct CUevent_st;

namespace ingot::cuda {

// Engine thread only.
class RowSampler {
 public:
  RowSampler() = default;
  RowSampler(const RowSampler&) = delete;
  ~RowSampler();

  // Queues the copy of what the rows want. What was sent before must have arrived.
  Status begin(std::span<const RowSampling> rows, Stream stream);
  // Queues the sampling of those rows of logits [rows, vocab], which are changed meanwhile.
  Status start(float* logits, int64_t vocab, Stream stream);
  // Waits for the first that was started and not finished; there may be two. One sample a row;
  // valid until the second begin() from here.
  Result<std::span<const RowSample>> finish();
  // What was started last is not wanted.
  void drop_last() { --started_; }

  // Tokens of the rows of the last step, or -1, on the device; and how often they were moved.
  const int32_t* tokens() const { return reinterpret_cast<const int32_t*>(tokens_.data()); }
  int64_t moves() const { return moves_; }

 private:
  // What a step has to come back to.
  struct Slot {
    std::vector<RowPlan> plans;
    int32_t sampled = 0;  // plans of the first pass; reports are behind them
    PinnedMemory tokens, reports;
    std::vector<RowSample> samples;
    CUevent_st* done = nullptr;
  };

  // Lists the rows in the order of passes: those that are searched, greedy ones, then reports.
  void plan(std::span<const RowSampling> rows, Slot& slot);
  void add_row(const RowSampling& wanted, size_t row, RowKind kind, Slot& slot);
  Status keep_tokens(size_t rows, Stream stream);
  Status reserve(int64_t vocab, Slot& slot);
  SamplingPass pass_of(float* logits, int64_t vocab, const Slot& slot) const;
  static void take(Slot& slot);
  Slot& next() { return slots_[static_cast<size_t>(started_ % 2)]; }

  std::array<Slot, 2> slots_;  // in turn
  int64_t started_ = 0;
  int64_t finished_ = 0;
  std::vector<LogitEdit> edits_;
  std::vector<uint32_t> masks_;
  size_t shortest_mask_ = 0;  // in words
  int32_t searched_ = 0;
  bool has_sums_ = false;  // of whole rows, that a search needs
  int32_t parts_ = 1;
  PinnedMemory sent_host_;
  Memory sent_;
  const RowPlan* device_plans_ = nullptr;
  const LogitEdit* device_edits_ = nullptr;
  const uint32_t* device_masks_ = nullptr;
  Memory tops_, blocks_, saved_;
  Memory tokens_;
  int64_t moves_ = 0;
};

}  // namespace ingot::cuda
