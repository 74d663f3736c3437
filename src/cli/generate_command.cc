// SPDX-License-Identifier: Apache-2.0
// ingot generate: continues one prompt, as streamed text or as one JSON object.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "api/stop_strings.h"
#include "cli/command.h"
#include "cli/logprobs_json.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/prompt_flags.h"
#include "cli/run_stats.h"
#include "cli/sampling_flags.h"

namespace ingot {
namespace {

constexpr const char* kFooter = R"(Examples:
  ingot generate -p "Once upon a time" -n 100
  ingot generate model.gguf --chat -p "What is a heap?" --temp 0
  ingot generate folder --prompt-ids 1,5,9 -n 24 --temp 0 --ignore-eos --json
  ingot generate model.gguf -p "The capital of France is" -n 1 --logprobs 5 --json)";

class GenerateCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command = app.add_subcommand("generate", "Continue one prompt");
    command->footer(kFooter);
    add_model_flags(*command, model_);
    add_prompt_flags(*command, prompt_);
    command
        ->add_option("-n,--max-tokens", max_tokens_,
                     "Most tokens to generate (-1: to the context's end)")
        ->check(CLI::Range(int64_t{-1}, int64_t{1} << 40))
        ->type_name("N");
    command->add_flag("--ignore-eos", ignores_eos_, "Do not stop at an end-of-text token");
    command->add_option("--stop", stops_, "Stop before this text (may be given several times)")
        ->type_name("STR")
        ->expected(1)
        ->take_all()
        ->allow_extra_args(false);
    command
        ->add_option("--logprobs", logprobs_,
                     "With --json: each token's log-probability and the N best")
        ->check(CLI::Range(0, 1 << 20))
        ->type_name("N");
    command->add_option("--prompt-logprobs", prompt_logprobs_, "The same for the prompt's tokens")
        ->check(CLI::Range(0, 1 << 20))
        ->type_name("N");
    command->add_flag("--json", json_,
                      "Print one object: prompt_ids, ids, text, finish_reason, ...");
    command->add_flag("-v,--verbose", verbose_, "Print speed to standard error");
    add_sampling_flags(*command, sampling_);
    return command;
  }

  Status run() override {
    INGOT_TRY(const LoadedModel model, load_model(model_));
    SoloRequest request;
    INGOT_TRY(request.prompt, read_prompt(prompt_, model.text));
    INGOT_TRY(request.sampling, sampling_of(sampling_, model.sampling, model.text.tokenizer.get()));
    request.max_tokens = max_tokens_;
    request.sampling.ignore_eos = ignores_eos_;
    request.stop_ids = model.stop_ids;
    if (json_ && logprobs_ >= 0) request.logprobs = logprobs_;
    if (json_ && prompt_logprobs_ >= 0) request.prompt_logprobs = prompt_logprobs_;
    if (!stops_.empty() && model.text.tokenizer == nullptr)
      return model.text.tokenizer_status.with_context("--stop needs a tokenizer");
    INGOT_TRY(const std::unique_ptr<Solo> solo, start_solo(model, model_));
    return answer(*solo, request, model.text.tokenizer.get());
  }

 private:
  // Without a tokenizer the "text" is the ids themselves.
  Status answer(Solo& solo, const SoloRequest& request, const Tokenizer* tokenizer) const {
    std::optional<TextDecoder> decoder;
    if (tokenizer != nullptr) decoder.emplace(*tokenizer);
    StopStrings stops(stops_);
    std::string text;
    Status written;
    const auto emit = [&](const std::string& piece) {
      text += piece;
      if (!json_)
        written = print(is_terminal(STDOUT_FILENO) ? without_control_characters(piece) : piece);
    };
    INGOT_TRY(SoloResult result, solo.generate(request, [&](TokenId id) {
      emit(decoder ? stops.push(decoder->push(id)) : fmt::format("{} ", id));
      return written.is_ok() && !stops.has_matched();
    }));
    INGOT_TRY(std::move(written));
    if (decoder) emit(stops.push(decoder->finish()) + stops.finish());
    if (stops.has_matched()) result.finish = FinishReason::kStop;
    if (verbose_) print_stats(request, result);
    if (json_) return print_result(request, result, decoder ? Json(text) : Json());
    return is_terminal(STDOUT_FILENO) ? print("\n") : std::move(written);
  }

  Status print_result(const SoloRequest& request, const SoloResult& result, Json text) const {
    Json object = {{"prompt_ids", request.prompt},
                   {"ids", result.ids},
                   {"text", std::move(text)},
                   {"finish_reason", std::string(to_string(result.finish))}};
    if (request.prompt_logprobs) object["prompt_logprobs"] = to_json(result.prompt_logprobs);
    if (request.logprobs) object["logprobs"] = to_json(result.logprobs);
    return print_json(object);
  }

  static void print_stats(const SoloRequest& request, const SoloResult& result) {
    const RunStats stats{.prompt_tokens = static_cast<int64_t>(request.prompt.size()),
                         .reused_tokens = result.reused_tokens,
                         .answer_tokens = static_cast<int64_t>(result.ids.size()),
                         .prompt_seconds = result.prompt_seconds,
                         .decode_seconds = result.decode_seconds};
    fmt::print(stderr, "{}\n", describe(stats));
  }

  ModelFlags model_;
  PromptFlags prompt_;
  SamplingFlags sampling_;
  int64_t max_tokens_ = -1;
  bool ignores_eos_ = false;
  std::vector<std::string> stops_;
  int logprobs_ = -1;
  int prompt_logprobs_ = -1;
  bool json_ = false;
  bool verbose_ = false;
};

}  // namespace

std::unique_ptr<Command> make_generate_command() {
  return std::make_unique<GenerateCommand>();
}

}  // namespace ingot
