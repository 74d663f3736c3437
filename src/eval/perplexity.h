// SPDX-License-Identifier: Apache-2.0
// Perplexity of a text. Two protocols: llama-perplexity's (chunks of n_ctx, the first half of each
// is context only) so that numbers compare, and plain windows of bos + n-1 tokens, all of them
// scored.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/solo.h"

namespace ingot {

struct PerplexityOptions {
  int64_t context = 512;  // tokens per chunk
  int64_t stride =
      0;  // 0: chunks do not overlap; else a sliding window that scores the last `stride`
  bool scores_all = false;  // windows of bos + (context - 1) tokens, every one predicted
  int64_t max_chunks = -1;
  bool adds_bos = true;  // each chunk's first token becomes bos, when the model has one
  TokenId bos = -1;
};

struct PerplexityResult {
  double perplexity = 0;
  double standard_error = 0;  // of the perplexity
  double mean_nll = 0;
  int64_t tokens = 0;  // scored
  int64_t chunks = 0;
};

struct ChunkReport {
  int64_t chunk = 0;
  int64_t chunks = 0;
  double perplexity = 0;  // so far
};
Result<PerplexityResult> perplexity(Solo& solo, std::span<const TokenId> ids,
                                    const PerplexityOptions& options,
                                    const std::function<void(const ChunkReport&)>& on_chunk);

}  // namespace ingot
