// SPDX-License-Identifier: Apache-2.0
// ingot bench latency: prompts and generation at given batch sizes and depths.
#include <fmt/core.h>

#include "cli/bench_output.h"
#include "cli/bench_setting.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/progress_bar.h"

namespace ingot {
namespace {

constexpr const char* kBenchLatencyFooter =
    R"(Every combination of the lists is measured, the model alone: no scheduling, no sampling. A depth is
how many tokens each sequence already holds. "% of floor" is the least time in which this machine could
read the weights, keys and values over the time it took: 100 % is perfect where reading is the limit.

Examples:
  ingot bench latency model.gguf
  ingot bench latency model.gguf -p 512 -n 128 -b 1,2,4,8 -d 0,4096 -r 5
  ingot bench latency model.gguf -p 0 -n 0 --pg 128,64 -b 1,8,32 --json
  ingot bench latency model.gguf -b 1,2,4,8 --plot latency.html
  ingot bench latency --random 8B:q4_k_m --device cuda -b 1,8,64 -d 0,8192)";

class BenchLatencyCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command =
        app.add_subcommand("latency", "Measure prompts and generation by batch size and depth");
    command->footer(kBenchLatencyFooter);
    add_model_flags(*command, model_);
    add_random_flag(*command, model_);
    command->remove_option(command->get_option("--ctx-size"));  // follows from depths and lengths
    command->add_option("-p,--n-prompt", prompts_, "Lengths of prompts (0: none)")
        ->type_name("N,N")
        ->capture_default_str();
    command->add_option("-n,--n-gen", generated_, "Tokens to generate (0: none)")
        ->type_name("N,N")
        ->capture_default_str();
    command->add_option("-b,--batch-size", batches_, "Sequences at the same time")
        ->type_name("N,N")
        ->capture_default_str();
    command->add_option("-d,--n-depth", depths_, "Tokens in each sequence's cache before")
        ->type_name("N,N")
        ->capture_default_str();
    command
        ->add_option("--pg", pair_,
                     "A prompt of P tokens and N generated behind it, each timed by itself")
        ->type_name("P,N");
    command
        ->add_option("-r,--repetitions", options_.repetitions, "Runs of each, after one to warm up")
        ->check(CLI::Range(1, 1000))
        ->type_name("N")
        ->capture_default_str();
    command
        ->add_option("--max-num-batched-tokens", options_.tokens_per_step,
                     "Tokens in one pass; longer prompts are cut")
        ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
        ->type_name("N")
        ->capture_default_str();
    add_bench_output_flags(*command, output_);
    return command;
  }

  Status run() override {
    INGOT_TRY(check(output_));
    INGOT_TRY(options_.prompts, parse_numbers(prompts_, "--n-prompt", 0));
    INGOT_TRY(options_.generated, parse_numbers(generated_, "--n-gen", 0));
    INGOT_TRY(options_.batches, parse_numbers(batches_, "--batch-size", 1));
    INGOT_TRY(options_.depths, parse_numbers(depths_, "--n-depth", 0));
    INGOT_TRY(read_pair());
    INGOT_TRY(const LoadedModel model, load_model(model_));
    INGOT_TRY(options_.cache_type, cache_type_of(model_.cache_dtype, model.model->spec()));
    options_.page_tokens = model_.block_size;
    INGOT_TRY(const ThreadOptions threads, thread_options(model_));
    ThreadPool pool(threads);
    const Exec exec(pool);
    INGOT_TRY(const MachinePeaks peaks, measure_peaks(*model.model, exec));
    INGOT_TRY(const std::vector<LatencyRecord> records, measure(model.model, exec));
    const BenchSetting setting = setting_of({model, exec, peaks, options_.cache_type});
    return tell(latency_report(records, peaks), setting, output_);
  }

 private:
  Status read_pair() {
    if (pair_.empty()) return Status::ok();
    INGOT_TRY(const std::vector<int64_t> numbers, parse_numbers(pair_, "--pg", 1));
    if (numbers.size() != 2)
      return Status::invalid_argument("--pg is '{}' but must be two numbers, as 128,64", pair_);
    options_.pair_prompt = numbers[0];
    options_.pair_generated = numbers[1];
    return Status::ok();
  }

  Result<std::vector<LatencyRecord>> measure(const std::shared_ptr<const Model>& model,
                                             const Exec& exec) {
    ProgressBar bar("Latency");
    options_.progress = [&bar](double fraction) { bar.update(fraction); };
    return bench_latency(model, exec, options_);
  }

  ModelFlags model_;
  LatencyOptions options_;
  BenchOutputFlags output_;
  std::string prompts_ = "512";
  std::string generated_ = "64";
  std::string batches_ = "1";
  std::string depths_ = "0";
  std::string pair_;
};

}  // namespace

std::unique_ptr<Command> make_bench_latency_command() {
  return std::make_unique<BenchLatencyCommand>();
}

}  // namespace ingot
