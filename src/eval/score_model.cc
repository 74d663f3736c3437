// SPDX-License-Identifier: Apache-2.0
#include "eval/score_model.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "base/free_memory.h"

namespace ingot {
namespace {

// Never more than half of what is free: the weights' file cache wants to stay.
Status check_memory(const std::vector<CacheGroup>& groups, const KvCacheOptions& options) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < groups.size(); ++i)
    bytes += static_cast<uint64_t>(groups[i].page_bytes) *
             static_cast<uint64_t>(options.pages_per_group[i]);
  const uint64_t free = free_memory_bytes();
  if (free == 0 || bytes <= free / 2) return Status::ok();
  return Status::resource_exhausted(
      "windows need {} MiB of KV cache and {} MiB of memory are free; use a smaller --ctx-size or "
      "a --kv-cache-dtype such as int8",
      bytes >> 20, free >> 20);
}

}  // namespace

ScoreModel::ScoreModel(std::shared_ptr<const Model> model, ThreadPool& pool,
                       const ScoreModelOptions& options, ScorePlanOptions plan, KvCache cache)
    : context_(options.context),
      plan_(plan),
      cache_(std::move(cache)),
      decoder_(*Decoder::create(std::move(model), Exec(pool), options.cache)) {
  tables_.resize(static_cast<size_t>(plan.slots));
  for (size_t slot = 0; slot < tables_.size(); ++slot) {
    for (size_t group = 0; group < cache_.groups().size(); ++group) {
      const auto pages = static_cast<size_t>(cache_.pages(group)) / tables_.size();
      PageTable& table = tables_[slot].emplace_back(pages);
      std::iota(table.begin(), table.end(), static_cast<PageId>(slot * pages));
    }
  }
}

Result<ScoreModel> ScoreModel::create(std::shared_ptr<const Model> model, ThreadPool& pool,
                                      const ScoreModelOptions& options) {
  const ModelSpec& spec = model->spec();
  if (options.context < 1)
    return Status::invalid_argument("a window of {} tokens is too small", options.context);
  if (spec.learned_positions > 0 &&
      options.context > spec.learned_positions - spec.position_offset) {
    return Status::invalid_argument(
        "a window of {} tokens is more than the {} positions this model has; use a smaller "
        "--ctx-size",
        options.context, spec.learned_positions - spec.position_offset);
  }
  ScorePlanOptions plan;
  plan.batch_tokens = std::max<int64_t>(options.batch_tokens, 1);
  plan.slots = std::max<int64_t>(plan.batch_tokens / options.context, 1);
  const auto row_bytes = static_cast<uint64_t>(spec.vocab) * sizeof(float);
  plan.logit_rows = static_cast<int64_t>(std::max<uint64_t>(options.logit_bytes / row_bytes, 1));

  KvCacheOptions cache_options{options.cache, options.page_tokens, {}};
  const int64_t page_tokens = std::max<int64_t>(options.page_tokens, 1);  // create() judges it
  const std::vector<CacheGroup> groups = cache_groups(spec, options.cache, page_tokens);
  cache_options.pages_per_group.assign(
      groups.size(), plan.slots * ((options.context + page_tokens - 1) / page_tokens));
  INGOT_TRY(check_memory(groups, cache_options));
  INGOT_TRY(KvCache cache, KvCache::create(spec, cache_options));
  return ScoreModel(std::move(model), pool, options, plan, std::move(cache));
}

Status ScoreModel::check(std::span<const ScoreSequence> sequences) const {
  const int64_t vocab = model().spec().vocab;
  for (const ScoreSequence& sequence : sequences) {
    if (static_cast<int64_t>(sequence.tokens.size()) > context_)
      return Status::invalid_argument("a sequence of {} tokens does not fit the window of {}",
                                      sequence.tokens.size(), context_);
    for (const TokenId id : sequence.tokens) {
      if (id < 0 || id >= vocab)
        return Status::invalid_argument("token id {} is outside the vocabulary [0, {})", id, vocab);
    }
  }
  return Status::ok();
}

Result<std::span<const float>> ScoreModel::forward(std::span<const ScorePart> parts,
                                                   std::span<const ScoreSequence> sequences) {
  Batch batch;
  for (const ScorePart& part : parts) {
    const std::vector<TokenId>& tokens = sequences[part.sequence].tokens;
    const auto first_row = static_cast<int64_t>(batch.tokens.size());
    batch.tokens.insert(batch.tokens.end(), tokens.begin() + part.begin, tokens.begin() + part.end);
    batch.sequences.push_back({.tokens = part.end - part.begin,
                               .first_position = part.begin,
                               .tables = tables_[part.slot],
                               .rope_length = static_cast<int64_t>(tokens.size())});
    for (int64_t row = part.first_row; row < part.end; ++row)
      batch.output_rows.push_back(first_row + row - part.begin);
  }
  return decoder_.forward(batch, cache_);
}

Status run_scores(std::span<ScoreModel* const> models, ThreadPool& pool,
                  std::span<const ScoreSequence> sequences, const OnScoredRow& on_row,
                  const std::function<bool(int64_t done, int64_t all)>& goes_on) {
  ScorePlanOptions options = models.front()->plan_options();
  int64_t all = 0;
  int64_t done = 0;
  for (const ScoreModel* model : models) {
    INGOT_TRY(model->check(sequences));
    options.slots = std::min(options.slots, model->plan_options().slots);
    options.logit_rows = std::min(options.logit_rows, model->plan_options().logit_rows);
  }
  for (const ScoreSequence& sequence : sequences)
    all += static_cast<int64_t>(sequence.tokens.size());

  ScorePlan plan(sequences, options);
  std::vector<ScoredRow> rows;
  std::vector<std::span<const float>> logits(models.size());
  for (std::vector<ScorePart> parts = plan.next(); !parts.empty(); parts = plan.next()) {
    for (size_t i = 0; i < models.size(); ++i) {
      INGOT_TRY(logits[i], models[i]->forward(parts, sequences));
    }
    rows.clear();
    for (const ScorePart& part : parts) {
      done += part.end - part.begin;
      for (int64_t row = part.first_row; row < part.end; ++row)
        rows.push_back({part.sequence, row});
    }
    std::atomic<size_t> next{0};
    const ThreadPool::Step step(pool, pool.size());
    pool.run([&](int thread) {
      std::vector<std::span<const float>> row_logits(models.size());
      for (size_t i = next.fetch_add(1); i < rows.size(); i = next.fetch_add(1)) {
        for (size_t m = 0; m < models.size(); ++m)
          row_logits[m] = logits[m].subspan(i * models[m]->vocab(), models[m]->vocab());
        on_row(thread, rows[i], row_logits);
      }
    });
    if (goes_on && !goes_on(done, all)) return Status::cancelled("the evaluation was stopped");
  }
  return Status::ok();
}

}  // namespace ingot
