// SPDX-License-Identifier: Apache-2.0
#include "api/openai_reply.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "api/token_text.h"
#include "base/utf8.h"

namespace ingot {
namespace {

constexpr double kLeastLogprob = -9999;  // JSON has no infinity; the value is vLLM's

double shown(float logprob) {
  return std::max(static_cast<double>(logprob), kLeastLogprob);
}

// Texts of tokens; each is decoded once for a reply.
class TokenNames {
 public:
  TokenNames(const Tokenizer* tokenizer, bool as_ids) : tokenizer_(tokenizer), as_ids_(as_ids) {}

  const TokenText& of(TokenId id) {
    const auto [entry, is_new] = names_.try_emplace(id);
    if (!is_new) return entry->second;
    if (tokenizer_ != nullptr) entry->second = token_text(*tokenizer_, id);
    if (as_ids_ || tokenizer_ == nullptr) entry->second.text = fmt::format("token_id:{}", id);
    return entry->second;
  }

 private:
  const Tokenizer* tokenizer_;
  bool as_ids_;
  std::unordered_map<TokenId, TokenText> names_;
};

Json chat_entry(TokenNames& names, TokenId id, float logprob) {
  const TokenText& token = names.of(id);
  Json bytes = Json::array();
  for (const char byte : token.bytes)
    bytes.push_back(static_cast<uint8_t>(byte));
  return {{"token", token.text}, {"logprob", shown(logprob)}, {"bytes", std::move(bytes)}};
}

Json chat_logprobs(TokenNames& names, const CollectedChoice& choice) {
  Json content = Json::array();
  for (const PositionLogprobs& position : choice.logprobs) {
    Json entry = chat_entry(names, position.id, position.logprob);
    Json top = Json::array();
    for (const TokenLogprob& other : position.top)
      top.push_back(chat_entry(names, other.id, other.logprob));
    entry["top_logprobs"] = std::move(top);
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

// {text: logprob} of the best and of the token itself. Of two that read alike the likelier stays.
Json top_object(TokenNames& names, const PositionLogprobs& position) {
  Json object = Json::object();
  const auto add = [&](TokenId id, float logprob) {
    const std::string& text = names.of(id).text;
    const auto found = object.find(text);
    if (found == object.end()) {
      object[text] = shown(logprob);
    } else if (found->get<double>() < shown(logprob)) {
      *found = shown(logprob);
    }
  };
  for (const TokenLogprob& other : position.top)
    add(other.id, other.logprob);
  add(position.id, position.logprob);
  return object;
}

// The four lists of /v1/completions, one entry for each echoed and each generated token.
class CompletionLogprobs {
 public:
  CompletionLogprobs(TokenNames& names, const Tokenizer* tokenizer, bool skips_special)
      : names_(names) {
    if (tokenizer != nullptr) decoder_.emplace(*tokenizer, skips_special);
  }

  void add(TokenId id, const PositionLogprobs* position) {
    tokens_.push_back(names_.of(id).text);
    logprobs_.push_back(position != nullptr ? Json(shown(position->logprob)) : Json());
    top_.push_back(position != nullptr ? top_object(names_, *position) : Json());
    offsets_.push_back(offset_);
    if (decoder_) offset_ += utf8::count(decoder_->push(id));
  }

  Json take() {
    return {{"tokens", std::move(tokens_)},
            {"token_logprobs", std::move(logprobs_)},
            {"top_logprobs", std::move(top_)},
            {"text_offset", std::move(offsets_)}};
  }

 private:
  TokenNames& names_;
  std::optional<TextDecoder> decoder_;
  size_t offset_ = 0;  // in characters
  Json tokens_ = Json::array();
  Json logprobs_ = Json::array();
  Json top_ = Json::array();
  Json offsets_ = Json::array();
};

// vLLM's shape: null, then {id: {logprob, rank, decoded_token}} for each position.
Json prompt_logprobs(TokenNames& names, const PromptReport& report) {
  Json list = Json::array();
  for (const std::optional<PositionLogprobs>& position : report.logprobs) {
    if (!position) {
      list.push_back(nullptr);
      continue;
    }
    Json object = Json::object();
    const auto add = [&](TokenId id, float logprob, Json rank) {
      object[std::to_string(id)] = {{"logprob", shown(logprob)},
                                    {"rank", std::move(rank)},
                                    {"decoded_token", names.of(id).text}};
    };
    // A token that is not among the best has a rank that nobody counted.
    add(position->id, position->logprob, nullptr);
    for (size_t i = 0; i < position->top.size(); ++i)
      add(position->top[i].id, position->top[i].logprob, i + 1);
    list.push_back(std::move(object));
  }
  return list;
}

class Reply {
 public:
  Reply(const OpenAiRequest& request, const ReplyInfo& info)
      : request_(request),
        info_(info),
        is_chat_(request.endpoint == OpenAiEndpoint::kChat),
        names_(info.tokenizer, request.tokens_as_ids) {}

  Json body(std::span<const CollectedAnswer> answers) {
    Json choices = Json::array();
    for (size_t p = 0; p < answers.size(); ++p) {
      for (const CollectedChoice& choice : answers[p].choices)
        choices.push_back(this->choice(request_.requests[p], answers[p], choice, choices.size()));
    }
    Json body = {{"id", info_.id},
                 {"object", is_chat_ ? "chat.completion" : "text_completion"},
                 {"created", info_.created},
                 {"model", info_.model},
                 {"choices", std::move(choices)},
                 {"usage", usage(answers)},
                 {"system_fingerprint", nullptr},
                 {"seed", request_.seed}};
    if (is_chat_) add_prompt(body, answers.front());
    if (!request_.warnings.empty()) body["warnings"] = request_.warnings;
    return body;
  }

 private:
  Json choice(const TextRequest& text, const CollectedAnswer& answer, const CollectedChoice& choice,
              size_t index) {
    Json object = {{"index", index}};
    const bool has_logprobs = text.sampling.logprobs.has_value();
    if (is_chat_) {
      object["message"] = {{"role", "assistant"}, {"content", choice.text}, {"refusal", nullptr}};
      object["logprobs"] = has_logprobs ? chat_logprobs(names_, choice) : Json();
    } else {
      object["text"] = (request_.echoes ? prompt_text(text, answer) : "") + choice.text;
      object["logprobs"] = has_logprobs ? completion_logprobs(text, answer, choice) : Json();
    }
    object["finish_reason"] = std::string(to_string(choice.reason));
    if (request_.returns_token_ids) object["token_ids"] = choice.ids;
    if (!is_chat_) add_prompt(object, answer);
    return object;
  }

  // The prompt's ids and log-probabilities: vLLM tells them per choice, and of a chat in the body.
  void add_prompt(Json& object, const CollectedAnswer& answer) {
    if (request_.returns_token_ids) object["prompt_token_ids"] = answer.prompt_ids;
    if (!request_.hides_prompt_logprobs && answer.report != nullptr)
      object["prompt_logprobs"] = prompt_logprobs(names_, *answer.report);
  }

  std::string prompt_text(const TextRequest& text, const CollectedAnswer& answer) const {
    if (!answer.prompt.empty() || info_.tokenizer == nullptr) return answer.prompt;
    return info_.tokenizer->decode(answer.prompt_ids, text.skip_special);
  }

  Json completion_logprobs(const TextRequest& text, const CollectedAnswer& answer,
                           const CollectedChoice& choice) {
    CompletionLogprobs lists(names_, info_.tokenizer, text.skip_special);
    if (request_.echoes) {
      const size_t scored = answer.report != nullptr ? answer.report->logprobs.size() : 0;
      for (size_t i = 0; i < answer.prompt_ids.size(); ++i) {
        const bool has_score = i < scored && answer.report->logprobs[i].has_value();
        lists.add(answer.prompt_ids[i], has_score ? &*answer.report->logprobs[i] : nullptr);
      }
    }
    for (size_t i = 0; i < choice.ids.size(); ++i)
      lists.add(choice.ids[i], i < choice.logprobs.size() ? &choice.logprobs[i] : nullptr);
    return lists.take();
  }

  static Json usage(std::span<const CollectedAnswer> answers) {
    int64_t prompt = 0;
    int64_t reused = 0;
    int64_t generated = 0;
    for (const CollectedAnswer& answer : answers) {
      prompt += static_cast<int64_t>(answer.prompt_ids.size());
      if (answer.report != nullptr) reused += answer.report->reused_tokens;
      for (const CollectedChoice& choice : answer.choices)
        generated += static_cast<int64_t>(choice.ids.size());
    }
    return {{"prompt_tokens", prompt},
            {"completion_tokens", generated},
            {"total_tokens", prompt + generated},
            {"prompt_tokens_details", {{"cached_tokens", reused}}}};
  }

  const OpenAiRequest& request_;
  const ReplyInfo& info_;
  const bool is_chat_;
  TokenNames names_;
};

}  // namespace

Json openai_reply(const OpenAiRequest& request, std::span<const CollectedAnswer> answers,
                  const ReplyInfo& info) {
  return Reply(request, info).body(answers);
}

}  // namespace ingot
