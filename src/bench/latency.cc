// SPDX-License-Identifier: Apache-2.0
#include "bench/latency.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "bench/timed_sink.h"
#include "bench/workload.h"
#include "model/decoder.h"

namespace ingot {
namespace {

int64_t largest(const std::vector<int64_t>& values) {
  return values.empty() ? 0 : *std::ranges::max_element(values);
}

bool has_pair(const LatencyOptions& options) {
  return options.pair_prompt > 0 && options.pair_generated > 0;
}

// What is timed: tokens of each sequence behind a depth.
struct LatencyTest {
  bool is_prompt = false;
  int64_t batch = 0;
  int64_t depth = 0;
  int64_t tokens = 0;
};

class LatencyBench {
 public:
  LatencyBench(std::shared_ptr<const Model> model, Decoder decoder, KvCache cache, const Exec& exec,
               const LatencyOptions& options, int64_t context)
      : model_(std::move(model)),
        decoder_(std::move(decoder)),
        cache_(std::move(cache)),
        options_(options),
        cost_(weight_cost(*model_)),
        probe_(make_probe(*model_, exec)),
        context_(context),
        ids_(random_text(options.seed, 1, context, model_->spec().vocab)) {
    const int64_t pages = pages_of(context);
    tables_.resize(static_cast<size_t>(largest(options.batches)));
    for (size_t s = 0; s < tables_.size(); ++s) {
      for (size_t group = 0; group < cache_.groups().size(); ++group) {
        PageTable& table = tables_[s].emplace_back(static_cast<size_t>(pages));
        std::iota(table.begin(), table.end(), static_cast<PageId>(s) * static_cast<PageId>(pages));
      }
    }
  }

  Result<std::vector<LatencyRecord>> run() {
    std::vector<int64_t> depths = options_.depths;
    std::ranges::sort(depths);
    total_ = work(depths);
    // Loading the weights into memory is nobody's latency.
    INGOT_TRY(prompt(1, 0, std::min<int64_t>(16, context_)));
    int64_t filled = 0;
    std::vector<LatencyRecord> records;
    for (const int64_t depth : depths) {
      if (depth > filled) {
        INGOT_TRY(prompt(1, filled, depth - filled));
        filled = depth;
      }
      for (const int64_t batch : options_.batches) {
        INGOT_TRY(share_depth(batch, depth));
        for (const int64_t tokens : options_.prompts) {
          if (tokens == 0) continue;
          INGOT_TRY(records.emplace_back(), measure({true, batch, depth, tokens}));
        }
        for (const int64_t tokens : options_.generated) {
          if (tokens == 0) continue;
          INGOT_TRY(records.emplace_back(), measure({false, batch, depth, tokens}));
        }
        if (has_pair(options_)) {
          INGOT_TRY(measure_pair(batch, depth, records));
        }
      }
    }
    return records;
  }

 private:
  // Rows that the whole benchmark computes, a decoded token counted as some rows of a prompt.
  static constexpr double kDecodeWeight = 8;
  double work(const std::vector<int64_t>& depths) const {
    const int64_t pair = has_pair(options_) ? 1 : 0;
    const double prompts = static_cast<double>(std::accumulate(
        options_.prompts.begin(), options_.prompts.end(), pair * options_.pair_prompt));
    const double generated = static_cast<double>(std::accumulate(
        options_.generated.begin(), options_.generated.end(), pair * options_.pair_generated));
    double rows = static_cast<double>(largest(depths));
    for (const int64_t batch : options_.batches) {
      rows += static_cast<double>(depths.size()) * (options_.repetitions + 1) *
              (prompts * static_cast<double>(batch) + generated * kDecodeWeight);
    }
    return std::max(rows, 1.0);
  }

  void did(double rows) {
    done_ += rows;
    if (options_.progress) options_.progress(std::min(done_ / total_, 1.0));
  }

  int64_t pages_of(int64_t tokens) const {
    return (tokens + options_.page_tokens - 1) / options_.page_tokens;
  }

