// SPDX-License-Identifier: Apache-2.0
// What a step's output rows want of a device that samples by itself: requests' parameters worked
// out to what kernels/row_sampling.h knows. Requests that want more than that are sampled by the
// host, row by row; nobody sees the difference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/sampling.h"
#include "kernels/row_sampling.h"

namespace ingot {

// The cuts and the temperature of a request, or nothing where a device cannot do what it asks for:
// stages in another order than penalties, top-k, top-p, min-p (temperature may stand anywhere
// behind the penalties), stages besides these, too large a top-k, too many logprobs.
// Edits, mask and the number that is drawn with are still to be set.
std::optional<RowSampling> plan_row(const SamplingParams& params);

// The rows of one step. Engine thread only.
class DeviceSampling {
 public:
  void clear();
  void add_on_host() {
    rows_.emplace_back();
    can_go_ahead_ = false;
  }
  // The token for `position` of the sequence; see Sampler::sample().
  void add(const Sampler& sampler, const SequenceView& sequence, uint64_t position, size_t vocab,
           PenaltyScratch& scratch);
  // Valid until the next add() or clear().
  std::span<const RowSampling> rows();
  // Whether the step behind this one can be planned before these tokens are known: the device
  // samples all rows, and what it samples next does not depend on which they are.
  bool can_go_ahead() const { return can_go_ahead_; }

 private:
  // Where a row's part of a list is: the list may move while it grows.
  struct Run {
    size_t first;
    size_t count;
  };
  std::vector<RowSampling> rows_;
  std::vector<Run> edit_runs_;  // of rows that are not the host's, in order
  std::vector<Run> mask_runs_;
  std::vector<LogitEdit> edits_;
  std::vector<LogitEdit> own_edits_;
  std::vector<uint32_t> masks_;
  bool can_go_ahead_ = true;
};

}  // namespace ingot
