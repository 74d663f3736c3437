// SPDX-License-Identifier: Apache-2.0
// ingot perplexity: how well a model predicts a text. The same measurement as `ingot eval
// --perplexity`, in one line.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/eval_flags.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "eval/evaluate.h"

namespace ingot {
namespace {

constexpr const char* kPerplexityFooter =
    R"(The text is cut into chunks of --ctx-size tokens (512), each begins with bos where the model has one,
and the second half of each is scored: the numbers compare with llama-perplexity's. Spelled-out
special tokens count as plain text, as they do there. --window-all scores every token of windows of
bos + N-1 tokens instead.

Examples:
  ingot perplexity model.gguf --file wiki.test.raw
  ingot perplexity model.gguf --file stories.txt -c 1024 --window-all --json)";

class PerplexityCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command =
        app.add_subcommand("perplexity", "Measure how well a model predicts a text");
    command->footer(kPerplexityFooter);
    add_model_flags(*command, model_);
    command->add_option("-f,--file", file_, "The text; - is standard input")
        ->required()
        ->type_name("FILE");
    add_text_flags(*command, text_);
    command->add_flag("--window-all", is_whole_,
                      "Windows of bos + N-1 tokens, every one of them scored");
    command->add_flag("--json", json_, "Print one object");
    return command;
  }

  Status run() override {
    if (is_whole_) text_.protocol = "windows";
    INGOT_TRY(EvalRequest request, make_eval_request(model_, text_));
    INGOT_TRY(request.texts.emplace_back(), read_eval_text(file_));
    INGOT_TRY(const LoadedModel model, load_model(model_));
    const InterruptScope interrupt;
    EvalProgressBar bar;
    request.progress = [&bar](std::string_view label, double fraction) {
      return bar.update(label, fraction);
    };
    INGOT_TRY(const EvaluatedModel found, evaluate(model, request));
    return report(found.perplexities.front());
  }

 private:
  Status report(const PerplexityEntry& entry) const {
    const PerplexityResult& result = entry.result;
    if (!json_) {
      return print(fmt::format(
          "perplexity: {:.4f} +/- {:.5f} ({} tokens scored in {} chunks of {})\n",
          result.perplexity, result.standard_error, result.tokens, result.windows, entry.context));
    }
    const char* protocol = is_whole_ ? "window-all" : entry.stride > 0 ? "stride" : "chunks";
    return print_json({{"perplexity", result.perplexity},
                       {"standard_error", result.standard_error},
                       {"mean_nll", result.mean_nll},
                       {"tokens", result.tokens},
                       {"chunks", result.windows},
                       {"context", entry.context},
                       {"protocol", protocol}});
  }

  ModelFlags model_;
  EvalTextFlags text_;
  std::string file_;
  bool is_whole_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_perplexity_command() {
  return std::make_unique<PerplexityCommand>();
}

}  // namespace ingot
