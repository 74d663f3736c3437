// SPDX-License-Identifier: Apache-2.0
#include "bench/run_workload.h"

#include <algorithm>
#include <deque>

#include "bench/reuse_ideal.h"
#include "bench/timed_sink.h"

namespace ingot {
namespace {

Instant instant(BenchClock::time_point time) {
  return time.time_since_epoch();
}

class WorkloadDriver {
 public:
  WorkloadDriver(EngineCore& core, const Workload& workload, const RunOptions& options)
      : core_(core),
        workload_(workload),
        options_(options),
        histories_(workload.conversations.size()) {
    for (size_t i = 0; i < workload.conversations.size(); ++i)
      if (!workload.conversations[i].turns.empty()) ready_.push_back({i, 0});
  }

  Result<RunRecord> run() {
    const EngineStats before = core_.stats();
    const BenchClock::time_point start = BenchClock::now();
    double waste = 0;
    int64_t wasteful_steps = 0;
    while (!ready_.empty() || !flights_.empty()) {
      while (!ready_.empty() && static_cast<int64_t>(flights_.size()) < options_.concurrency) {
        INGOT_TRY(submit());
      }
      core_.step(instant(BenchClock::now()));
      const EngineStats now = core_.stats();
      if (now.scheduler.running > 0) {
        waste += now.waste;
        ++wasteful_steps;
        record_.max_waste = std::max(record_.max_waste, now.waste);
      }
      INGOT_TRY(look_around());
    }
    record_.seconds = seconds_between(start, BenchClock::now());
    const EngineStats after = core_.stats();
    record_.concurrency = options_.concurrency;
    record_.steps = after.steps - before.steps;
    record_.preemptions = after.scheduler.preemptions - before.scheduler.preemptions;
    if (wasteful_steps > 0) record_.mean_waste = waste / static_cast<double>(wasteful_steps);
    record_.times = {after.times.plan - before.times.plan,
                     after.times.forward - before.times.forward,
                     after.times.sample - before.times.sample};
    return std::move(record_);
  }

 private:
  struct Place {
    size_t conversation;
    size_t turn;
  };
  struct Flight {
    Place place;
    std::vector<TokenId> tokens;  // prompt and answer so far
    size_t prompt_tokens;
    int64_t reusable;
    ReuseIdeal::Cursor cursor;
    BenchClock::time_point submitted;
    std::shared_ptr<TimedSink> sink;
  };

  Status submit() {
    const Place place = ready_.front();
    ready_.pop_front();
    const Turn& turn = workload_.conversations[place.conversation].turns[place.turn];
    Flight flight{.place = place,
                  .tokens = std::move(histories_[place.conversation]),
                  .prompt_tokens = 0,
                  .reusable = 0,
                  .cursor = {},
                  .submitted = {},
                  .sink = std::make_shared<TimedSink>(options_.tokenizer)};
    flight.tokens.insert(flight.tokens.end(), turn.text.begin(), turn.text.end());
    flight.prompt_tokens = flight.tokens.size();
    flight.reusable = ideal_.reusable(flight.tokens);
    EngineRequest request;
    request.prompt = flight.tokens;
    request.max_tokens = turn.answer_tokens;
    request.sampling = options_.sampling;
    request.sampling.ignore_eos = true;
    flight.submitted = BenchClock::now();
    INGOT_TRY(core_.add(next_id_++, std::move(request), flight.sink, instant(flight.submitted)));
    flights_.push_back(std::move(flight));
    return Status::ok();
  }

  // After a step: what has been computed, and what has ended.
  Status look_around() {
    for (Flight& flight : flights_) {
      if (!flight.sink->has_prompt()) continue;
      const std::vector<TokenId>& ids = flight.sink->ids();
      const size_t known = flight.tokens.size() - flight.prompt_tokens;
      flight.tokens.insert(flight.tokens.end(), ids.begin() + static_cast<int64_t>(known),
                           ids.end());
      generated_ += static_cast<int64_t>(ids.size() - known);
      // The last token has been drawn but not run.
      const size_t computed = ids.empty() ? flight.prompt_tokens : flight.tokens.size() - 1;
      ideal_.remember(flight.tokens, computed, flight.cursor);
    }
    for (Flight& flight : flights_) {
      if (!flight.sink->status()) continue;
      INGOT_TRY(*flight.sink->status());
      finish(flight);
    }
    std::erase_if(flights_, [](const Flight& flight) { return flight.sink->status().has_value(); });
    if (options_.progress) {
      options_.progress(static_cast<double>(generated_) /
                        static_cast<double>(std::max<int64_t>(workload_.output_tokens(), 1)));
    }
    return Status::ok();
  }

  void finish(Flight& flight) {
    RequestRecord& record = record_.requests.emplace_back();
    const std::vector<BenchClock::time_point>& times = flight.sink->times();
    record.prompt_tokens = static_cast<int64_t>(flight.prompt_tokens);
    record.reused_tokens = flight.sink->reused_tokens();
    record.reusable_tokens = flight.reusable;
    record.output_tokens = static_cast<int64_t>(times.size());
    if (!times.empty()) record.first_token_seconds = seconds_between(flight.submitted, times[0]);
    for (size_t i = 1; i < times.size(); ++i)
      record.gaps.push_back(seconds_between(times[i - 1], times[i]));
    const Place next{flight.place.conversation, flight.place.turn + 1};
    if (next.turn == workload_.conversations[next.conversation].turns.size()) return;
    histories_[next.conversation] = std::move(flight.tokens);
    ready_.push_back(next);
  }

  EngineCore& core_;
  const Workload& workload_;
  const RunOptions& options_;
  std::vector<std::vector<TokenId>> histories_;  // of conversations between two turns
  std::deque<Place> ready_;                      // turns that may be submitted
  std::vector<Flight> flights_;
  ReuseIdeal ideal_;
  RequestId next_id_ = 1;
  int64_t generated_ = 0;
  RunRecord record_;
};

}  // namespace

Result<RunRecord> run_workload(EngineCore& core, const Workload& workload,
                               const RunOptions& options) {
  if (workload.longest() > core.context()) {
    return Status::invalid_argument(
        "the longest request has {} tokens but the context holds {}; shorten the workload or raise "
        "--ctx-size",
        workload.longest(), core.context());
  }
  return WorkloadDriver(core, workload, options).run();
}

}  // namespace ingot
