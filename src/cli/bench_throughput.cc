// SPDX-License-Identifier: Apache-2.0
// ingot bench throughput: many requests through the engine, as a server would run them.
#include <algorithm>

#include "bench/throughput.h"
#include "cli/bench_output.h"
#include "cli/bench_setting.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/model_flags.h"
#include "cli/progress_bar.h"
#include "cli/sampling_flags.h"
#include "cli/workload_flags.h"

namespace ingot {
namespace {

constexpr const char* kBenchThroughputFooter =
    R"(Workloads (random token ids; the same --seed makes the same requests):
  random         independent prompts, a part of which may share a prefix
  chat           8 users x 6 turns over one system prompt; a turn repeats the whole history
  fewshot        32 questions over the same examples
  shared-prefix  32 requests over a 512-token prefix, with and without prefix caching
  stall          a 4,000-token prompt arrives among 7 decoding sequences, with and without chunks

Greedy unless sampling flags are given; ends of text are ignored. docs/benchmarking.md says what each
number means.

Examples:
  ingot bench throughput model.gguf --num-prompts 64 --input-len 128:512 --output-len 64
  ingot bench throughput model.gguf --concurrency 1,2,4,8 --plot throughput.svg
  ingot bench throughput model.gguf --workload chat --users 8 --turns 6 --json
  ingot bench throughput model.gguf --shared-prefix 512 --prefix-fraction 0.5
  ingot bench throughput --random 8B:fp8 --device cuda --num-prompts 512 --max-num-seqs 256 \
    --input-len 1000 --output-len 1000 --max-num-batched-tokens 2048)";

constexpr int64_t kInFlight = 8;

class BenchThroughputCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command =
        app.add_subcommand("throughput", "Measure many requests at once: speed, latency, reuse");
    command->footer(kBenchThroughputFooter);
    add_model_flags(*command, model_);
    add_random_flag(*command, model_);
    add_workload_flags(*command, workload_);
    command
        ->add_option("--concurrency", concurrency_,
                     "Requests in flight, at most; a list runs each in turn (8, or as many as "
                     "--max-num-seqs)")
        ->type_name("N,N")
        ->group("Workload");
    add_bench_output_flags(*command, output_);
    add_sampling_flags(*command, sampling_);
    add_engine_flags(*command, engine_);
    max_num_seqs_ = command->get_option("--max-num-seqs");
    return command;
  }

  Status run() override {
    INGOT_TRY(check(output_));
    const bool has_seats = max_num_seqs_->count() > 0;
    std::vector<int64_t> concurrencies{has_seats ? engine_.engine.max_num_seqs : kInFlight};
    if (!concurrency_.empty()) {
      INGOT_TRY(concurrencies, parse_numbers(concurrency_, "--concurrency", 1));
    }
    INGOT_TRY(const LoadedModel model, load_model(model_));
    INGOT_TRY(const BenchReport report, measure(model, concurrencies));
    INGOT_TRY(const ThreadOptions threads, thread_options(model_));
    ThreadPool pool(threads);
    const Exec exec(pool);
    INGOT_TRY(const MachinePeaks peaks, measure_peaks(*model.model, exec));
    INGOT_TRY(const KvCacheType cache, cache_type_of(model_.cache_dtype, model.model->spec()));
    return tell(report, setting_of({model, exec, peaks, cache}), output_);
  }

 private:
  Result<BenchReport> measure(const LoadedModel& model, const std::vector<int64_t>& concurrencies) {
    ThroughputSetup setup;
    INGOT_TRY(setup.engine, engine_flags(engine_, model_));
    INGOT_TRY(setup.sampling, sampling_params(model));
    setup.has_seats = max_num_seqs_->count() > 0;
    ProgressBar bar("Requests");
    setup.progress = [&bar](std::string_view name, double fraction) {
      bar.set_label(std::string(name));
      bar.update(fraction);
    };
    if (workload_.is_stall()) {
      StallOptions stall;
      if (!workload_.input_len.empty()) {
        INGOT_TRY(const Lengths length, parse_lengths(workload_.input_len, "--input-len", 1));
        stall.long_prompt = length.draw(setup.sampling.seed, 0);
      }
      return bench_stall(model, setup, stall);
    }
    INGOT_TRY(const WorkloadOptions workload,
              workload_options(workload_, setup.sampling.seed, model.model->spec().vocab));
    return bench_throughput(model, setup, workload, concurrencies);
  }

  // Greedy and with a fixed seed, unless told otherwise.
  Result<SamplingParams> sampling_params(const LoadedModel& model) {
    const auto is_seed = [](const auto& flag) { return flag.first == "seed"; };
    if (std::ranges::none_of(sampling_.given, is_seed)) sampling_.given.emplace_back("seed", "0");
    SamplingParams greedy = model.sampling;
    greedy.temperature = 0;
    return sampling_of(sampling_, greedy, model.text.tokenizer.get());
  }

  ModelFlags model_;
  WorkloadFlags workload_;
  EngineCliFlags engine_;
  SamplingFlags sampling_;
  BenchOutputFlags output_;
  std::string concurrency_;  // empty: not given
  CLI::Option* max_num_seqs_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_bench_throughput_command() {
  return std::make_unique<BenchThroughputCommand>();
}

}  // namespace ingot
