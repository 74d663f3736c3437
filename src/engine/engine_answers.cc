// SPDX-License-Identifier: Apache-2.0
// What the engine does with a step's output: scores prompts, draws tokens, forks answers, walks
// beams, and tells the sinks.
#include <algorithm>
#include <cmath>

#include "engine/engine_core.h"

namespace ingot {

// `row` is the item's first output row and moves past its last one.
void EngineCore::deliver(const Delivery& delivery, const StepOutput& output, size_t& row,
                         Instant now) {
  const size_t end = row + static_cast<size_t>(delivery.rows);
  Sequence* sequence = scheduler_->find(delivery.sequence);
  const auto answer = answers_.find(delivery.sequence);
  if (sequence == nullptr || answer == answers_.end()) {  // its request ended in this very step
    row = end;
    return;
  }
  Active& active = requests_.at(answer->second.request);
  if (active.started < Instant(0)) active.started = now;
  if (sequence->computed > sequence->request.first_scored &&
      sequence->request.first_scored < sequence->prompt_size() &&
      !score_prompt(*sequence, active, output, row)) {
    row = end;
    return end_corrupted(answer->second.request, "logits");
  }
  if (delivery.is_last) {
    if (!active.is_reported) {
      report_prompt(active, *sequence, now);
      start_answers(*sequence, active, output, end - 1);
    } else if (active.beam) {
      collect_beam(*sequence, active, output.logits(end - 1));
    } else {
      sample(*sequence, active, output, end - 1);
    }
  }
  row = end;
}

// In float32, row after row: neither chunks nor a preemption change a bit.
void EngineCore::pool(const Delivery& delivery, std::span<const float> hidden, Instant now) {
  Sequence* sequence = scheduler_->find(delivery.sequence);
  if (sequence == nullptr) return;
  const RequestId id = answers_.at(delivery.sequence).request;
  Active& active = requests_.at(id);
  if (active.started < Instant(0)) active.started = now;
  const bool is_mean = active.request.pooling == Pooling::kMean;
  const size_t width = active.pooled.size();
  for (int64_t row = 0; row < delivery.rows; ++row) {
    const std::span<const float> state = hidden.subspan(static_cast<size_t>(row) * width, width);
    for (size_t i = 0; i < width; ++i)
      active.pooled[i] = is_mean ? active.pooled[i] + state[i] : state[i];
  }
  if (is_mean) sequence->request.first_scored += delivery.rows;
  if (!delivery.is_last) return;
  if (is_mean) {
    for (float& value : active.pooled)
      value /= static_cast<float>(sequence->prompt_size());
  }
  report_prompt(active, *sequence, now);
  if (std::ranges::all_of(active.pooled, [](float value) { return std::isfinite(value); })) {
    active.sink->on_embedding(active.pooled);
    return end_request(id, Status::ok());
  }
  end_corrupted(id, "hidden states");
}

// Row i says how likely the prompt's token i + 1 was; the last row belongs to the answer.
bool EngineCore::score_prompt(Sequence& sequence, Active& active, const StepOutput& output,
                              size_t row) {
  int64_t& next = sequence.request.first_scored;
  const int64_t end = std::min(sequence.computed, sequence.prompt_size());
  for (; next < end; ++next, ++row) {
    if (next + 1 == sequence.prompt_size()) continue;
    const TokenId token = sequence.tokens[static_cast<size_t>(next + 1)];
    active.report.logprobs.emplace_back(position_logprobs(
        output.logits(row), token, *active.request.sampling.prompt_logprobs, scratch_.candidates));
    if (std::isnan(active.report.logprobs.back()->logprob)) return false;
  }
  return true;
}

void EngineCore::report_prompt(Active& active, const Sequence& sequence, Instant now) {
  active.is_reported = true;
  active.report.reused_tokens = sequence.reused;
  active.report.queue_seconds =
      std::chrono::duration<double>(active.started - active.submitted).count();
  active.report.prompt_seconds = std::chrono::duration<double>(now - active.started).count();
  active.sink->on_prompt(active.report);
  active.report.logprobs = {};
}

void EngineCore::start_answers(Sequence& sequence, Active& active, const StepOutput& output,
                               size_t row) {
  const RequestId id = answers_.at(sequence.id).request;
  if (sequence.size() == sequence.request.max_length) {  // no room, or max_tokens = 0
    for (int32_t choice = 0; choice < active.request.n; ++choice)
      active.sink->on_finish(choice, FinishReason::kLength);
    return end_request(id, Status::ok());
  }
  if (active.beam) return collect_beam(sequence, active, output.logits(row));
  // All forks before the first draw: an answer that ends at once must not take the prompt with it.
  std::vector<Sequence*> forks{&sequence};
  for (int32_t choice = 1; choice < active.request.n; ++choice) {
    Sequence& fork = scheduler_->fork(sequence);
    answers_.emplace(
        fork.id,
        Answer{id, choice, Sampler(active.request.sampling, static_cast<uint32_t>(choice))});
    active.sequences.push_back(fork.id);
    forks.push_back(&fork);
  }
  for (Sequence* fork : forks) {
    sample(*fork, active, output, row);
    if (!requests_.contains(id)) return;
  }
}

void EngineCore::sample(Sequence& sequence, Active& active, const StepOutput& output, size_t row) {
  Answer& answer = answers_.at(sequence.id);
  const SequenceView view{sequence.tokens, static_cast<size_t>(sequence.prompt_size())};
  const RowSample* const sampled = output.sample(row);
  if (sampled == nullptr && !output.has_logits()) {  // the host has to look at this row
    answer.is_on_host = true;
    return scheduler_->restart(sequence);
  }
  answer.is_on_host = false;
  const Result<TokenId> token =
      sampled != nullptr ? Result<TokenId>(sampled->id)
                         : answer.sampler.sample(output.logits(row), view,
                                                 static_cast<uint64_t>(sequence.size()), scratch_);
  if (!token.is_ok()) {
    // Everything else the sampler complains of is the request's own doing.
    const bool is_corrupted = token.status().code() == StatusCode::kInternal;
    return is_corrupted ? end_corrupted(answer.request, "logits")
                        : end_request(answer.request, token.status());
  }
  const bool is_guessed = sequence.is_guessed();
  if (is_guessed) scheduler_->resolve(sequence, *token);
  if (answer.sampler.is_stop(*token)) return end_answer(sequence, active, FinishReason::kStop);
  ++stats_.generated_tokens;
  std::optional<PositionLogprobs> logprobs;
  if (const auto best = active.request.sampling.logprobs) {
    logprobs = sampled != nullptr
                   ? sampled->logprobs
                   : position_logprobs(output.logits(row), *token, *best, scratch_.candidates);
  }
  const bool has_more = is_guessed || sequence.size() + 1 < sequence.request.max_length;
  if (tells_late_ && !is_ahead_ && has_more) {
    untold_.push_back({sequence.id, *token, std::move(logprobs)});
    if (!is_guessed) scheduler_->append(sequence, *token);
    return;
  }
  const bool goes_on =
      active.sink->on_token(answer.choice, *token, logprobs ? &*logprobs : nullptr);
  if (!goes_on) return end_answer(sequence, active, FinishReason::kStop);
  if (!is_guessed) scheduler_->append(sequence, *token);
  if (sequence.size() == sequence.request.max_length)
    end_answer(sequence, active, FinishReason::kLength);
}

void EngineCore::end_answer(Sequence& sequence, Active& active, FinishReason reason) {
  const Answer answer = answers_.at(sequence.id);
  active.sink->on_finish(answer.choice, reason);
  std::erase(active.sequences, sequence.id);
  answers_.erase(sequence.id);
  scheduler_->finish(sequence.id);
  if (active.sequences.empty()) end_request(answer.request, Status::ok());
}

// Beams move together: each waits, holding its pages, until all have their logits.
void EngineCore::collect_beam(Sequence& sequence, Active& active, std::span<const float> logits) {
  const auto found = std::ranges::find(active.sequences, sequence.id);
  const auto index = static_cast<size_t>(found - active.sequences.begin());
  if (!argmax(logits)) return end_corrupted(answers_.at(sequence.id).request, "logits");
  const auto best = static_cast<int>(active.beam->tokens_per_beam());
  active.beam_inputs[index] = position_logprobs(logits, 0, best, scratch_.candidates).top;
  scheduler_->hold(sequence);
  const bool is_complete = std::ranges::none_of(
      active.beam_inputs, [](const std::vector<TokenLogprob>& input) { return input.empty(); });
  if (is_complete) advance_beams(answers_.at(sequence.id).request, active);
}

void EngineCore::advance_beams(RequestId id, Active& active) {
  const std::vector<BeamInput> inputs(active.beam_inputs.begin(), active.beam_inputs.end());
  const std::vector<BeamChoice> choices = active.beam->advance(inputs);
  stats_.generated_tokens += static_cast<int64_t>(choices.size());
  if (active.beam->is_done()) return finish_beams(id, active);
  // The first continuation of a beam takes its sequence, others fork it while it is unchanged.
  std::vector<SequenceId> next;
  std::vector<bool> is_taken(active.sequences.size());
  for (const BeamChoice& choice : choices) {
    Sequence* parent = scheduler_->find(active.sequences[choice.parent]);
    if (!is_taken[choice.parent]) {
      is_taken[choice.parent] = true;
      next.push_back(parent->id);
      continue;
    }
    Sequence& fork = scheduler_->fork(*parent);
    answers_.emplace(fork.id, answers_.at(parent->id));
    next.push_back(fork.id);
  }
  for (size_t i = 0; i < active.sequences.size(); ++i) {
    if (is_taken[i]) continue;
    answers_.erase(active.sequences[i]);
    scheduler_->finish(active.sequences[i]);
  }
  active.sequences = std::move(next);
  active.beam_inputs.assign(active.sequences.size(), {});
  for (size_t i = 0; i < choices.size(); ++i)
    scheduler_->append(*scheduler_->find(active.sequences[i]), choices[i].token);
}

void EngineCore::finish_beams(RequestId id, Active& active) {
  const std::vector<BeamHypothesis>& found = active.beam->finished();
  const auto count = std::min(found.size(), static_cast<size_t>(active.request.n));
  for (size_t choice = 0; choice < count; ++choice) {
    const BeamHypothesis& hypothesis = found[choice];
    std::span<const TokenId> ids(hypothesis.ids);
    if (hypothesis.has_stopped) ids = ids.first(ids.size() - 1);
    bool goes_on = true;
    for (size_t i = 0; i < ids.size() && goes_on; ++i)
      goes_on = active.sink->on_token(static_cast<int32_t>(choice), ids[i], nullptr);
    const bool is_stop = hypothesis.has_stopped || !goes_on;
    active.sink->on_finish(static_cast<int32_t>(choice),
                           is_stop ? FinishReason::kStop : FinishReason::kLength);
  }
  end_request(id, Status::ok());
}

void EngineCore::expire(const StepPlan& plan) {
  for (const SequenceId expired : plan.expired) {
    const auto answer = answers_.find(expired);
    if (answer == answers_.end()) continue;
    Active& active = requests_.at(answer->second.request);
    for (const SequenceId sequence : active.sequences)
      active.sink->on_finish(answers_.at(sequence).choice, FinishReason::kDeadline);
    ++stats_.expired_requests;
    end_request(answer->second.request, Status::ok());
  }
}

void EngineCore::cancel(RequestId id) {
  settle();
  const auto it = requests_.find(id);
  if (it == requests_.end()) return;
  for (const SequenceId sequence : it->second.sequences)
    it->second.sink->on_finish(answers_.at(sequence).choice, FinishReason::kCancelled);
  ++stats_.cancelled_requests;
  end_request(id, Status::ok());
}

void EngineCore::pause(RequestId id) {
  const auto it = requests_.find(id);
  if (it == requests_.end()) return;
  for (const SequenceId sequence : it->second.sequences)
    scheduler_->pause(*scheduler_->find(sequence));
}

void EngineCore::resume(RequestId id) {
  const auto it = requests_.find(id);
  if (it == requests_.end()) return;
  for (const SequenceId sequence : it->second.sequences)
    scheduler_->resume(*scheduler_->find(sequence));
}

void EngineCore::end_request(RequestId id, const Status& status) {
  tell_rest(id);
  const auto node = requests_.extract(id);
  if (node.empty()) return;
  for (const SequenceId sequence : node.mapped().sequences) {
    answers_.erase(sequence);
    scheduler_->finish(sequence);
  }
  ++stats_.finished_requests;
  if (!status.is_ok()) ++stats_.failed_requests;
  node.mapped().sink->on_end(status);
}

void EngineCore::end_corrupted(RequestId id, std::string_view what) {
  ++stats_.corrupted_requests;
  end_request(id, Status::internal("the model produced {} that are not finite numbers", what));
}

void EngineCore::cancel_all(const Status& status) {
  settle();
  while (!requests_.empty())
    end_request(requests_.begin()->first, status);
}

}  // namespace ingot
