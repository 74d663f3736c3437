// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_core.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "engine/disk_tier.h"
#include "engine/host_tier.h"
#include "model/fingerprint.h"

namespace ingot {
namespace {

constexpr int64_t kDefaultContext = 8192;  // memory for more is taken only when asked for
// Logits of scored prompts: the head runs on every row of a chunk, so chunks are kept small.
constexpr int64_t kScoredLogitBytes = int64_t{64} << 20;

int64_t context_of(const ModelSpec& spec, const EngineOptions& options) {
  const int64_t own = spec.context > 0 ? spec.context : kDefaultContext;
  int64_t context = options.context > 0 ? options.context : std::min(own, kDefaultContext);
  if (spec.learned_positions > 0)
    context = std::min(context, spec.learned_positions - spec.position_offset);
  return context;
}

// The first prompt token that is told of; the very first has nothing before it.
int64_t scored_from(const EngineRequest& request) {
  return std::clamp<int64_t>(request.sampling.prompt_logprobs_from, 1,
                             static_cast<int64_t>(request.prompt.size()));
}

}  // namespace

std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kDeadline:
      return "deadline";
  }
  return "unknown";
}

class EngineCore::CacheMemory final : public PageMemory {
 public:
  explicit CacheMemory(KvCache& cache) : cache_(&cache) {}
  std::span<const std::byte> read(size_t group, PageId id) override {
    if (!is_on_device(group)) return cache_->page(group, id);
    const std::span<std::byte> room = staging(group);
    if (const Status status = cache_->read_page(group, id, room); !status.is_ok()) return {};
    return room;
  }
  std::span<std::byte> open(size_t group, PageId id) override {
    return is_on_device(group) ? staging(group) : cache_->page(group, id);
  }
  bool close(size_t group, PageId id) override {
    return !is_on_device(group) || cache_->write_page(group, id, staging(group)).is_ok();
  }
  // A device that cannot copy cannot run the next step either, which says so.
  void copy(size_t group, PageId from, PageId to) override {
    const Status status = cache_->copy_page(group, from, to);
    if (!status.is_ok()) log_warning("{}", status.message());
  }

 private:
  bool is_on_device(size_t group) const { return cache_->groups()[group].is_on_device; }
  std::span<std::byte> staging(size_t group) {
    staging_.resize(static_cast<size_t>(cache_->groups()[group].page_bytes));
    return staging_;
  }
  KvCache* cache_;
  std::vector<std::byte> staging_;
};

// Pages hold what this program's kernels computed: another version, instruction set, dtype or cache
// type would not give the same bits, so it finds none of them.
Result<std::unique_ptr<PageStore>> EngineCore::open_disk(EngineCore& core) {
  DiskTierOptions disk;
  disk.directory = core.options_.disk_cache_directory;
  disk.limit_bytes = core.options_.disk_cache_bytes;
  disk.fingerprint = fingerprint(core.model(), Exec(core.pool_));
  disk.layout = fmt::format("ingot {} {} {} {}", INGOT_VERSION, core.model().targets().to_string(),
                            to_string(core.model().dtype()), to_string(core.cache_.type()));
  disk.page_tokens = core.cache_.page_tokens();
  for (const CacheGroup& group : core.cache_.groups()) {
    disk.page_bytes.push_back(static_cast<uint64_t>(group.page_bytes));
    disk.layout += fmt::format(" {}x{}", group.layers.size(), group.window);
  }
  INGOT_TRY(std::unique_ptr<DiskTier> tier, DiskTier::open(std::move(disk)));
  return std::unique_ptr<PageStore>(std::move(tier));
}

Result<std::unique_ptr<EngineCore>> EngineCore::create(std::shared_ptr<const Model> model,
                                                       const EngineOptions& options) {
  const ModelSpec& spec = model->spec();
  const int64_t context = context_of(spec, options);
  if (options.max_num_seqs < 1 || options.max_num_batched_tokens < options.max_num_seqs) {
    return Status::invalid_argument(
        "--max-num-batched-tokens is {} and --max-num-seqs {}; the first must be at least the "
        "second, and that at least 1",
        options.max_num_batched_tokens, options.max_num_seqs);
  }
  if (options.fault.needs_device() && model->device() == nullptr) {
    return Status::invalid_argument(
        "a fault of the GPU was asked for, but the model is on no CUDA device");
  }
  CachePlanOptions wanted{.type = options.cache_type,
                          .page_tokens = options.page_tokens,
                          .memory_bytes = options.kv_cache_memory,
                          .memory_fraction = options.kv_cache_fraction,
                          .context = context,
                          .max_num_seqs = options.max_num_seqs,
                          .max_num_batched_tokens = options.max_num_batched_tokens,
                          .device = model->device().get()};
  INGOT_TRY(CachePlan plan, plan_cache(spec, wanted));
  INGOT_TRY(KvCache cache, KvCache::create(spec, {.type = options.cache_type,
                                                  .page_tokens = options.page_tokens,
                                                  .pages_per_group = plan.pages,
                                                  .device = model->device()}));
  std::unique_ptr<EngineCore> core(
      new EngineCore(std::move(model), options, context, std::move(cache)));
  if (!options.disk_cache_directory.empty()) {
    INGOT_TRY(core->disk_, open_disk(*core));
  }
  PageStore* store = core->disk_.get();
  if (options.host_cache_bytes > 0) {
    core->host_ = std::make_unique<HostTier>(options.host_cache_bytes, store);
    store = core->host_.get();
  }
  SchedulerOptions scheduler{.max_num_seqs = options.max_num_seqs,
                             .max_num_batched_tokens = options.max_num_batched_tokens,
                             .page_tokens = options.page_tokens,
                             .groups = {},
                             .has_prefix_cache = options.has_prefix_cache,
                             .namespace_share = options.tenant_share,
                             .store = store};
  for (size_t i = 0; i < plan.groups.size(); ++i)
    scheduler.groups.push_back({plan.pages[i], plan.groups[i].window});
  core->scheduler_ = std::make_unique<Scheduler>(std::move(scheduler), *core->memory_);
  return core;
}

