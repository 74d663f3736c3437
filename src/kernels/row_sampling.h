// SPDX-License-Identifier: Apache-2.0
// How the token behind an output row is chosen where the logits lie: the part of sampling that a
// device can do by itself. Parameters come worked out (a number already drawn, penalties as edits
// of single logits), so a device knows nothing of requests or histories. What it says must be what
// engine/sampling.h says of the same logits, but for the rounding of sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "ingot/sampling.h"

namespace ingot {

// x = x > 0 ? x / factor : x * factor, then x += addend.
struct LogitEdit {
  TokenId id;
  float factor;
  float addend;
};

inline constexpr int32_t kMostDeviceLogprobs = 20;
inline constexpr int32_t kMostDeviceTopK = 1024;

struct RowSampling {
  bool is_on_host = true;  // the logits themselves are wanted; nothing below counts
  bool is_greedy = false;  // the lowest id among the largest logits; no cuts
  // Sorted by id; those of one token are applied in their order.
  std::span<const LogitEdit> edits;
  std::span<const uint32_t> mask;  // a bit per token that is allowed; empty: all are
  // The cuts, in this order, each on what the one before has left. A scale is one over the
  // temperature that a cut sees; the draw sees `scale`.
  int32_t top_k = 0;  // 0: off; at most kMostDeviceTopK
  double top_p = 1;   // 1: off
  float top_p_scale = 1;
  double min_p_reach = -std::numeric_limits<double>::infinity();  // from the largest logit down
  float scale = 1;
  double uniform = 0;  // in [0, 1): where in the distribution the token is
  // Alternatives told with the token's own logprob, at most kMostDeviceLogprobs; below 0: nothing.
  int32_t logprobs = -1;
};

struct RowSample {
  TokenId id = -1;            // -1: the host has to look at the logits
  PositionLogprobs logprobs;  // where they were asked for
};

}  // namespace ingot
