// SPDX-License-Identifier: Apache-2.0
// ingot perplexity: how well a model predicts a text, by the protocol of llama-perplexity.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/progress_bar.h"
#include "cli/read_input.h"
#include "eval/perplexity.h"

namespace ingot {
namespace {

constexpr const char* kFooter =
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
    command->footer(kFooter);
    add_model_flags(*command, model_);
    command->add_option("-f,--file", file_, "The text; - is standard input")
        ->required()
        ->type_name("FILE");
    command
        ->add_option("--stride", options_.stride,
                     "Slide windows by this many tokens, scoring only those (0: chunks)")
        ->type_name("N");
    command->add_flag("--window-all", options_.scores_all,
                      "Windows of bos + N-1 tokens, every one of them scored");
    command->add_option("--chunks", options_.max_chunks, "Stop after this many (-1: all)")
        ->check(CLI::Range(int64_t{-1}, int64_t{1} << 40))
        ->type_name("N");
    command->add_flag("--json", json_, "Print one object");
    return command;
  }

  Status run() override {
    INGOT_TRY(const std::string text, read_text(file_));
    INGOT_TRY(const LoadedModel model, load_model(model_));
    if (model.text.tokenizer == nullptr) return model.text.tokenizer_status;
    const Tokenizer& tokenizer = *model.text.tokenizer;
    if (model_.context > 0) options_.context = model_.context;
    INGOT_TRY(options_.adds_bos, begins_with_bos(tokenizer));
    options_.bos = tokenizer.special().bos.value_or(-1);

    EncodeOptions encoding;
    encoding.add_special = !options_.scores_all;
    encoding.parse_special = options_.scores_all;
    INGOT_TRY(const std::vector<TokenId> ids, tokenizer.encode(text, encoding));
    INGOT_TRY(const std::unique_ptr<Solo> solo, start_solo(model, model_, options_.context));
    INGOT_TRY(const PerplexityResult result, measure(*solo, ids));
    return report(result);
  }

 private:
  // Whether the tokenizer itself puts a bos in front of a text.
  static Result<bool> begins_with_bos(const Tokenizer& tokenizer) {
    INGOT_TRY(const std::vector<TokenId> ids, tokenizer.encode(""));
    const std::optional<TokenId> bos = tokenizer.special().bos;
    return bos && !ids.empty() && ids.front() == *bos;
  }

  Result<PerplexityResult> measure(Solo& solo, std::span<const TokenId> ids) const {
    ProgressBar bar("Perplexity");
    return perplexity(solo, ids, options_, [&bar](const ChunkReport& report) {
      bar.set_label(
          fmt::format("{}/{} perplexity {:.4f}", report.chunk, report.chunks, report.perplexity));
      bar.update(static_cast<double>(report.chunk) / static_cast<double>(report.chunks));
    });
  }

  Status report(const PerplexityResult& result) const {
    if (!json_) {
      return print(
          fmt::format("perplexity: {:.4f} +/- {:.5f} ({} tokens scored in {} chunks of {})\n",
                      result.perplexity, result.standard_error, result.tokens, result.chunks,
                      options_.context));
    }
    const char* protocol = options_.scores_all   ? "window-all"
                           : options_.stride > 0 ? "stride"
                                                 : "chunks";
    return print_json({{"perplexity", result.perplexity},
                       {"standard_error", result.standard_error},
                       {"mean_nll", result.mean_nll},
                       {"tokens", result.tokens},
                       {"chunks", result.chunks},
                       {"context", options_.context},
                       {"protocol", protocol}});
  }

  ModelFlags model_;
  PerplexityOptions options_;
  std::string file_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_perplexity_command() {
  return std::make_unique<PerplexityCommand>();
}

}  // namespace ingot