  // What the first sequence holds, for the others too, in memory of their own.
  Status share_depth(int64_t batch, int64_t depth) {
    for (size_t s = 1; s < static_cast<size_t>(batch); ++s) {
      for (size_t group = 0; group < cache_.groups().size(); ++group) {
        for (size_t i = 0; i < static_cast<size_t>(pages_of(depth)); ++i)
          INGOT_TRY(cache_.copy_page(group, tables_[0][group][i], tables_[s][group][i]));
      }
    }
    return Status::ok();
  }

  // With the token behind each output row chosen where the logits lie.
  Status start(const Batch& rows) {
    RowSampling greedy;
    greedy.is_on_host = false;
    greedy.is_greedy = true;
    greedy_.resize(rows.output_rows.size(), greedy);
    return decoder_.start(rows, cache_, greedy_);
  }
  Status forward(const Batch& rows) {
    INGOT_TRY(start(rows));
    return decoder_.finish().status();
  }

  // `tokens` of each sequence from `depth` on, in as few passes as tokens_per_step allows. Returns
  // the number of passes.
  Result<int64_t> prompt(int64_t batch, int64_t depth, int64_t tokens) {
    int64_t passes = 0;
    Batch rows;
    const auto flush = [&]() -> Status {
      const auto count = static_cast<double>(rows.tokens.size());
      INGOT_TRY(forward(rows));
      ++passes;
      rows = {};
      did(count);
      return Status::ok();
    };
    for (int64_t s = 0; s < batch; ++s) {
      for (int64_t at = 0; at < tokens;) {
        const auto used = static_cast<int64_t>(rows.tokens.size());
        const int64_t count = std::min(tokens - at, options_.tokens_per_step - used);
        const auto from = ids_.begin() + depth + at;
        rows.tokens.insert(rows.tokens.end(), from, from + count);
        rows.sequences.push_back({.tokens = count,
                                  .first_position = depth + at,
                                  .tables = tables_[static_cast<size_t>(s)],
                                  .rope_length = depth + tokens});
        at += count;
        if (at == tokens) rows.output_rows.push_back(used + count - 1);
        if (used + count == options_.tokens_per_step) {
          INGOT_TRY(flush());
        }
      }
    }
    if (!rows.tokens.empty()) {
      INGOT_TRY(flush());
    }
    return passes;
  }

  // As the engine does, the next step begins before this one's tokens are known, where it can.
  Result<int64_t> decode(int64_t batch, int64_t depth, int64_t tokens) {
    Batch rows;
    for (int64_t at = 0; at < tokens; ++at) {
      rows = {};
      const bool is_ahead = decoder_.can_start_another();
      for (int64_t s = 0; s < batch; ++s) {
        const TokenId known = ids_[static_cast<size_t>(depth + at)];
        rows.tokens.push_back(is_ahead ? static_cast<TokenId>(-1 - s) : known);
        rows.sequences.push_back({.tokens = 1,
                                  .first_position = depth + at,
                                  .tables = tables_[static_cast<size_t>(s)],
                                  .rope_length = depth});
        rows.output_rows.push_back(s);
      }
      INGOT_TRY(start(rows));
      if (is_ahead || !decoder_.can_start_another() || at + 1 == tokens) {
        INGOT_TRY(decoder_.finish());
      }
      did(kDecodeWeight);
    }
    if (decoder_.can_start_another()) {
      INGOT_TRY(decoder_.finish());
    }
    return tokens;
  }

  // What the runs of a test took, and what a byte took to read around each.
  struct Times {
    std::vector<double> seconds;
    std::vector<double> seconds_per_byte;
    int64_t passes = 0;  // of one run
  };

  // A GPU's memory is its own.
  static std::optional<ReadProbe> make_probe(const Model& model, const Exec& exec) {
    if (model.device() != nullptr) return std::nullopt;
    return ReadProbe(exec);
  }
  double read_speed() const { return probe_ ? probe_->bytes_per_s() : 0; }

