// SPDX-License-Identifier: Apache-2.0
#include "api/openai_reply.h"

#include <nlohmann/json.hpp>

#include "api/completion_logprobs.h"
#include "api/openai_logprobs.h"

namespace ingot {
namespace {

Json message(const CollectedChoice& choice) {
  Json message = {{"role", "assistant"}, {"content", choice.text}, {"refusal", nullptr}};
  if (!choice.reasoning.empty()) {  // clients read one name or the other
    message["reasoning_content"] = choice.reasoning;
    message["reasoning"] = choice.reasoning;
  }
  if (choice.calls.empty()) return message;
  if (choice.text.empty()) message["content"] = nullptr;
  Json& calls = message["tool_calls"] = Json::array();
  for (const CollectedCall& call : choice.calls) {
    calls.push_back({{"id", call.id},
                     {"type", "function"},
                     {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  return message;
}

class Reply {
 public:
  Reply(const OpenAiRequest& request, const ReplyInfo& info)
      : request_(request),
        info_(info),
        is_chat_(request.endpoint == OpenAiEndpoint::kChat),
        names_(info.tokenizer, request.tokens_as_ids) {}

  Json body(std::span<const CollectedAnswer> answers, const AnswerCounts& counts) {
    Json choices = Json::array();
    for (size_t p = 0; p < answers.size(); ++p) {
      for (const CollectedChoice& choice : answers[p].choices)
        choices.push_back(this->choice(p, answers[p], choice, choices.size()));
    }
    Json body = {{"id", info_.id},
                 {"object", is_chat_ ? "chat.completion" : "text_completion"},
                 {"created", info_.created},
                 {"model", info_.model},
                 {"choices", std::move(choices)},
                 {"usage", usage_json(counts)},
                 {"timings", timings_json(counts)},
                 {"system_fingerprint", nullptr},
                 {"seed", request_.seed}};
    if (is_chat_) add_prompt(body, 0, answers.front());
    if (!request_.warnings.empty()) body["warnings"] = request_.warnings;
    return body;
  }

 private:
  Json choice(size_t prompt, const CollectedAnswer& answer, const CollectedChoice& choice,
              size_t index) {
    Json object = {{"index", index}};
    const bool has_logprobs = request_.requests[prompt].sampling.logprobs.has_value();
    if (is_chat_) {
      object["message"] = message(choice);
      object["logprobs"] = has_logprobs ? chat_logprobs(names_, choice.logprobs) : Json();
    } else {
      const bool echoes = request_.echoes;
      object["text"] =
          (echoes ? echoed_prompt(request_, prompt, info_.tokenizer) : "") + choice.text;
      object["logprobs"] = has_logprobs ? completion_logprobs(prompt, answer, choice) : Json();
    }
    object["finish_reason"] = openai_finish_reason(choice.reason, !choice.calls.empty());
    if (request_.returns_token_ids) object["token_ids"] = choice.ids;
    if (!is_chat_) add_prompt(object, prompt, answer);
    return object;
  }

  // The prompt's ids and log-probabilities: vLLM tells them per choice, and of a chat in the body.
  void add_prompt(Json& object, size_t prompt, const CollectedAnswer& answer) {
    if (request_.returns_token_ids)
      object["prompt_token_ids"] = request_.requests[prompt].prompt_ids;
    if (!request_.hides_prompt_logprobs && answer.report != nullptr)
      object["prompt_logprobs"] = prompt_logprobs(names_, *answer.report);
  }

  Json completion_logprobs(size_t prompt, const CollectedAnswer& answer,
                           const CollectedChoice& choice) {
    const TextRequest& text = request_.requests[prompt];
    CompletionLogprobs lists(names_, info_.tokenizer, text.skip_special);
    if (request_.echoes) lists.add_prompt(text.prompt_ids, answer.report.get());
    for (size_t i = 0; i < choice.ids.size(); ++i)
      lists.add(choice.ids[i], i < choice.logprobs.size() ? &choice.logprobs[i] : nullptr);
    return lists.take();
  }

  const OpenAiRequest& request_;
  const ReplyInfo& info_;
  const bool is_chat_;
  TokenNames names_;
};

}  // namespace

std::string echoed_prompt(const OpenAiRequest& request, size_t prompt, const Tokenizer* tokenizer) {
  const std::string& given = request.prompt_texts[prompt];
  if (!given.empty() || tokenizer == nullptr) return given;
  const TextRequest& text = request.requests[prompt];
  return tokenizer->decode(text.prompt_ids, text.skip_special);
}

std::string_view openai_finish_reason(FinishReason reason, bool has_calls) {
  if (reason == FinishReason::kLength) return "length";
  return has_calls ? "tool_calls" : "stop";
}

Json openai_reply(const OpenAiRequest& request, std::span<const CollectedAnswer> answers,
                  const AnswerCounts& counts, const ReplyInfo& info) {
  return Reply(request, info).body(answers, counts);
}

}  // namespace ingot
