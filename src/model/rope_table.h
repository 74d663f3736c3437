// SPDX-License-Identifier: Apache-2.0
// Angles of rotary embeddings: every scaling rule ends here, in a table of cosines and sines per
// token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/batch.h"
#include "model/spec.h"

namespace ingot {

// The frequencies of one rope for a sequence of a given length, and the factor on cos and sin.
struct RopeFrequencies {
  std::vector<float> inverse;  // [rotary_dim / 2]
  float attention_factor = 1;
};
RopeFrequencies rope_frequencies(const RopeSpec& spec, int64_t context, int64_t rope_length);

// cos and sin for every row of a batch. Buffers are kept between steps, and so are the numbers of
// low positions: a step of many sequences would else wait for thousands of cosines before it
// begins. Engine thread only.
class RopeTable {
 public:
  RopeTable(RopeSpec spec, int64_t context) : spec_(std::move(spec)), context_(context) {}
  void fill(const Batch& batch);
  const RopeSpec& spec() const { return spec_; }
  int64_t pairs() const { return spec_.rotary_dim / 2; }
  const float* cos() const { return cos_.data(); }
  const float* sin() const { return sin_.data(); }

 private:
  bool depends_on_length() const {
    return spec_.scaling == RopeScaling::kDynamic || spec_.scaling == RopeScaling::kLongRope;
  }
  const RopeFrequencies& frequencies_for(int64_t rope_length);
  void fill_row(int64_t position, int64_t rope_length, float* cos, float* sin);
  RopeSpec spec_;
  int64_t context_;
  int64_t cached_length_ = -1;
  RopeFrequencies cached_;
  std::vector<float> cos_;  // [rows, pairs]
  std::vector<float> sin_;
  std::vector<bool> is_kept_;  // of positions
  std::vector<float> kept_;    // [positions, cos and sin, pairs]
};

}  // namespace ingot
