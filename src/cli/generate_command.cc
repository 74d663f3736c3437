// SPDX-License-Identifier: Apache-2.0
// ingot generate: continues one prompt, as streamed text or as one JSON object, or answers all
// requests of a batch file.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "api/text_engine.h"
#include "cli/batch_mode.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/logprobs_json.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/prompt_flags.h"
#include "cli/run_stats.h"
#include "cli/sampling_flags.h"

namespace ingot {
namespace {

constexpr const char* kGenerateFooter = R"(Examples:
  ingot generate -p "Once upon a time" -n 100
  ingot generate model.gguf --chat -p "What is a heap?" --temp 0
  ingot generate folder --prompt-ids 1,5,9 -n 24 --temp 0 --ignore-eos --json
  ingot generate model.gguf -p "The capital of France is" -n 1 --logprobs 5 --json
  ingot generate model.gguf --input requests.jsonl --output answers.jsonl)";

class GenerateCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command =
        app.add_subcommand("generate", "Continue one prompt, or answer a file of requests");
    command->footer(kGenerateFooter);
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
    command->add_option("--n", n_, "Answers to the one prompt")
        ->check(CLI::Range(1, 256))
        ->type_name("N");
    command->add_option("--best-of", best_of_, "Make so many answers and print the likeliest")
        ->check(CLI::Range(1, 256))
        ->type_name("N");
    command->add_option("--beam-width", beam_width_, "Beam search with so many beams")
        ->check(CLI::Range(1, 64))
        ->type_name("N");
    command
        ->add_option("--length-penalty", length_penalty_,
                     "Beam search: above 1 favours long answers, below 1 short ones")
        ->type_name("X");
    add_sampling_flags(*command, sampling_);
    add_engine_flags(*command, engine_);
    max_num_seqs_ = command->get_option("--max-num-seqs");
    add_batch_flags(*command, batch_);
    return command;
  }

  Status run() override {
    if (batch_.is_wanted()) return run_batch(batch_, model_, engine_);
    // One prompt does not need more, unless asked for.
    if (max_num_seqs_->count() == 0) engine_.engine.max_num_seqs = 8;
    INGOT_TRY(LoadedModel model, load_model(model_));
    TextRequest request;
    INGOT_TRY(request.prompt_ids, read_prompt(prompt_, model.text));
    if (request.prompt_ids.empty())
      return Status::invalid_argument("the prompt is empty; give at least one token");
    INGOT_TRY(request.sampling, sampling_of(sampling_, model.sampling, model.text.tokenizer.get()));
    request.sampling.eos_ids = model.stop_ids;
    request.sampling.ignore_eos = ignores_eos_;
    if (json_ && logprobs_ >= 0) request.sampling.logprobs = logprobs_;
    if (json_ && prompt_logprobs_ >= 0) request.sampling.prompt_logprobs = prompt_logprobs_;
    request.max_tokens = max_tokens_;
    request.stop = stops_;
    request.n = n_;
    request.best_of = best_of_;
    if (beam_width_ > 0) request.beam = BeamOptions{beam_width_, length_penalty_, false};
    engine_.engine.max_num_seqs =
        std::max<int64_t>({engine_.engine.max_num_seqs, n_, best_of_, beam_width_});
    INGOT_TRY(const EngineFlags flags, engine_flags(engine_, model_));
    INGOT_TRY(const std::unique_ptr<TextEngine> engine, start_engine(std::move(model), flags));
    return answer(*engine, request);
  }

 private:
  struct Answer {
    std::vector<TokenId> ids;
    std::string text;
    std::vector<PositionLogprobs> logprobs;
    FinishReason reason = FinishReason::kStop;
  };

  Status answer(TextEngine& engine, const TextRequest& request) const {
    RunStats stats{.prompt_tokens = static_cast<int64_t>(request.prompt_ids.size())};
    std::vector<Answer> answers(static_cast<size_t>(request.n));
    std::shared_ptr<const PromptReport> prompt;
    const bool has_text = engine.model().text.tokenizer != nullptr;
    const auto start = std::chrono::steady_clock::now();
    INGOT_TRY(const std::unique_ptr<TextStream> stream, engine.submit(request));
    Status written;
    while (true) {
      std::optional<TextEvent> event = stream->next();
      if (!event) break;
      if (event->kind == TextEvent::Kind::kPrompt) {
        prompt = event->prompt;
        stats.prompt_seconds = seconds_since(start);
        continue;
      }
      Answer& answer = answers[static_cast<size_t>(event->choice)];
      if (event->kind == TextEvent::Kind::kToken) {
        answer.ids.push_back(event->id);
        ++stats.answer_tokens;
        if (!has_text) event->text = fmt::format("{} ", event->id);  // the ids stand for themselves
        if (event->logprobs) answer.logprobs.push_back(std::move(*event->logprobs));
      } else {
        answer.reason = event->reason;
      }
      answer.text += event->text;
      if (!json_ && request.n == 1) written = print_piece(event->text);
      if (!written.is_ok()) break;  // nobody reads any more
    }
    INGOT_TRY(std::move(written));
    INGOT_TRY(stream->status());
    stats.decode_seconds = seconds_since(start) - stats.prompt_seconds;
    if (prompt != nullptr) stats.reused_tokens = prompt->reused_tokens;
    if (verbose_) fmt::print(stderr, "{}\n", describe(stats));
    if (json_) return print_result(request, answers, prompt.get(), has_text);
    if (request.n > 1) return print_all(answers);
    return is_terminal(STDOUT_FILENO) ? print("\n") : Status::ok();
  }

  static double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  static Status print_piece(const std::string& piece) {
    return print(is_terminal(STDOUT_FILENO) ? without_control_characters(piece) : piece);
  }

  static Status print_all(const std::vector<Answer>& answers) {
    for (size_t i = 0; i < answers.size(); ++i) {
      INGOT_TRY(print(fmt::format("--- {} of {}\n", i + 1, answers.size())));
      INGOT_TRY(print_piece(answers[i].text + "\n"));
    }
    return Status::ok();
  }

  static Json to_object(const TextRequest& request, const Answer& answer, bool has_text) {
    Json object = {{"ids", answer.ids},
                   {"text", has_text ? Json(answer.text) : Json()},
                   {"finish_reason", std::string(to_string(answer.reason))}};
    if (request.sampling.logprobs) object["logprobs"] = to_json(answer.logprobs);
    return object;
  }

  // One answer stands in the object itself, several under "choices".
  static Status print_result(const TextRequest& request, const std::vector<Answer>& answers,
                             const PromptReport* prompt, bool has_text) {
    Json object = Json::object();
    if (answers.size() == 1) {
      object = to_object(request, answers[0], has_text);
    } else {
      object["choices"] = Json::array();
      for (const Answer& answer : answers)
        object["choices"].push_back(to_object(request, answer, has_text));
    }
    object["prompt_ids"] = request.prompt_ids;
    if (request.sampling.prompt_logprobs) {
      object["prompt_logprobs"] = Json::array();
      if (prompt != nullptr) object["prompt_logprobs"] = to_json(prompt->logprobs);
    }
    return print_json(object);
  }

  ModelFlags model_;
  PromptFlags prompt_;
  SamplingFlags sampling_;
  EngineCliFlags engine_;
  CLI::Option* max_num_seqs_ = nullptr;
  BatchFlags batch_;
  int32_t n_ = 1;
  int32_t best_of_ = 0;
  int32_t beam_width_ = 0;
  double length_penalty_ = 1;
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
