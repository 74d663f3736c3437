// SPDX-License-Identifier: Apache-2.0
#include "engine/solo.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace ingot {
namespace {

constexpr int64_t kSoloContext = 8192;  // memory for more is taken only when asked for

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// How many positions of ids[from..] agree with the cache.
int64_t shared_prefix(std::span<const TokenId> cached, std::span<const TokenId> ids) {
  const auto [end, unused] = std::ranges::mismatch(cached, ids);
  return end - cached.begin();
}

// Length-dependent ropes rotate cached keys by the length they were computed for.
bool depends_on_length(const ModelSpec& spec) {
  return std::ranges::any_of(spec.ropes, [](const RopeSpec& rope) {
    return rope.scaling == RopeScaling::kDynamic || rope.scaling == RopeScaling::kLongRope;
  });
}

}  // namespace

Result<std::unique_ptr<Solo>> Solo::create(std::shared_ptr<const Model> model,
                                           const SoloOptions& options) {
  const ModelSpec& spec = model->spec();
  const int64_t own = spec.context > 0 ? spec.context : kSoloContext;
  int64_t context = options.context > 0 ? options.context : std::min(own, kSoloContext);
  if (spec.learned_positions > 0)
    context = std::min(context, spec.learned_positions - spec.position_offset);
  KvCacheOptions cache_options{options.cache, options.page_tokens, {}, model->device()};
  const int64_t page_tokens = std::max<int64_t>(1, options.page_tokens);  // create() judges it
  cache_options.pages_per_group.assign(cache_groups(spec, options.cache, page_tokens).size(),
                                       (context + page_tokens - 1) / page_tokens);
  INGOT_TRY(KvCache cache, KvCache::create(spec, cache_options));
  return std::unique_ptr<Solo>(new Solo(std::move(model), options, context, std::move(cache)));
}

Solo::Solo(std::shared_ptr<const Model> model, const SoloOptions& options, int64_t context,
           KvCache cache)
    : pool_(options.threads),
      options_(options),
      context_(context),
      cache_(std::move(cache)),
      decoder_(*Decoder::create(std::move(model), Exec(pool_), options.cache)) {
  for (size_t group = 0; group < cache_.groups().size(); ++group) {
    PageTable& table = tables_.emplace_back(static_cast<size_t>(cache_.pages(group)));
    std::iota(table.begin(), table.end(), 0);
  }
}

Status Solo::check_prompt(std::span<const TokenId> ids) const {
  if (ids.empty()) return Status::invalid_argument("the prompt is empty; give at least one token");
  if (static_cast<int64_t>(ids.size()) > context_) {
    return Status::invalid_argument(
        "the prompt has {} tokens but the context holds {}; shorten it or raise --ctx-size",
        ids.size(), context_);
  }
  const int64_t vocab = model().spec().vocab;
  for (const TokenId id : ids) {
    if (id < 0 || id >= vocab)
      return Status::invalid_argument("token id {} is outside the vocabulary [0, {})", id, vocab);
  }
  return Status::ok();
}

Status Solo::run_prompt(std::span<const TokenId> ids, int64_t from, int64_t first_output,
                        const std::function<void(int64_t, std::span<const float>)>& on_row) {
  const auto size = static_cast<int64_t>(ids.size());
  const auto vocab = static_cast<size_t>(model().spec().vocab);
  cached_ids_.assign(ids.begin(), ids.begin() + from);
  for (int64_t begin = from; begin < size;) {
    const int64_t end = std::min(size, begin + options_.chunk_tokens);
    Batch batch;
    batch.tokens.assign(ids.begin() + begin, ids.begin() + end);
    batch.sequences.push_back({end - begin, begin, tables_, rope_length_});
    for (int64_t row = std::max(begin, first_output); row < end; ++row)
      batch.output_rows.push_back(row - begin);
    INGOT_TRY(const std::span<const float> logits, decoder_.forward(batch, cache_));
    cached_ids_.insert(cached_ids_.end(), batch.tokens.begin(), batch.tokens.end());
    for (size_t i = 0; i < batch.output_rows.size(); ++i) {
      on_row(begin + batch.output_rows[i], logits.subspan(i * vocab, vocab));
    }
    begin = end;
  }
  return Status::ok();
}

