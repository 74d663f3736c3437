// SPDX-License-Identifier: Apache-2.0
// ingot detokenize: token ids in, exactly their text out.
#include <nlohmann/json.hpp>

#include "api/text_side.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/read_input.h"
#include "cli/token_ids.h"

namespace ingot {
namespace {

constexpr const char* kDetokenizeFooter =
    R"(Ids stand on the command line or on standard input, separated by spaces or commas, as a JSON
array, or as the object that `tokenize --json` prints. The text is printed with no line break of
its own.

Examples:
  ingot detokenize model.gguf 1 3911 1314
  ingot tokenize model.gguf --json < a.txt | ingot detokenize model.gguf --no-special)";

class DetokenizeCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command = app.add_subcommand("detokenize", "Turn token ids into text");
    command->footer(kDetokenizeFooter);
    add_model_argument(*command, model_);
    command->add_option("IDS", words_, "Token ids (default: standard input)")->type_name("");
    command->add_option("--ids", ids_, "Token ids as one argument: 1,5,9")->type_name("IDS");
    command->add_flag("--no-special", no_special_, "Leave special tokens out of the text");
    command->add_flag("--json", json_, "Print {\"text\": ..., \"ids\": [...], \"tokens\": [...]}");
    add_log_level(*command);
    return command;
  }

  Status run() override {
    INGOT_TRY(const TextSide side, load_text_side(model_));
    if (side.tokenizer == nullptr) return side.tokenizer_status;
    std::string source = "--ids";
    std::string list = ids_;
    for (const std::string& word : words_) {
      source = "IDS";
      list += " " + word;
    }
    if (list.empty()) {
      source = "standard input";
      INGOT_TRY(list, read_stdin());
    }
    INGOT_TRY(const std::vector<TokenId> ids, parse_token_ids(list, source));
    const std::string text = side.tokenizer->decode(ids, no_special_);
    if (!json_) return print(text);
    Json tokens = Json::array();
    for (const TokenId id : ids)
      tokens.push_back(std::string(side.tokenizer->piece(id)));
    return print_json({{"text", text}, {"ids", ids}, {"tokens", std::move(tokens)}});
  }

 private:
  std::string model_ = "default";
  std::vector<std::string> words_;
  std::string ids_;
  bool no_special_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_detokenize_command() {
  return std::make_unique<DetokenizeCommand>();
}

}  // namespace ingot
