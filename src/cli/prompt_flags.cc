// SPDX-License-Identifier: Apache-2.0
#include "cli/prompt_flags.h"

#include <nlohmann/json.hpp>

#include "api/render_prompt.h"
#include "cli/read_input.h"
#include "cli/token_ids.h"

namespace ingot {
namespace {

Result<std::string> apply_template(const PromptFlags& flags, const TextSide& text,
                                   std::string message) {
  Json messages = Json::array();
  if (!flags.system.empty()) messages.push_back({{"role", "system"}, {"content", flags.system}});
  messages.push_back({{"role", "user"}, {"content", std::move(message)}});
  if (!text.chat_template) return text.template_status;
  INGOT_TRY(const ChatTemplate chat_template,
            ChatTemplate::parse(text.chat_template->text, text.chat_template->origin));
  return render_chat(&chat_template, text, messages);
}

}  // namespace

void add_prompt_flags(CLI::App& command, PromptFlags& flags) {
  constexpr const char* kGroup = "Prompt";
  CLI::Option* prompt =
      command.add_option("-p,--prompt", flags.prompt, "The prompt (default: standard input)")
          ->type_name("TEXT")
          ->group(kGroup);
  CLI::Option* file = command.add_option("-f,--file", flags.file, "A file with the prompt")
                          ->type_name("FILE")
                          ->group(kGroup)
                          ->excludes(prompt);
  flags.prompt_option = prompt;
  flags.ids_option =
      command.add_option("--prompt-ids", flags.ids, "Token ids instead of text: 1,5,9")
          ->type_name("IDS")
          ->group(kGroup)
          ->excludes(prompt)
          ->excludes(file);
  command
      .add_flag("--chat", flags.uses_chat,
                "The prompt is a user's message: apply the chat template")
      ->group(kGroup);
  command.add_option("--system", flags.system, "System message, with --chat")
      ->type_name("TEXT")
      ->group(kGroup);
  command
      .add_flag("--no-special", flags.no_special, "Do not let the tokenizer add bos or the like")
      ->group(kGroup);
}

Result<std::vector<TokenId>> read_prompt(const PromptFlags& flags, const TextSide& text) {
  if (flags.ids_option->count() > 0) return parse_token_ids(flags.ids, "--prompt-ids");
  if (text.tokenizer == nullptr)
    return text.tokenizer_status.with_context("text needs a tokenizer (or give --prompt-ids)");
  std::string prompt = flags.prompt;
  if (flags.prompt_option->count() == 0) {
    INGOT_TRY(prompt, read_text(flags.file));
  }
  EncodeOptions options;
  options.add_special = !flags.no_special && !flags.uses_chat;  // a template writes its own bos
  if (flags.uses_chat) {
    INGOT_TRY(prompt, apply_template(flags, text, std::move(prompt)));
  }
  return text.tokenizer->encode(prompt, options);
}

}  // namespace ingot