EngineCore::EngineCore(std::shared_ptr<const Model> model, const EngineOptions& options,
                       int64_t context, KvCache cache)
    : options_(options),
      context_(context),
      pool_(options.threads),
      cache_(std::move(cache)),
      memory_(std::make_unique<CacheMemory>(cache_)),
      scratch_(model->targets()) {
  decoder_ = std::make_unique<Decoder>(
      *Decoder::create(std::move(model), Exec(pool_), options.cache_type));
  tells_late_ = options.tells_late || decoder_->samples_rows();
  runs_ahead_ =
      options.runs_ahead || (decoder_->samples_rows() && this->model().is_all_on_device());
}

EngineCore::~EngineCore() {
  cancel_all(Status::cancelled("the engine has stopped"));
}

// Keys of equal tokens differ where the rope depends on the length of the prompt.
int64_t EngineCore::rope_class(int64_t prompt_size) const {
  const ModelSpec& spec = model().spec();
  for (const RopeSpec& rope : spec.ropes) {
    const int64_t original = rope.original_context > 0 ? rope.original_context : spec.context;
    if (prompt_size <= original) continue;
    if (rope.scaling == RopeScaling::kDynamic) return prompt_size;
    if (rope.scaling == RopeScaling::kLongRope) return 1;
  }
  return 0;
}

Status EngineCore::check(const EngineRequest& request) const {
  const auto size = static_cast<int64_t>(request.prompt.size());
  if (size == 0) return Status::invalid_argument("the prompt is empty; give at least one token");
  if (size > context_) {
    return Status::invalid_argument(
        "the prompt has {} tokens but the context holds {}; shorten it or raise --ctx-size", size,
        context_);
  }
  const int64_t vocab = model().spec().vocab;
  for (const TokenId id : request.prompt) {
    if (id < 0 || id >= vocab)
      return Status::invalid_argument("token id {} is outside the vocabulary [0, {})", id, vocab);
  }
  if (request.n < 1 || request.n > options_.max_num_seqs)
    return Status::invalid_argument("n is {} but must be in [1, {}]", request.n,
                                    options_.max_num_seqs);
  if (request.beam) {
    INGOT_TRY(validate(*request.beam));
    if (request.beam->width > options_.max_num_seqs || request.n > request.beam->width) {
      return Status::invalid_argument(
          "a beam width of {} must be at least n ({}) and at most --max-num-seqs ({})",
          request.beam->width, request.n, options_.max_num_seqs);
    }
  }
  if (request.pooling && (request.n != 1 || request.beam || request.sampling.prompt_logprobs)) {
    return Status::invalid_argument(
        "pooling makes an embedding and no answer: n must be 1, and beam and prompt_logprobs "
        "unset");
  }
  return validate(request.sampling, vocab);
}

Status EngineCore::add(RequestId id, EngineRequest request, std::shared_ptr<RequestSink> sink,
                       Instant now) {
  INGOT_TRY(lost_);
  INGOT_TRY(check(request));
  const auto size = static_cast<int64_t>(request.prompt.size());
  const int64_t room = context_ - size;
  int64_t most = request.max_tokens < 0 ? room : std::min(request.max_tokens, room);
  if (request.pooling) most = 0;
  SequenceRequest sequence;
  sequence.prompt = request.prompt;
  sequence.max_length = size + most;
  sequence.priority = request.priority;
  if (request.timeout) sequence.deadline = now + *request.timeout;
  sequence.space = {request.cache_salt, rope_class(size)};
  sequence.rope_length = size;
  if (request.sampling.prompt_logprobs) {
    // Row i tells of token i + 1.
    sequence.first_scored = scored_from(request) - 1;
    const int64_t row_bytes = model().spec().vocab * static_cast<int64_t>(sizeof(float));
    const int64_t most_rows = std::max<int64_t>(kScoredLogitBytes / row_bytes, 1);
    if (size - sequence.first_scored > most_rows) sequence.max_chunk = most_rows;
  }
  if (request.pooling == Pooling::kMean) sequence.first_scored = 0;
  INGOT_TRY(const SequenceId first, scheduler_->add(std::move(sequence)));
  Active active;
  active.sink = std::move(sink);
  active.submitted = now;
  active.sequences = {first};
  active.report.tokens = size;
  if (request.sampling.prompt_logprobs)
    active.report.logprobs.resize(static_cast<size_t>(scored_from(request)));
  if (request.pooling) active.pooled.resize(static_cast<size_t>(model().spec().hidden));
  if (request.beam) {
    BeamParams beam = *request.beam;
    beam.max_tokens = most;
    active.beam.emplace(beam);
    active.beam_inputs.resize(1);
  }
  answers_.emplace(first, Answer{id, 0, Sampler(request.sampling)});
  active.request = std::move(request);
  requests_.emplace(id, std::move(active));
  return Status::ok();
}

