// SPDX-License-Identifier: Apache-2.0
// One sequence by itself: the plainest way to run a model, and the oracle that every scheduled run
// is compared with. Keeps the keys and values of its last sequence, so that a chat's next turn
// computes only what is new.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/thread_pool.h"
#include "engine/request.h"
#include "engine/sampling.h"
#include "model/decoder.h"

namespace ingot {

struct SoloOptions {
  ThreadOptions threads;
  KvCacheType cache = KvCacheType::kF32;
  int64_t page_tokens = kDefaultPageTokens;
  int64_t context = 0;         // most tokens held; 0: the model's own context, at most 8192
  int64_t chunk_tokens = 512;  // rows per forward pass of a prompt
};

struct SoloRequest {
  std::vector<TokenId> prompt;
  int64_t max_tokens = -1;  // -1: until the context is full
  SamplingParams sampling;
  std::vector<TokenId> stop_ids;       // each ends the answer and is not part of it
  std::optional<int> logprobs;         // alternatives per generated token
  std::optional<int> prompt_logprobs;  // alternatives per prompt position
  uint32_t choice = 0;                 // of n answers: draws other numbers than its siblings
};

struct SoloResult {
  std::vector<TokenId> ids;  // generated; a stop id is not included
  FinishReason finish = FinishReason::kLength;
  std::vector<PositionLogprobs> logprobs;  // one per id, when asked
  std::vector<std::optional<PositionLogprobs>>
      prompt_logprobs;        // one per prompt token, first empty
  int64_t reused_tokens = 0;  // of the prompt, found in the cache
  double prompt_seconds = 0;
  double decode_seconds = 0;
};

// Engine thread only.
class Solo {
 public:
  static Result<std::unique_ptr<Solo>> create(std::shared_ptr<const Model> model,
                                              const SoloOptions& options);

  // on_token sees each token as it is chosen; returning false stops the run (finish = kCancelled).
  Result<SoloResult> generate(const SoloRequest& request,
                              const std::function<bool(TokenId)>& on_token = {});
  // Runs `ids` from an empty cache and hands every row's logits to on_row(row, logits), in order.
  Status score(std::span<const TokenId> ids,
               const std::function<void(int64_t row, std::span<const float> logits)>& on_row);

  int64_t context() const { return context_; }
  int threads() const { return pool_.size(); }
  const Model& model() const { return decoder_.model(); }

 private:
  Solo(std::shared_ptr<const Model> model, const SoloOptions& options, int64_t context,
       KvCache cache);
  Status check_prompt(std::span<const TokenId> ids) const;
  // Computes rows [from, ids.size()) in chunks; on_row for rows >= first_output.
  Status run_prompt(std::span<const TokenId> ids, int64_t from, int64_t first_output,
                    const std::function<void(int64_t, std::span<const float>)>& on_row);

  ThreadPool pool_;
  SoloOptions options_;
  int64_t context_;
  KvCache cache_;
  Decoder decoder_;
  std::vector<PageTable> tables_;    // one per cache group: page i is the i-th of the sequence
  std::vector<TokenId> cached_ids_;  // what the pages hold
  int64_t rope_length_ = 0;
};

}  // namespace ingot
