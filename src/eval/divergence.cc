// SPDX-License-Identifier: Apache-2.0
#include "eval/divergence.h"

#include <cmath>

namespace ingot {
namespace {

struct alignas(64) DivergenceShare {
  explicit DivergenceShare(TargetSet targets) : comparer(targets) {}
  RowComparer comparer;
  std::vector<float> reference;  // a decoded row
  double nll = 0;
  int64_t count = 0;
};

// Compares row by row on the pool's threads; adds up in the order of the text.
class Run {
 public:
  Run(const ScoredText& text, ThreadPool& pool, TargetSet targets)
      : text_(text),
        pool_(pool),
        rows_(text.targets.size()),
        shares_(static_cast<size_t>(pool.size()), DivergenceShare(targets)) {}

  // reference(share, index, logits) is the reference's row.
  template <class Reference>
  Result<KlDivergence> run(std::span<ScoreModel* const> models, const GoesOn& goes_on,
                           Reference&& reference) {
    const auto on_row = [&](int thread, const ScoredRow& row,
                            std::span<const std::span<const float>> logits) {
      DivergenceShare& share = shares_[static_cast<size_t>(thread)];
      const size_t index = text_.index_of(row);
      rows_[index] = share.comparer.compare(reference(share, index, logits), logits.back(),
                                            text_.targets[index]);
      share.nll += static_cast<double>(rows_[index].nll);
      ++share.count;
    };
    INGOT_TRY(run_scores(models, pool_, text_.sequences, on_row, [&](int64_t done, int64_t all) {
      return !goes_on || goes_on(progress(done, all));
    }));
    KlDivergence kl(models.front()->model().targets());
    for (const KlRow& row : rows_)
      kl.add(row);
    if (kl.bad_rows() > 0)
      return Status::internal(
          "{} of {} rows of logits are not finite; `ingot verify` looks at "
          "the weights",
          kl.bad_rows(), rows_.size());
    return kl;
  }

 private:
  ScoreProgress progress(int64_t done, int64_t all) const {
    double nll = 0;
    int64_t count = 0;
    for (const DivergenceShare& share : shares_) {
      nll += share.nll;
      count += share.count;
    }
    return {.fraction = static_cast<double>(done) / static_cast<double>(all),
            .perplexity = count > 0 ? std::exp(nll / static_cast<double>(count)) : 0};
  }

  const ScoredText& text_;
  ThreadPool& pool_;
  std::vector<KlRow> rows_;
  std::vector<DivergenceShare> shares_;
};

Status check_vocab(size_t reference, size_t model) {
  if (reference == model) return Status::ok();
  return Status::invalid_argument(
      "the reference has a vocabulary of {} and the model one of {}; they must be the same model "
      "in two formats",
      reference, model);
}

}  // namespace

Result<KlDivergence> diverge_from_file(const ReferenceLogits& reference, ScoreModel& model,
                                       ThreadPool& pool, const GoesOn& goes_on) {
  INGOT_TRY(check_vocab(reference.vocab(), model.vocab()));
  Run run(reference.text(), pool, model.model().targets());
  ScoreModel* const models[] = {&model};
  INGOT_TRY(KlDivergence kl,
            run.run(models, goes_on, [&](DivergenceShare& share, size_t index, const auto&) {
              share.reference.resize(reference.vocab());
              reference.read_row(index, share.reference);
              return std::span<const float>(share.reference);
            }));
  INGOT_TRY(reference.check_intact());
  return kl;
}

Result<KlDivergence> diverge_from_model(ScoreModel& reference, ScoreModel& model, ThreadPool& pool,
                                        const ScoredText& text, const GoesOn& goes_on) {
  INGOT_TRY(check_vocab(reference.vocab(), model.vocab()));
  Run run(text, pool, model.model().targets());
  ScoreModel* const models[] = {&reference, &model};
  return run.run(models, goes_on,
                 [](DivergenceShare&, size_t, std::span<const std::span<const float>> logits) {
                   return logits.front();
                 });
}

}  // namespace ingot