void EngineCore::fill_batch(const StepPlan& plan) {
  batch_.tokens.clear();
  batch_.sequences.clear();
  batch_.output_rows.clear();
  batch_.hidden_rows.clear();
  sampling_.clear();
  for (const StepPlan::Item& item : plan.items) {
    const Sequence& sequence = *item.sequence;
    const auto first_row = static_cast<int64_t>(batch_.tokens.size());
    const auto begin = sequence.tokens.begin() + sequence.computed;
    batch_.tokens.insert(batch_.tokens.end(), begin, begin + item.tokens);
    if (item.is_last && sequence.is_guessed())
      batch_.tokens.back() = token_of_row(sequence.unknown_row);
    batch_.sequences.push_back({.tokens = item.tokens,
                                .first_position = sequence.computed,
                                .tables = sequence.tables,
                                .rope_length = sequence.request.rope_length});
    const int64_t rows = output_rows(item);
    const Answer& answer = answers_.at(sequence.id);
    const Active& active = requests_.at(answer.request);
    const bool wants_hidden = active.request.pooling.has_value();
    std::vector<int64_t>& wanted = wants_hidden ? batch_.hidden_rows : batch_.output_rows;
    for (int64_t i = item.tokens - rows; i < item.tokens; ++i)
      wanted.push_back(first_row + i);
    const bool is_planned = decoder_->samples_rows() || options_.runs_ahead;
    if (is_planned && !wants_hidden) plan_sampling(item, answer, active, rows);
  }
}

void EngineCore::plan_sampling(const StepPlan::Item& item, const Answer& answer,
                               const Active& active, int64_t rows) {
  const Sequence& sequence = *item.sequence;
  // Rows that score the prompt, beams, and the one row that all answers of a prompt begin with.
  const bool is_forked = !active.is_reported && active.request.n > 1;
  const bool is_sampled = item.is_last && !active.beam && !is_forked && !answer.is_on_host;
  for (int64_t i = is_sampled ? 1 : 0; i < rows; ++i)
    sampling_.add_on_host();
  if (!is_sampled) return;
  const SequenceView view{sequence.tokens, static_cast<size_t>(sequence.prompt_size())};
  sampling_.add(answer.sampler, view, static_cast<uint64_t>(sequence.size()),
                static_cast<size_t>(model().spec().vocab), scratch_.penalties);
}

// How many of an item's last rows are wanted: all from the first scored one on, or the last.
int64_t EngineCore::output_rows(const StepPlan::Item& item) {
  const Sequence& sequence = *item.sequence;
  const int64_t end = sequence.computed + item.tokens;
  const int64_t scored =
      std::max<int64_t>(std::min(end, sequence.prompt_size()) -
                            std::max(sequence.request.first_scored, sequence.computed),
                        0);
  return std::max<int64_t>(scored, item.is_last ? 1 : 0);
}

bool EngineCore::is_pooled(const StepPlan::Item& item) const {
  const Answer& answer = answers_.at(item.sequence->id);
  return requests_.at(answer.request).request.pooling.has_value();
}

EngineStats EngineCore::stats() const {
  EngineStats stats = stats_;
  stats.scheduler = scheduler_->stats();
  stats.waste = scheduler_->waste();
  stats.requests = std::ssize(requests_);
  const SchedulerStats& pages = stats.scheduler;
  for (size_t group = 0; group < pages.pages_total.size(); ++group) {
    const int64_t used =
        pages.pages_total[group] - pages.pages_free[group] - pages.pages_cached[group];
    const double usage = static_cast<double>(used) / static_cast<double>(pages.pages_total[group]);
    stats.kv_usage = std::max(stats.kv_usage, usage);
  }
  if (scheduler_->prefixes() != nullptr) stats.prefixes = scheduler_->prefixes()->stats();
  return stats;
}

void EngineCore::reset_prefixes() {
  if (scheduler_->prefixes() != nullptr) scheduler_->prefixes()->clear();
}

void EngineCore::save_prefixes() {
  if (scheduler_->prefixes() != nullptr && disk_ != nullptr) scheduler_->prefixes()->save();
}

}  // namespace ingot
