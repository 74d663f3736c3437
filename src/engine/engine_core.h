// SPDX-License-Identifier: Apache-2.0
// The step loop's body: turns the scheduler's plan into a ragged batch, runs it, samples, and tells
// the sinks. One thread, no clock of its own; Engine puts it on a thread, tests drive it by hand.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "base/thread_pool.h"
#include "engine/cache_plan.h"
#include "engine/device_sampling.h"
#include "engine/engine_stats.h"
#include "engine/fault.h"
#include "engine/request.h"
#include "engine/sampling.h"
#include "engine/scheduler.h"
#include "model/decoder.h"

namespace ingot {

struct EngineOptions {
  ThreadOptions threads;
  int64_t context = 0;  // most tokens of one sequence; 0: the model's own, at most 8192
  KvCacheType cache_type = KvCacheType::kF16;
  int64_t page_tokens = kDefaultPageTokens;
  uint64_t kv_cache_memory = 0;  // bytes; 0: kv_cache_fraction of free memory
  double kv_cache_fraction = 0.5;
  int64_t max_num_seqs = 64;
  int64_t max_num_batched_tokens = 512;
  bool has_prefix_cache = true;
  double tenant_share = 1.0;         // of the prefix cache, before others' pages are spared
  uint64_t host_cache_bytes = 0;     // second tier; 0: none
  std::string disk_cache_directory;  // third tier; empty: none
  uint64_t disk_cache_bytes = uint64_t{16} << 30;
  Fault fault;  // for tests
  // For tests, as where the device samples: see engine_tell.cc and engine_step.cc.
  bool tells_late = false;
  bool runs_ahead = false;
};

// Engine thread only.
class EngineCore {
 public:
  static Result<std::unique_ptr<EngineCore>> create(std::shared_ptr<const Model> model,
                                                    const EngineOptions& options);
  ~EngineCore();

  // Checks the request; every error names the field. On success `sink` hears of it from now on.
  Status add(RequestId id, EngineRequest request, std::shared_ptr<RequestSink> sink, Instant now);
  // Ends it at once; unknown ids are ignored.
  void cancel(RequestId id);
  // Nothing is computed for a paused request; its deadline goes on. Unknown ids are ignored.
  void pause(RequestId id);
  void resume(RequestId id);
  // One step. False when there was nothing to do.
  bool step(Instant now);
  void cancel_all(const Status& status);
  // Forgets all cached prefixes that no running sequence uses, in the tiers too.
  void reset_prefixes();
  // Writes what the disk tier should keep.
  void save_prefixes();

  bool has_work() const { return scheduler_->has_work(); }
  // False when step() would do nothing before `next_deadline()`.
  bool can_step() const { return flight_ || !untold_.empty() || scheduler_->can_step(); }
  Instant next_deadline() const { return scheduler_->next_deadline(); }
  EngineStats stats() const;
  // An error once the device is lost: nothing can be computed any more, and add() refuses.
  const Status& lost() const { return lost_; }
  int64_t context() const { return context_; }
  const Model& model() const { return decoder_->model(); }
  const EngineOptions& options() const { return options_; }
  int threads() const { return pool_.size(); }
  const KvCache& cache() const { return cache_; }

 private:
  // One answer in the making.
  struct Answer {
    RequestId request = 0;
    int32_t choice = 0;
    Sampler sampler;
    bool is_on_host = false;  // the device could not sample its next token
  };
  struct Active {
    EngineRequest request;
    std::shared_ptr<RequestSink> sink;
    Instant submitted{0};
    Instant started{-1};
    PromptReport report;
    bool is_reported = false;
    std::vector<SequenceId> sequences;  // that still run
    std::optional<BeamSearch> beam;
    std::vector<std::vector<TokenLogprob>> beam_inputs;  // of `sequences`, once sampled
    std::vector<float> pooled;                           // [hidden] so far, with `pooling`
  };
  // What became of a plan's item.
  struct Delivery {
    SequenceId sequence;
    int64_t rows;    // of logits, or of hidden states
    bool is_last;    // the last of them is for sampling
    bool is_pooled;  // hidden states are wanted, not logits
  };
  // A step that was begun.
  struct Flight {
    StepPlan plan;  // of sequences that are all there; empty once committed
    bool is_committed = false;
    std::vector<Delivery> deliveries;
    int64_t tokens = 0;
    Instant planned{0};
    std::chrono::steady_clock::time_point began;
    bool can_go_ahead = false;         // the next may begin before its tokens are known
    std::optional<StepOutput> output;  // where the host computed it
    std::vector<RowSample> samples;    // and sampled, see sample_here()
  };
  enum class Begun : uint8_t { kNothing, kFailed, kStarted };
  // A token that its sink has not heard of yet.
  struct Untold {
    SequenceId sequence;
    TokenId token;
    std::optional<PositionLogprobs> logprobs;
  };
  class CacheMemory;

