// SPDX-License-Identifier: Apache-2.0
// ingot eval: what a model is worth, and what its quantization cost.
#include <fmt/core.h>

#include <chrono>

#include "api/rfc3339.h"
#include "cli/command.h"
#include "cli/eval_flags.h"
#include "cli/eval_sweep.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "eval/report.h"

namespace ingot {
namespace {

constexpr const char* kEvalFooter =
    R"(Several measures may be asked for at once. docs/evaluation.md has the protocols and task formats.

Examples:
  ingot eval model.gguf --perplexity wiki.test.raw
  ingot eval model.gguf --perplexity wiki.test.raw --protocol hf -c 1024 --stride 512
  ingot eval q4.gguf --perplexity wiki.test.raw --reference bf16.gguf
  ingot eval bf16.gguf --perplexity wiki.test.raw --kl-divergence-base wiki.ref
  ingot eval q4.gguf --kl-divergence --kl-base wiki.ref
  ingot eval model.gguf --task hellaswag --data hellaswag/ --limit 400
  ingot eval model.gguf --task mine.jsonl --json out.json --html out.html
  ingot eval model.gguf --perplexity wiki.test.raw --sweep q8_0,q6_k,q4_k_m --html sweep.html)";

class EvalCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command = app.add_subcommand(
        "eval", "Measure quality: perplexity, divergence from a reference, tasks");
    command->footer(kEvalFooter);
    add_model_flags(*command, model_);
    command->add_option("--perplexity", texts_, "Texts to predict; - is standard input")
        ->type_name("FILE")
        ->group("Texts");
    command
        ->add_option("--protocol", text_.protocol,
                     "How the text is cut: llama (llama-perplexity's chunks), hf (strided windows) "
                     "or windows (bos + N-1 tokens, all scored)")
        ->check(CLI::IsMember({"llama", "hf", "windows"}))
        ->type_name("NAME")
        ->capture_default_str()
        ->group("Texts");
    add_text_flags(*command, text_);
    add_divergence_flags(*command);
    add_task_flags(*command);
    add_output_flags(*command);
    return command;
  }

  Status run() override {
    INGOT_TRY(check());
    INGOT_TRY(EvalRequest request, make_request());
    const InterruptScope interrupt;
    EvalProgressBar bar;
    request.progress = [&bar](std::string_view label, double fraction) {
      return bar.update(label, fraction);
    };
    EvalReport report;
    report.created = rfc3339(
        std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now()));
    if (sweep_.recipes.empty()) {
      INGOT_TRY(const LoadedModel model, load_model(model_));
      INGOT_TRY(report.models.emplace_back(), evaluate(model, request));
    } else {
      INGOT_TRY(report.models, run_eval_sweep(sweep_, model_, std::move(request)));
    }
    report.title = fmt::format("Evaluation of {}", model_.model);
    if (!json_.empty()) {
      INGOT_TRY(write_json(report, json_));
    }
    if (!html_.empty()) {
      INGOT_TRY(write_html(report, html_));
    }
    return print(without_control_characters(to_text(report)));
  }

 private:
  void add_divergence_flags(CLI::App& command) {
    constexpr const char* kGroup = "Divergence from a reference";
    command
        .add_option("--reference", reference_,
                    "The same model in full precision, run beside it on the first text")
        ->type_name("MODEL")
        ->group(kGroup);
    command
        .add_option("--kl-divergence-base", save_reference_,
                    "Save this model's logits of the first text, to compare others with")
        ->type_name("FILE")
        ->group(kGroup);
    command.add_flag("--kl-divergence", wants_kl_, "Compare with --kl-base or --reference")
        ->group(kGroup);
    command.add_option("--kl-base", kl_base_, "Logits saved by --kl-divergence-base")
        ->type_name("FILE")
        ->group(kGroup);
  }

  void add_task_flags(CLI::App& command) {
    constexpr const char* kGroup = "Tasks";
    command.add_option("--task", tasks_, task_names())->type_name("NAME")->group(kGroup);
    command
        .add_option("--data", data_,
                    "A task's file or folder; with several tasks a folder of folders named so")
        ->type_name("PATH")
        ->group(kGroup);
    command.add_option("--limit", spec_.limit, "Ask this many items (mmlu: of each subject)")
        ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
        ->type_name("N")
        ->group(kGroup);
    command.add_option("--num-fewshot", spec_.shots, "Examples before a question")
        ->check(CLI::Range(int64_t{0}, int64_t{64}))
        ->type_name("K")
        ->group(kGroup);
    command.add_option("--max-tokens", spec_.max_tokens, "The longest answer")
        ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
        ->type_name("N")
        ->group(kGroup);
    command
        .add_flag("--apply-chat-template", spec_.uses_chat,
                  "Ask for answers through the chat template (ifeval always does)")
        ->group(kGroup);
  }

  void add_output_flags(CLI::App& command) {
    constexpr const char* kGroup = "Results";
    command.add_option("--json", json_, "Write all numbers here")->type_name("FILE")->group(kGroup);
    command.add_option("--html", html_, "Write a page with plots here")
        ->type_name("FILE")
        ->group(kGroup);
    command
        .add_option("--sweep", sweep_.recipes,
                    "Quantize to each of these in turn, measure, and compare with MODEL")
        ->type_name("LIST")
        ->group(kGroup);
    command.add_option("--sweep-folder", sweep_.folder, "Where a sweep's files go")
        ->type_name("FOLDER")
        ->group(kGroup);
    command.add_flag("--keep", sweep_.keeps_files, "Keep a sweep's files")->group(kGroup);
    command
        .add_option("--calibration", sweep_.calibration.file,
                    "Text or .jsonl that a sweep calibrates on (a small built-in mix)")
        ->type_name("FILE")
        ->group(kGroup);
    command.add_option("--samples", sweep_.calibration.samples, "Windows of it, at most (128)")
        ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
        ->type_name("N")
        ->group(kGroup);
    command.add_option("--seq-len", sweep_.calibration.length, "Tokens of each (512)")
        ->check(CLI::Range(int64_t{8}, int64_t{1} << 20))
        ->type_name("N")
        ->group(kGroup);
  }

  Status check() const {
    if (texts_.empty() && tasks_.empty() && kl_base_.empty())
      return Status::invalid_argument(
          "there is nothing to measure; give --perplexity, --kl-base or --task");
    if (wants_kl_ && kl_base_.empty() && reference_.empty())
      return Status::invalid_argument("--kl-divergence needs --kl-base FILE or --reference MODEL");
    if (!kl_base_.empty() && !reference_.empty())
      return Status::invalid_argument("--kl-base and --reference exclude each other");
    if (!save_reference_.empty() && (!kl_base_.empty() || !reference_.empty()))
      return Status::invalid_argument(
          "--kl-divergence-base saves this model's logits; compare in another run");
    if ((!reference_.empty() || !save_reference_.empty()) && texts_.empty())
      return Status::invalid_argument("the text is missing; give --perplexity FILE");
    return Status::ok();
  }

  Result<EvalRequest> make_request() const {
    INGOT_TRY(EvalRequest request, make_eval_request(model_, text_));
    for (const std::string& path : texts_) {
      INGOT_TRY(EvalText text, read_eval_text(path));
      request.texts.push_back(std::move(text));
    }
    request.save_reference = save_reference_;
    if (!kl_base_.empty()) {
      INGOT_TRY(ReferenceLogits saved, ReferenceLogits::open(kl_base_));
      request.reference_file = std::make_shared<const ReferenceLogits>(std::move(saved));
      request.reference_name = kl_base_;
    }
    if (!reference_.empty()) {
      ModelFlags flags = model_;
      flags.model = reference_;
      INGOT_TRY(LoadedModel loaded, load_model(flags));
      request.reference_model = std::make_shared<const LoadedModel>(std::move(loaded));
      request.reference_name = reference_;
    }
    for (const std::string& name : tasks_) {
      TaskSpec spec = spec_;
      spec.name = name;
      if (!name.ends_with(".jsonl") && !data_.empty()) {
        // One folder for all benchmarks, each in its own.
        std::error_code ignored;
        const std::filesystem::path inside = std::filesystem::path(data_) / name;
        spec.data =
            std::filesystem::is_directory(inside, ignored) ? inside : std::filesystem::path(data_);
      }
      INGOT_TRY(load_task(spec));  // its errors come before the long work
      request.tasks.push_back(std::move(spec));
    }
    return request;
  }

  ModelFlags model_;
  EvalTextFlags text_;
  std::vector<std::string> texts_;
  std::string reference_, save_reference_, kl_base_;
  bool wants_kl_ = false;
  std::vector<std::string> tasks_;
  std::string data_;
  TaskSpec spec_;
  SweepFlags sweep_;
  std::string json_, html_;
};

}  // namespace

std::unique_ptr<Command> make_eval_command() {
  return std::make_unique<EvalCommand>();
}

}  // namespace ingot