  Status time(const LatencyTest& test, Times& times) {
    const double before = read_speed();
    const BenchClock::time_point start = BenchClock::now();
    INGOT_TRY(times.passes, test.is_prompt ? prompt(test.batch, test.depth, test.tokens)
                                           : decode(test.batch, test.depth, test.tokens));
    times.seconds.push_back(seconds_between(start, BenchClock::now()));
    const double after = read_speed();
    if (before > 0 && after > 0) times.seconds_per_byte.push_back((1 / before + 1 / after) / 2);
    return Status::ok();
  }

  // Prompts warm up whole, they size the buffers; generation with a few tokens.
  Status warm_up(const LatencyTest& test) {
    if (test.is_prompt) return prompt(test.batch, test.depth, test.tokens).status();
    return decode(test.batch, test.depth, std::min<int64_t>(test.tokens, 4)).status();
  }

  Result<LatencyRecord> measure(const LatencyTest& test) {
    INGOT_TRY(warm_up(test));
    Times times;
    for (int i = 0; i < options_.repetitions; ++i) {
      INGOT_TRY(time(test, times));
    }
    return record_of(test, times);
  }

  // A prompt and the tokens behind it, as one user after the other would see them.
  Status measure_pair(int64_t batch, int64_t depth, std::vector<LatencyRecord>& records) {
    const LatencyTest first{true, batch, depth, options_.pair_prompt};
    const LatencyTest second{false, batch, depth + first.tokens, options_.pair_generated};
    INGOT_TRY(warm_up(first));
    Times first_times;
    Times second_times;
    for (int i = 0; i < options_.repetitions; ++i) {
      INGOT_TRY(time(first, first_times));
      INGOT_TRY(time(second, second_times));
    }
    records.push_back(record_of(first, first_times));
    records.push_back(record_of(second, second_times));
    return Status::ok();
  }

  LatencyRecord record_of(const LatencyTest& test, const Times& times) const {
    LatencyRecord record;
    record.is_prompt = test.is_prompt;
    record.batch = test.batch;
    record.depth = test.depth;
    record.tokens = test.tokens;
    const auto all = static_cast<double>(test.batch * test.tokens);
    const auto passes = static_cast<double>(times.passes);
    std::vector<double> speeds;
    for (const double one : times.seconds)
      speeds.push_back(all / one);
    record.seconds = spread_of(times.seconds).mean;
    if (!times.seconds_per_byte.empty())
      record.read_bytes_per_s = 1 / spread_of(times.seconds_per_byte).mean;
    record.tokens_per_second = spread_of(std::move(speeds));
    const auto tokens = static_cast<double>(test.tokens);
    const auto batch = static_cast<double>(test.batch);
    record.ops.add(cost_.ops, all);
    record.ops.add(cost_.head_ops, test.is_prompt ? batch : all);
    record.bytes = cost_.bytes * passes + cost_.head_bytes * (test.is_prompt ? 1 : passes);
    const double kv = static_cast<double>(kv_bytes_per_token(model_->spec(), options_.cache_type));
    // A prompt's own keys may stay in caches between its rows; what lies before it is read once.
    const auto depth = static_cast<double>(test.depth);
    record.bytes += kv * batch * (test.is_prompt ? depth : tokens * (depth + tokens / 2));
    return record;
  }