  EngineCore(std::shared_ptr<const Model> model, const EngineOptions& options, int64_t context,
             KvCache cache);
  static Result<std::unique_ptr<PageStore>> open_disk(EngineCore& core);
  Status check(const EngineRequest& request) const;
  int64_t rope_class(int64_t prompt_size) const;
  void expire(const StepPlan& plan);
  void fill_batch(const StepPlan& plan);
  // How a batch names a token that is being sampled, see OpsStep.
  TokenId token_of_row(int64_t row) const;
  // What the device is to make of an item's output rows.
  void plan_sampling(const StepPlan::Item& item, const Answer& answer, const Active& active,
                     int64_t rows);
  // Plans a step and starts it.
  Begun begin_step(Instant now, std::optional<Flight>& flight);
  bool may_run_ahead(Instant now) const;
  void commit(Flight& flight);
  // The tokens that a step will have sampled, for the plan of the next.
  void guess_tokens(const Flight& flight);
  void finish_step(Flight& flight);
  Status start(Flight& flight);
  Result<StepOutput> forward_with_fault();
  bool is_fault_due(int64_t attempt) const;
  // For tests: samples as a device does, which no sink has heard of yet.
  void sample_here(Flight& flight);
  Status fail_step(Fault::Kind kind);
  bool has_lost_device() const;
  // A step that failed takes the requests of its batch with it, and no others; one without memory
  // only the one that was too much, if nothing of it is committed; one that lost the device all
  // there are.
  void fail(const Flight& flight, const Status& status);
  static int64_t output_rows(const StepPlan::Item& item);
  bool is_pooled(const StepPlan::Item& item) const;
  void deliver(const Delivery& delivery, const StepOutput& output, size_t& row, Instant now);
  void pool(const Delivery& delivery, std::span<const float> hidden, Instant now);
  // False when a row is not made of numbers.
  bool score_prompt(Sequence& sequence, Active& active, const StepOutput& output, size_t row);
  void report_prompt(Active& active, const Sequence& sequence, Instant now);
  void start_answers(Sequence& sequence, Active& active, const StepOutput& output, size_t row);
  // Draws, tells, appends or ends.
  void sample(Sequence& sequence, Active& active, const StepOutput& output, size_t row);
  // Hands out tokens whose sinks were not told yet, see engine_tell.cc; and ends the answers of
  // those that want no more, which must not be while a plan that is not committed has them.
  void tell_untold();
  void end_stopped();
  void settle();
  void tell_rest(RequestId id);
  void collect_beam(Sequence& sequence, Active& active, std::span<const float> logits);
  void advance_beams(RequestId id, Active& active);
  void finish_beams(RequestId id, Active& active);
  void end_answer(Sequence& sequence, Active& active, FinishReason reason);
  // The request is over, whatever still runs of it.
  void end_request(RequestId id, const Status& status);
  // ... because the model computed something that is no number.
  void end_corrupted(RequestId id, std::string_view what);
  void count_step(const Flight& flight);

  EngineOptions options_;
  int64_t context_;
  ThreadPool pool_;
  KvCache cache_;
  std::unique_ptr<CacheMemory> memory_;
  std::unique_ptr<PageStore> disk_, host_;  // before the scheduler, which uses them to its end
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Decoder> decoder_;
  SamplerScratch scratch_;
  std::unordered_map<RequestId, Active> requests_;
  std::unordered_map<SequenceId, Answer> answers_;
  Batch batch_;
  DeviceSampling sampling_;       // of its output rows; none where the device does not sample
  std::optional<Flight> flight_;  // begun ahead; committed
  bool runs_ahead_ = false;
  bool is_ahead_ = false;  // the next step runs while this one's tokens are handed out
  bool tells_late_ = false;
  std::vector<Untold> untold_;       // at most one a sequence
  std::vector<SequenceId> stopped_;  // whose sinks said so
  int64_t attempts_ = 0;             // steps, failed ones too
  std::vector<float> poisoned_;      // logits with a fault in them
  bool loses_device_ = false;        // a fault said so
  Status lost_;
  EngineStats stats_;
};

}  // namespace ingot
