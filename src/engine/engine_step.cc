// SPDX-License-Identifier: Apache-2.0
// A step from its plan to its tokens. Where a device samples by itself the next step is planned and
// handed to it before the tokens of the one that runs are known here, so that the device never
// waits for the host: sequences get a token that only the device knows (Scheduler::guess). When the
// tokens arrive, those that have ended by them leave; what the next step computes for them is
// dropped. Work of a device is done in the order in which it was handed over, so pages may change
// hands meanwhile.
#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

#include "engine/engine_core.h"

namespace ingot {
namespace {

class Stopwatch {
 public:
  // Seconds since the last call.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace

bool EngineCore::step(Instant now) {
  if (scheduler_->next_deadline() <= now) settle();  // who has stopped does not expire
  if (!flight_) {
    const Begun begun = begin_step(now, flight_);
    if (begun == Begun::kNothing) settle();
    if (begun != Begun::kStarted) return begun == Begun::kFailed;
  }
  std::optional<Flight> next;
  if (may_run_ahead(now)) {
    commit(*flight_);
    end_stopped();
    guess_tokens(*flight_);
    begin_step(now, next);
    if (next) commit(*next);  // its sequences may end before it does
  }
  is_ahead_ = next.has_value();
  finish_step(*flight_);
  is_ahead_ = false;
  flight_ = lost_.is_ok() ? std::move(next) : std::nullopt;
  if (flight_) ++stats_.steps_ahead;
  return true;
}

EngineCore::Begun EngineCore::begin_step(Instant now, std::optional<Flight>& flight) {
  Stopwatch watch;
  Flight begun;
  begun.began = std::chrono::steady_clock::now();
  begun.planned = now;
  begun.plan = scheduler_->plan_step(now);
  expire(begun.plan);
  if (begun.plan.items.empty()) return Begun::kNothing;
  fill_batch(begun.plan);
  begun.tokens = begun.plan.tokens;
  begun.can_go_ahead = runs_ahead_ && batch_.hidden_rows.empty() && sampling_.can_go_ahead();
  // By id: a request may end, and its sequences with it, before the last of them has its turn.
  for (const StepPlan::Item& item : begun.plan.items) {
    begun.deliveries.push_back(
        {item.sequence->id, output_rows(item), item.is_last, is_pooled(item)});
  }
  stats_.times.plan += watch.lap();
  const Status status = start(begun);
  tell_untold();
  stats_.times.forward += watch.lap();
  if (!status.is_ok()) {
    fail(begun, status);
    return Begun::kFailed;
  }
  flight = std::move(begun);
  return Begun::kStarted;
}

// Faults happen in steps that nothing follows yet.
bool EngineCore::may_run_ahead(Instant now) const {
  const bool is_free = !decoder_->samples_rows() || decoder_->can_start_another();
  return flight_->can_go_ahead && is_free && scheduler_->next_deadline() > now &&
         !is_fault_due(attempts_ + 1);
}

void EngineCore::commit(Flight& flight) {
  if (std::exchange(flight.is_committed, true)) return;
  scheduler_->commit(flight.plan);
  flight.plan = {};
}

void EngineCore::guess_tokens(const Flight& flight) {
  int64_t row = 0;
  for (const Delivery& delivery : flight.deliveries) {
    row += delivery.rows;
    Sequence* const sequence = scheduler_->find(delivery.sequence);
    if (sequence == nullptr || !delivery.is_last) continue;
    // The last token that it may have ends it, whichever it is.
    if (sequence->size() + 1 < sequence->request.max_length) scheduler_->guess(*sequence, row - 1);
  }
}

TokenId EngineCore::token_of_row(int64_t row) const {
  if (decoder_->samples_rows()) return static_cast<TokenId>(-1 - row);
  return std::max(flight_->samples[static_cast<size_t>(row)].id, 0);  // as named_rows.cuh does
}

void EngineCore::finish_step(Flight& flight) {
  Stopwatch watch;
  const Result<StepOutput> output =
      flight.output ? Result<StepOutput>(*flight.output) : decoder_->finish();
  stats_.times.forward += watch.lap();
  if (!output.is_ok()) return fail(flight, output.status());
  commit(flight);
  end_stopped();
  size_t row = 0;
  std::span<const float> hidden = decoder_->hidden_states();
  for (const Delivery& delivery : flight.deliveries) {
    if (!delivery.is_pooled) {
      deliver(delivery, *output, row, flight.planned);
      continue;
    }
    const auto size = static_cast<size_t>(delivery.rows * model().spec().hidden);
    pool(delivery, hidden.first(size), flight.planned);
    hidden = hidden.subspan(size);
  }
  stats_.times.sample += watch.lap();
  count_step(flight);
}

Status EngineCore::start(Flight& flight) {
  if (is_fault_due(++attempts_)) {
    INGOT_TRY(flight.output, forward_with_fault());
    return Status::ok();
  }
  INGOT_TRY(decoder_->start(batch_, cache_, sampling_.rows()));
  if (decoder_->samples_rows()) return Status::ok();
  INGOT_TRY(flight.output, decoder_->finish());
  if (flight.can_go_ahead) sample_here(flight);
  return Status::ok();
}

void EngineCore::sample_here(Flight& flight) {
  const std::span<const RowSampling> rows = sampling_.rows();
  flight.samples.resize(rows.size());
  size_t row = 0;
  for (const Delivery& delivery : flight.deliveries) {
    for (int64_t i = 0; i < delivery.rows; ++i, ++row) {
      const Sequence& sequence = *scheduler_->find(delivery.sequence);
      Sampler& sampler = answers_.at(delivery.sequence).sampler;
      const SequenceView view{sequence.tokens, static_cast<size_t>(sequence.prompt_size())};
      const std::span<const float> logits = flight.output->logits(row);
      const Result<TokenId> token =
          sampler.sample(logits, view, static_cast<uint64_t>(sequence.size()), scratch_);
      if (!token.is_ok()) continue;
      flight.samples[row].id = *token;
      if (const auto best = sampler.params().logprobs) {
        flight.samples[row].logprobs =
            position_logprobs(logits, *token, *best, scratch_.candidates);
      }
    }
  }
  flight.output.emplace(flight.samples, std::span<const float* const>(),
                        static_cast<size_t>(model().spec().vocab));
}

bool EngineCore::is_fault_due(int64_t attempt) const {
  const Fault& fault = options_.fault;
  return fault.kind != Fault::Kind::kNone && attempt >= fault.at;
}

Result<StepOutput> EngineCore::forward_with_fault() {
  Fault::Kind& kind = options_.fault.kind;
  while (kind == Fault::Kind::kStepHang)
    std::this_thread::sleep_for(std::chrono::hours(1));
  if (kind != Fault::Kind::kNanLogits) return fail_step(std::exchange(kind, Fault::Kind::kNone));
  INGOT_TRY(const std::span<const float> logits, decoder_->forward(batch_, cache_));
  const auto vocab = static_cast<size_t>(model().spec().vocab);
  if (logits.empty()) return StepOutput(logits, vocab);
  kind = Fault::Kind::kNone;
  poisoned_.assign(logits.begin(), logits.end());
  poisoned_.front() = std::numeric_limits<float>::quiet_NaN();
  return StepOutput(poisoned_, vocab);
}

Status EngineCore::fail_step(Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::kStepOom:
      return Status::resource_exhausted("step {} found no memory, as it was asked to", attempts_);
    case Fault::Kind::kStepLost:
      loses_device_ = true;
      return Status::internal("step {} lost its device, as it was asked to", attempts_);
    case Fault::Kind::kCudaOom:
      return model().device()->fail(DeviceFault::kOutOfMemory);
    case Fault::Kind::kCudaSticky:
      return model().device()->fail(DeviceFault::kTrap);
    default:
      return Status::internal("step {} failed, as it was asked to", attempts_);
  }
}

bool EngineCore::has_lost_device() const {
  return loses_device_ || (model().device() != nullptr && model().device()->is_lost());
}

void EngineCore::fail(const Flight& flight, const Status& status) {
  ++stats_.failed_steps;
  std::vector<RequestId> requests;
  for (const Delivery& delivery : flight.deliveries) {
    const auto answer = answers_.find(delivery.sequence);
    if (answer != answers_.end()) requests.push_back(answer->second.request);
  }
  end_stopped();
  if (status.code() == StatusCode::kResourceExhausted && !flight.is_committed) {
    // The last in the plan is the newest prompt, where there is one: without it the step is as
    // large as one that went well. The others are planned again.
    return end_request(requests.back(), status);
  }
  if (has_lost_device()) {
    lost_ = status.with_context("the device is lost");
    return cancel_all(lost_);
  }
  for (const RequestId id : requests)  // some more than once: the second time it is unknown
    end_request(id, status);
}

// From its own beginning, or from when the device was done with the one before.
void EngineCore::count_step(const Flight& flight) {
  const auto now = std::chrono::steady_clock::now();
  const auto began = std::max(flight.began, stats_.last_step_end);
  const double seconds = std::chrono::duration<double>(now - began).count();
  ++stats_.steps;
  stats_.computed_tokens += flight.tokens;
  stats_.step_tokens.add(static_cast<double>(flight.tokens));
  stats_.step_seconds.add(seconds);
  stats_.last_step_seconds = seconds;
  stats_.last_step_end = now;
}

}  // namespace ingot
