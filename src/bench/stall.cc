// SPDX-License-Identifier: Apache-2.0
#include "bench/stall.h"

#include <algorithm>
#include <vector>

#include "bench/timed_sink.h"
#include "bench/workload.h"

namespace ingot {
namespace {

struct Decoding {
  RequestId id = 0;
  std::shared_ptr<TimedSink> sink;
};

class Stall {
 public:
  Stall(EngineCore& core, const StallOptions& options) : core_(core), options_(options) {}

  Result<StallRecord> run() {
    std::vector<Decoding> sequences;
    for (int64_t i = 0; i < options_.sequences; ++i) {
      INGOT_TRY(sequences.emplace_back(), submit(options_.sequence_prompt, -1));
    }
    const auto are_warm = [&] {
      return std::ranges::all_of(sequences, [&](const Decoding& sequence) {
        return static_cast<int64_t>(sequence.sink->ids().size()) >= options_.tokens_before ||
               sequence.sink->status();
      });
    };
    while (!are_warm())
      step();
    const BenchClock::time_point arrival = BenchClock::now();
    INGOT_TRY(const Decoding prompt, submit(options_.long_prompt, options_.tokens_after));
    StallRecord record;
    std::vector<double> chunks;
    const int64_t computed_before = core_.stats().computed_tokens;
    while (!prompt.sink->status()) {
      const bool is_chunk = !prompt.sink->has_prompt();
      const double seconds = step();
      if (is_chunk) chunks.push_back(seconds);
      if (options_.progress) {
        options_.progress(static_cast<double>(core_.stats().computed_tokens - computed_before) /
                          static_cast<double>(options_.long_prompt));
      }
    }
    INGOT_TRY(*prompt.sink->status());
    std::vector<double> gaps;
    std::vector<double> quiet;
    for (const Decoding& sequence : sequences) {
      if (sequence.sink->status()) {
        INGOT_TRY(*sequence.sink->status());
      }
      const std::vector<BenchClock::time_point>& times = sequence.sink->times();
      for (size_t i = 1; i < times.size(); ++i)
        (times[i] > arrival ? gaps : quiet).push_back(seconds_between(times[i - 1], times[i]));
      core_.cancel(sequence.id);
    }
    record.tokens_per_step = core_.options().max_num_batched_tokens;
    record.gaps = spread_of(std::move(gaps));
    record.quiet_gaps = spread_of(std::move(quiet));
    record.chunk_count = static_cast<int64_t>(chunks.size());
    record.chunks = spread_of(std::move(chunks));
    if (!prompt.sink->times().empty())
      record.first_token_seconds = seconds_between(arrival, prompt.sink->times()[0]);
    return record;
  }

 private:
  // Its seconds.
  double step() {
    const BenchClock::time_point start = BenchClock::now();
    core_.step(start.time_since_epoch());
    return seconds_between(start, BenchClock::now());
  }

  Result<Decoding> submit(int64_t tokens, int64_t max_tokens) {
    Decoding decoding{next_id_++, std::make_shared<TimedSink>(options_.tokenizer)};
    EngineRequest request;
    request.prompt = random_text(options_.sampling.seed, static_cast<uint64_t>(decoding.id), tokens,
                                 core_.model().spec().vocab);
    request.max_tokens = max_tokens;
    request.sampling = options_.sampling;
    request.sampling.ignore_eos = true;
    INGOT_TRY(core_.add(decoding.id, std::move(request), decoding.sink,
                        BenchClock::now().time_since_epoch()));
    return decoding;
  }

  EngineCore& core_;
  const StallOptions& options_;
  RequestId next_id_ = 1;
};

}  // namespace

Result<StallRecord> run_stall(EngineCore& core, const StallOptions& options) {
  if (options.context() > core.context()) {
    return Status::invalid_argument(
        "the long prompt and its answer have {} tokens but the context holds {}; shorten "
        "--input-len "
        "or raise --ctx-size",
        options.context(), core.context());
  }
  return Stall(core, options).run();
}

}  // namespace ingot
