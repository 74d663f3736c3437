// SPDX-License-Identifier: Apache-2.0
// A model as scoring runs it: a decoder and a cache of a few slots, each with room for one sequence
// of the whole window. Runs what a ScorePlan says; logits do not depend on how it was cut.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/thread_pool.h"
#include "eval/score_plan.h"
#include "model/decoder.h"

namespace ingot {

struct ScoreModelOptions {
  KvCacheType cache = KvCacheType::kF32;
  int64_t page_tokens = kDefaultPageTokens;
  int64_t context = 512;        // tokens of the longest sequence
  int64_t batch_tokens = 2048;  // in one pass
  uint64_t logit_bytes = uint64_t{256} << 20;
};

// Engine thread only.
class ScoreModel {
 public:
  // `pool` must outlive it. kResourceExhausted, with the numbers, when the cache cannot be had.
  static Result<ScoreModel> create(std::shared_ptr<const Model> model, ThreadPool& pool,
                                   const ScoreModelOptions& options);

  const Model& model() const { return decoder_.model(); }
  size_t vocab() const { return static_cast<size_t>(model().spec().vocab); }
  // What a plan for this model may ask of one pass.
  const ScorePlanOptions& plan_options() const { return plan_; }
  // kInvalidArgument for a sequence that is too long or has an id outside the vocabulary.
  Status check(std::span<const ScoreSequence> sequences) const;
  // The logits of the parts' wanted rows, in order, [rows, vocab]; valid until the next call.
  Result<std::span<const float>> forward(std::span<const ScorePart> parts,
                                         std::span<const ScoreSequence> sequences);

 private:
  ScoreModel(std::shared_ptr<const Model> model, ThreadPool& pool, const ScoreModelOptions& options,
             ScorePlanOptions plan, KvCache cache);

  int64_t context_;
  ScorePlanOptions plan_;
  KvCache cache_;
  Decoder decoder_;
  std::vector<std::vector<PageTable>> tables_;  // [slot][group]
};

// One row that was asked for, with its place.
struct ScoredRow {
  size_t sequence = 0;
  int64_t row = 0;
};
using OnScoredRow = std::function<void(int thread, const ScoredRow& row,
                                       std::span<const std::span<const float>> logits)>;

// Runs all sequences through the models in step and hands each wanted row with every model's logits
// to on_row, on the pool's threads, many rows at once: the number of the thread is for its scratch.
// goes_on(done, all tokens) is asked after each pass on the calling thread; false is kCancelled.
Status run_scores(std::span<ScoreModel* const> models, ThreadPool& pool,
                  std::span<const ScoreSequence> sequences, const OnScoredRow& on_row,
                  const std::function<bool(int64_t done, int64_t all)>& goes_on);

}  // namespace ingot