Result<SoloResult> Solo::generate(const SoloRequest& request,
                                  const std::function<bool(TokenId)>& on_token) {
  SamplingParams sampling = request.sampling;
  sampling.eos_ids.insert(sampling.eos_ids.end(), request.stop_ids.begin(), request.stop_ids.end());
  INGOT_TRY(validate(sampling, model().spec().vocab));
  const std::optional<int> logprobs = request.logprobs ? request.logprobs : sampling.logprobs;
  const std::optional<int> prompt_logprobs =
      request.prompt_logprobs ? request.prompt_logprobs : sampling.prompt_logprobs;
  INGOT_TRY(check_prompt(request.prompt));
  const auto prompt_size = static_cast<int64_t>(request.prompt.size());
  SoloResult result;
  SamplerScratch scratch(model().targets());

  // The last prompt token is always computed: its logits choose the first answer token.
  if (!prompt_logprobs && (rope_length_ == prompt_size || !depends_on_length(model().spec()))) {
    result.reused_tokens = std::min(shared_prefix(cached_ids_, request.prompt), prompt_size - 1);
  }
  rope_length_ = prompt_size;
  std::vector<float> logits;
  const auto start = std::chrono::steady_clock::now();
  if (prompt_logprobs) result.prompt_logprobs.emplace_back();
  INGOT_TRY(run_prompt(request.prompt, result.reused_tokens, prompt_logprobs ? 0 : prompt_size - 1,
                       [&](int64_t row, std::span<const float> row_logits) {
                         if (row + 1 == prompt_size) {
                           logits.assign(row_logits.begin(), row_logits.end());
                         } else {
                           const TokenId next = request.prompt[static_cast<size_t>(row + 1)];
                           result.prompt_logprobs.emplace_back(position_logprobs(
                               row_logits, next, *prompt_logprobs, scratch.candidates));
                         }
                       }));
  result.prompt_seconds = seconds_since(start);

  const int64_t room = context_ - prompt_size;
  const int64_t limit = request.max_tokens < 0 ? room : std::min(request.max_tokens, room);
  Sampler sampler(std::move(sampling), request.choice);
  const auto decode_start = std::chrono::steady_clock::now();
  while (static_cast<int64_t>(result.ids.size()) < limit) {
    const auto position = static_cast<uint64_t>(prompt_size) + result.ids.size();
    std::vector<TokenId>& history = cached_ids_;  // prompt and answer so far
    const SequenceView sequence{history, static_cast<size_t>(prompt_size)};
    INGOT_TRY(const TokenId token, sampler.sample(logits, sequence, position, scratch));
    if (sampler.is_stop(token)) {
      result.finish = FinishReason::kStop;
      break;
    }
    result.ids.push_back(token);
    if (logprobs)
      result.logprobs.push_back(position_logprobs(logits, token, *logprobs, scratch.candidates));
    if (on_token && !on_token(token)) {
      result.finish = FinishReason::kCancelled;
      break;
    }
    if (static_cast<int64_t>(result.ids.size()) == limit) break;
    Batch batch;
    batch.tokens = {token};
    batch.sequences.push_back({1, static_cast<int64_t>(position), tables_, rope_length_});
    batch.output_rows = {0};
    INGOT_TRY(const std::span<const float> next, decoder_.forward(batch, cache_));
    logits.assign(next.begin(), next.end());
    cached_ids_.push_back(token);
  }
  result.decode_seconds = seconds_since(decode_start);
  return result;
}

Status Solo::score(std::span<const TokenId> ids,
                   const std::function<void(int64_t row, std::span<const float> logits)>& on_row) {
  INGOT_TRY(check_prompt(ids));
  rope_length_ = static_cast<int64_t>(ids.size());
  return run_prompt(ids, 0, 0, on_row);
}

}  // namespace ingot