  std::shared_ptr<const Model> model_;
  Decoder decoder_;
  KvCache cache_;
  const LatencyOptions& options_;
  const WeightCost cost_;
  const std::optional<ReadProbe> probe_;
  const int64_t context_;
  const std::vector<TokenId> ids_;              // of every sequence, by position
  std::vector<std::vector<PageTable>> tables_;  // [sequence][group]
  std::vector<RowSampling> greedy_;             // one for each output row
  double done_ = 0;
  double total_ = 1;
};

}  // namespace

double LatencyRecord::step_seconds() const {
  return tokens > 0 ? seconds / static_cast<double>(tokens) : 0;
}

double LatencyRecord::read_speed(const MachinePeaks& peaks) const {
  return read_bytes_per_s > 0 ? read_bytes_per_s : peaks.read_bytes_per_s;
}

double LatencyRecord::floor_seconds(const MachinePeaks& peaks) const {
  const double read = read_speed(peaks);
  return read > 0 ? bytes / read : 0;
}

double LatencyRecord::share_of_bandwidth(const MachinePeaks& peaks) const {
  return seconds > 0 ? floor_seconds(peaks) / seconds : 0;
}

double LatencyRecord::share_of_peak(const MachinePeaks& peaks) const {
  if (peaks.float_flops_per_s <= 0 || seconds <= 0) return 0;
  const auto least = [&](double count, double peak) {
    return count / (peak > 0 ? peak : peaks.float_flops_per_s);
  };
  return (least(ops.floats, peaks.float_flops_per_s) + least(ops.bytes, peaks.int8_ops_per_s) +
          least(ops.fp8, peaks.fp8_flops_per_s)) /
         seconds;
}

namespace {

// What a weight's products are counted as. On a GPU weights of few bits are multiplied as floats
// when there are many tokens; only inputs that the checkpoint wants rounded are not.
double& kind_of(const Linear& linear, MatrixOps& ops) {
  if (const DeviceWeight* weight = linear.device_weight()) {
    switch (weight->input_kind()) {
      case InputKind::kE4m3:
        return ops.fp8;
      case InputKind::kInt8:
        return ops.bytes;
      case InputKind::kAsTheyAre:
        return ops.floats;
    }
  }
  return linear.kernel().activation == ActivationLayout::kF32 ? ops.floats : ops.bytes;
}

}  // namespace

WeightCost weight_cost(const Model& model) {
  WeightCost cost;
  const auto add = [](const LinearWeights& weights, double& bytes, MatrixOps& ops) {
    if (!weights.is_bound()) return;
    bytes += static_cast<double>(weights.linear.weight_bytes());
    kind_of(weights.linear, ops) +=
        2 * static_cast<double>(weights.linear.rows()) * static_cast<double>(weights.linear.cols());
  };
  for (const LayerWeights& layer : model.layers()) {
    for (const LinearWeights* weights :
         {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down})
      add(*weights, cost.bytes, cost.ops);
  }
  add(model.embedding_in(), cost.bytes, cost.ops);
  add(model.embedding_out(), cost.head_bytes, cost.head_ops);
  add(model.output(), cost.head_bytes, cost.head_ops);
  return cost;
}

Result<std::vector<LatencyRecord>> bench_latency(const std::shared_ptr<const Model>& model,
                                                 const Exec& exec, const LatencyOptions& options) {
  const ModelSpec& spec = model->spec();
  const int64_t pair = has_pair(options) ? options.pair_prompt + options.pair_generated : 0;
  const int64_t most =
      std::max({largest(options.prompts), largest(options.generated), pair, int64_t{1}});
  const int64_t context = largest(options.depths) + most;
  if (spec.learned_positions > 0 && context > spec.learned_positions - spec.position_offset) {
    return Status::invalid_argument(
        "depth and tokens together are {} but the model has {} positions; give smaller ones",
        context, spec.learned_positions - spec.position_offset);
  }
  const int64_t pages = (context + options.page_tokens - 1) / options.page_tokens;
  KvCacheOptions memory{options.cache_type, options.page_tokens, {}, model->device()};
  memory.pages_per_group.assign(cache_groups(spec, options.cache_type, options.page_tokens).size(),
                                pages * std::max<int64_t>(largest(options.batches), 1));
  INGOT_TRY(KvCache cache, KvCache::create(spec, memory));
  INGOT_TRY(Decoder decoder, Decoder::create(model, exec, options.cache_type));
  return LatencyBench(model, std::move(decoder), std::move(cache), exec, options, context).run();
}

}  // namespace ingot
