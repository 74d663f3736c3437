// SPDX-License-Identifier: Apache-2.0
// ingot bench throughput: many requests through the engine, as a server would run them.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/text_engine.h"
#include "cli/bench_output.h"
#include "cli/bench_setting.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/model_flags.h"
#include "cli/progress_bar.h"
#include "cli/sampling_flags.h"

namespace ingot {
namespace {

constexpr const char* kFooter =
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
  ingot bench throughput model.gguf --shared-prefix 512 --prefix-fraction 0.5)";

class BenchThroughputCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command =
        app.add_subcommand("throughput", "Measure many requests at once: speed, latency, reuse");
    command->footer(kFooter);
    add_model_flags(*command, model_);
    constexpr const char* kGroup = "Workload";
    command->add_option("--workload", kind_, "random, chat, fewshot, shared-prefix or stall")
        ->check(CLI::IsMember({"random", "chat", "fewshot", "shared-prefix", "stall"}))
        ->type_name("NAME")
        ->capture_default_str()
        ->group(kGroup);
    num_prompts_ = command->add_option("--num-prompts", workload_.num_prompts, "Requests")
                       ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
                       ->type_name("N")
                       ->group(kGroup);
    command
        ->add_option("--input-len", input_,
                     "Tokens of each prompt's own text: 128, 128:512 or 64,128 (stall: of the long "
                     "prompt)")
        ->type_name("LEN")
        ->group(kGroup);
    command->add_option("--output-len", output_, "Tokens of each answer, likewise")
        ->type_name("LEN")
        ->group(kGroup);
    shared_prefix_ = command
                         ->add_option("--shared-prefix", workload_.shared_prefix,
                                      "Tokens all prompts begin with (chat: the system prompt)")
                         ->check(CLI::Range(int64_t{0}, int64_t{1} << 30))
                         ->type_name("N")
                         ->group(kGroup);
    command
        ->add_option("--prefix-fraction", workload_.prefix_fraction,
                     "... but only this part of the prompts")
        ->check(CLI::Range(0.0, 1.0))
        ->type_name("X")
        ->group(kGroup);
    command->add_option("--users", workload_.users, "chat: conversations")
        ->check(CLI::Range(int64_t{1}, int64_t{1} << 16))
        ->type_name("N")
        ->capture_default_str()
        ->group(kGroup);
    command->add_option("--turns", workload_.turns, "chat: turns of each")
        ->check(CLI::Range(int64_t{1}, int64_t{1} << 16))
        ->type_name("N")
        ->capture_default_str()
        ->group(kGroup);
    command
        ->add_option("--concurrency", concurrency_,
                     "Requests in flight, at most; a list runs each in turn")
        ->type_name("N,N")
        ->capture_default_str()
        ->group(kGroup);
    add_bench_output_flags(*command, report_);
    add_sampling_flags(*command, sampling_);
    add_engine_flags(*command, engine_);
    max_num_seqs_ = command->get_option("--max-num-seqs");
    return command;
  }

  Status run() override {
    INGOT_TRY(check(report_));
    INGOT_TRY(const std::vector<int64_t> concurrencies,
              parse_numbers(concurrency_, "--concurrency", 1));
    INGOT_TRY(const LoadedModel model, load_model(model_));
    INGOT_TRY(EngineFlags flags, engine_flags(engine_, model_));
    INGOT_TRY(const SamplingParams sampling, sampling_params(model));
    BenchReport report;
    if (kind_ == "stall") {
      INGOT_TRY(report, run_stalls(model, flags, sampling));
    } else {
      INGOT_TRY(const WorkloadOptions options, workload_options(model, sampling));
      const bool compares = options.kind == WorkloadKind::kSharedPrefix;
      const Workload workload = make_workload(options);
      if (flags.context == 0) flags.context = workload.longest();
      std::vector<NamedRun> runs;
      for (const int64_t concurrency : concurrencies) {
        for (const bool is_cached : compares ? std::vector<bool>{true, false}
                                             : std::vector<bool>{flags.enable_prefix_caching}) {
          flags.enable_prefix_caching = is_cached;
          std::string name = fmt::format("{} in flight", concurrency);
          if (compares) name += is_cached ? ", reuse" : ", no reuse";
          INGOT_TRY(RunRecord record, run_one(model, flags, workload,
                                              {concurrency, sampling, model.text.tokenizer, {}}));
          runs.push_back({std::move(name), std::move(record)});
        }
      }
      report = throughput_report(runs);
      describe(options, report);
      if (compares) compare(runs, report);
    }
    return tell_all(model, report);
  }

 private:
  // The model's own ends and recommendations do not matter here: greedy, unless told otherwise.
  Result<SamplingParams> sampling_params(const LoadedModel& model) {
    if (std::ranges::none_of(sampling_.given,
                             [](const auto& flag) { return flag.first == "seed"; }))
      sampling_.given.emplace_back("seed", "0");
    SamplingParams greedy = model.sampling;
    greedy.temperature = 0;
    return sampling_of(sampling_, greedy, model.text.tokenizer.get());
  }

  // What was not given is as the workload wants it.
  Result<WorkloadOptions> workload_options(const LoadedModel& model,
                                           const SamplingParams& sampling) const {
    INGOT_TRY(const WorkloadKind kind, parse_workload(kind_));
    WorkloadOptions options = default_workload(kind);
    options.seed = sampling.seed;
    options.vocab = model.model->spec().vocab;
    options.users = workload_.users;
    options.turns = workload_.turns;
    options.prefix_fraction = workload_.prefix_fraction;
    if (num_prompts_->count() > 0) options.num_prompts = workload_.num_prompts;
    if (shared_prefix_->count() > 0) options.shared_prefix = workload_.shared_prefix;
    if (!input_.empty()) {
      INGOT_TRY(options.input, parse_lengths(input_, "--input-len", 1));
    }
    if (!output_.empty()) {
      INGOT_TRY(options.output, parse_lengths(output_, "--output-len", 1));
    }
    return options;
  }

  // A fresh engine each time: no run finds what another left in the cache.
  Result<std::unique_ptr<EngineCore>> start(const LoadedModel& model, EngineFlags flags,
                                            int64_t sequences) const {
    if (max_num_seqs_->count() == 0) flags.max_num_seqs = sequences;
    INGOT_TRY(const EngineOptions options, engine_options(flags, model.model->spec()));
    return EngineCore::create(model.model, options);
  }

  Result<RunRecord> run_one(const LoadedModel& model, const EngineFlags& flags,
                            const Workload& workload, RunOptions options) const {
    INGOT_TRY(const std::unique_ptr<EngineCore> core, start(model, flags, options.concurrency));
    ProgressBar bar(fmt::format("{} in flight", options.concurrency));
    options.progress = [&bar](double fraction) { bar.update(fraction); };
    return run_workload(*core, workload, options);
  }

  Result<BenchReport> run_stalls(const LoadedModel& model, EngineFlags flags,
                                 const SamplingParams& sampling) const {
    StallOptions options;
    options.sampling = sampling;
    options.tokenizer = model.text.tokenizer;
    if (!input_.empty()) {
      INGOT_TRY(const Lengths length, parse_lengths(input_, "--input-len", 1));
      options.long_prompt = length.draw(sampling.seed, 0);
    }
    if (flags.context == 0) flags.context = options.context();
    std::vector<NamedStall> runs;
    for (const bool is_chunked : {true, false}) {
      if (!is_chunked) flags.max_num_batched_tokens = options.long_prompt + options.sequences + 1;
      INGOT_TRY(const std::unique_ptr<EngineCore> core, start(model, flags, options.sequences + 1));
      ProgressBar bar(is_chunked ? "In chunks" : "At once");
      options.progress = [&bar](double fraction) { bar.update(fraction); };
      INGOT_TRY(StallRecord record, run_stall(*core, options));
      runs.push_back({is_chunked ? "in chunks" : "at once", std::move(record)});
    }
    BenchReport report = stall_report(runs);
    report.json.emplace_back("workload", Json{{"name", "stall"},
                                              {"sequences", options.sequences},
                                              {"long_prompt", options.long_prompt},
                                              {"seed", sampling.seed}});
    return report;
  }

  static void describe(const WorkloadOptions& options, BenchReport& report) {
    report.json.emplace_back("workload", Json{{"name", std::string(to_string(options.kind))},
                                              {"input_len", options.input.to_string()},
                                              {"output_len", options.output.to_string()},
                                              {"shared_prefix", options.shared_prefix},
                                              {"prefix_fraction", options.prefix_fraction},
                                              {"users", options.users},
                                              {"turns", options.turns},
                                              {"seed", options.seed}});
    report.tables[0].title = fmt::format("workload {}: own text {}, answers {}, shared prefix {}",
                                         to_string(options.kind), options.input.to_string(),
                                         options.output.to_string(), options.shared_prefix);
  }

  static void compare(const std::vector<NamedRun>& runs, BenchReport& report) {
    Json ratios = Json::array();
    for (size_t i = 0; i + 1 < runs.size(); i += 2) {
      const double ratio = runs[i + 1].record.seconds / std::max(runs[i].record.seconds, 1e-9);
      ratios.push_back(ratio);
      report.notes.push_back(
          fmt::format("{}: {:.2f} times sooner than without prefix caching", runs[i].name, ratio));
    }
    report.json.emplace_back("speedup_by_prefix_caching", std::move(ratios));
  }

  Status tell_all(const LoadedModel& model, const BenchReport& report) const {
    ThreadPool pool(model_.threads);
    const Exec exec(pool);
    const MachinePeaks peaks = measure_machine(exec);
    INGOT_TRY(const KvCacheType cache, cache_type_of(model_.cache_dtype, model.model->spec()));
    return tell(report, setting_of({model, exec, peaks, cache}), report_);
  }

  ModelFlags model_;
  EngineCliFlags engine_;
  SamplingFlags sampling_;
  BenchOutputFlags report_;
  WorkloadOptions workload_;
  std::string kind_ = "random";
  std::string input_;
  std::string output_;
  std::string concurrency_ = "8";
  CLI::Option* num_prompts_ = nullptr;
  CLI::Option* shared_prefix_ = nullptr;
  CLI::Option* max_num_seqs_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_bench_throughput_command() {
  return std::make_unique<BenchThroughputCommand>();
}

}  // namespace ingot
