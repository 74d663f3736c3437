// SPDX-License-Identifier: Apache-2.0
// ingot tokenize: text in, token ids out.
#include <nlohmann/json.hpp>

#include "api/text_side.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/read_input.h"
#include "cli/token_ids.h"

namespace ingot {
namespace {

constexpr const char* kTokenizeFooter =
    R"(The text is taken byte for byte: `echo` adds a line break, `printf %s` does not.

Examples:
  ingot tokenize model.gguf --text "Hello world"
  printf %s "Hello world" | ingot tokenize tokenizer-folder --json
  ingot tokenize model.gguf --no-special < story.txt | wc -w)";

class TokenizeCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command = app.add_subcommand("tokenize", "Turn text into token ids");
    command->footer(kTokenizeFooter);
    add_model_argument(*command, model_);
    CLI::Option* text = command->add_option("--text", text_, "The text (default: standard input)")
                            ->type_name("TEXT");
    command->add_option("-f,--file", file_, "A file with the text")
        ->type_name("FILE")
        ->excludes(text);
    command->add_flag("--no-special", no_special_,
                      "Add no bos, eos or the like (the tokenizer's post-processor stays out)");
    command->add_flag("--no-parse-special", no_parse_,
                      "Text that spells a special token is plain text");
    command->add_flag("--json", json_, "Print {\"ids\": [...], \"tokens\": [...]}");
    add_log_level(*command);
    has_text_ = text;
    return command;
  }

  Status run() override {
    INGOT_TRY(const TextSide side, load_text_side(model_));
    if (side.tokenizer == nullptr) return side.tokenizer_status;
    std::string text = text_;
    if (has_text_->count() == 0) {
      INGOT_TRY(text, read_text(file_));
    }
    EncodeOptions options;
    options.add_special = !no_special_;
    options.parse_special = !no_parse_;
    INGOT_TRY(const Encoding encoding, side.tokenizer->encode_with_pieces(text, options));
    if (!json_) return print(join_token_ids(encoding.ids) + "\n");
    return print_json({{"ids", encoding.ids}, {"tokens", encoding.pieces}});
  }

 private:
  std::string model_ = "default";
  std::string text_;
  std::string file_ = "-";
  bool no_special_ = false;
  bool no_parse_ = false;
  bool json_ = false;
  const CLI::Option* has_text_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_tokenize_command() {
  return std::make_unique<TokenizeCommand>();
}

}  // namespace ingot
