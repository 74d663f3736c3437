// SPDX-License-Identifier: Apache-2.0
// ingot template: messages in, the prompt that a model's chat template makes of them out.
#include <nlohmann/json.hpp>

#include "api/text_side.h"
#include "base/mapped_file.h"
#include "cli/command.h"
#include "cli/iso_time.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/read_input.h"
#include "tokenizer/chat_template.h"

namespace ingot {
namespace {

constexpr const char* kTemplateFooter =
    R"(The prompt is printed exactly, with no line break of its own. Exit code 1: the template refuses
these messages; 2: anything else went wrong.

Examples:
  echo '[{"role": "user", "content": "Hi"}]' | ingot template model.gguf --messages -
  ingot template folder --messages chat.json --tools tools.json --kwargs '{"enable_thinking": false}'
  ingot template --chat-template mine.jinja --messages chat.json --bos '<s>' --eos '</s>')";

// What goes wrong while a sound template looks at these messages is its refusal (a missing field, a
// list where it wants text); running out of fuel is the template's own fault.
Status as_refusal(const Status& status) {
  if (status.code() != StatusCode::kInvalidData) return status;
  return {StatusCode::kRefused, status.message()};
}

class TemplateCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command =
        app.add_subcommand("template", "Render messages with a model's chat template");
    command->footer(kTemplateFooter);
    add_model_argument(*command, model_);
    command
        ->add_option("-m,--messages", messages_,
                     "JSON: an array of messages, or an object with \"messages\" (and \"tools\"); "
                     "- is standard input")
        ->required()
        ->type_name("FILE");
    command->add_option("--tools", tools_, "JSON array of tools")->type_name("FILE");
    command->add_option("--kwargs", kwargs_, "Further variables for the template, a JSON object")
        ->type_name("JSON");
    custom_ =
        command
            ->add_option("--chat-template", template_, "Use this Jinja file instead of the model's")
            ->type_name("FILE");
    command->add_flag("--no-generation-prompt", no_generation_prompt_,
                      "Do not open the assistant's turn at the end");
    bos_ = command->add_option("--bos", bos_token_, "What bos_token is (default: the model's)")
               ->type_name("STR");
    eos_ = command->add_option("--eos", eos_token_, "What eos_token is (default: the model's)")
               ->type_name("STR");
    command->add_option("--now", now_, "The time a template sees, e.g. 2024-07-26T12:34:56")
        ->type_name("ISO-TIME");
    add_log_level(*command);
    return command;
  }

  Status run() override {
    ChatInput input;
    INGOT_TRY(read_messages(input));
    INGOT_TRY(const ChatTemplate chat_template, find_template(input));
    if (bos_->count() > 0) input.bos_token = bos_token_;
    if (eos_->count() > 0) input.eos_token = eos_token_;
    input.add_generation_prompt = !no_generation_prompt_;
    const Result<std::string> prompt = chat_template.render(input);
    return prompt.is_ok() ? print(*prompt) : as_refusal(prompt.status());
  }

 private:
  Status read_messages(ChatInput& input) const {
    INGOT_TRY(Json document, read_json(messages_));
    if (document.is_object()) {
      if (document.contains("tools")) input.tools = document["tools"];
      document = document.contains("messages") ? Json(document["messages"]) : Json();
    }
    if (!document.is_array())
      return Status::invalid_data("{}: not an array of messages", messages_);
    input.messages = std::move(document);
    if (!tools_.empty()) {
      INGOT_TRY(input.tools, read_json(tools_));
    }
    if (!input.tools.is_null() && !input.tools.is_array())
      return Status::invalid_data("{}: not an array of tools", tools_.empty() ? messages_ : tools_);
    if (!kwargs_.empty()) {
      INGOT_TRY(input.kwargs, parse_json(kwargs_, "--kwargs"));
      if (!input.kwargs.is_object()) return Status::invalid_argument("--kwargs: not a JSON object");
    }
    if (!now_.empty()) {
      INGOT_TRY(input.now, parse_iso_time(now_));
    }
    return Status::ok();
  }

  // Also fills in what the model calls bos and eos. With a template of one's own the model may be
  // anything, or nothing.
  Result<ChatTemplate> find_template(ChatInput& input) const {
    const bool is_custom = custom_->count() > 0;
    const Result<TextSide> side = load_text_side(model_, !input.tools.is_null());
    if (!side.is_ok() && !is_custom) return side.status();
    if (side.is_ok() && (!is_custom || model_ != "default")) {
      input.bos_token = side->bos_token;
      input.eos_token = side->eos_token;
    }
    if (is_custom) {
      INGOT_TRY(std::string source, read_text(template_));
      return ChatTemplate::parse(std::move(source), template_);
    }
    if (!side->chat_template) return side->template_status;
    return ChatTemplate::parse(side->chat_template->text, side->chat_template->origin);
  }

  std::string model_ = "default";
  std::string messages_, tools_, kwargs_, template_, bos_token_, eos_token_, now_;
  bool no_generation_prompt_ = false;
  const CLI::Option *custom_ = nullptr, *bos_ = nullptr, *eos_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_template_command() {
  return std::make_unique<TemplateCommand>();
}

}  // namespace ingot
