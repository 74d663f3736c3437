// SPDX-License-Identifier: Apache-2.0
#include "api/openai_logprobs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/completion_logprobs.h"
#include "base/utf8.h"

namespace ingot {
namespace {

double shown(float logprob) {
  return std::max(static_cast<double>(logprob), kLeastLogprob);
}

Json chat_entry(TokenNames& names, TokenId id, float logprob) {
  const TokenText& token = names.of(id);
  Json bytes = Json::array();
  for (const char byte : token.bytes)
    bytes.push_back(static_cast<uint8_t>(byte));
  return {{"token", token.text}, {"logprob", shown(logprob)}, {"bytes", std::move(bytes)}};
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

}  // namespace

const TokenText& TokenNames::of(TokenId id) {
  const auto [entry, is_new] = names_.try_emplace(id);
  if (!is_new) return entry->second;
  if (tokenizer_ != nullptr) entry->second = token_text(*tokenizer_, id);
  if (as_ids_ || tokenizer_ == nullptr) entry->second.text = fmt::format("token_id:{}", id);
  return entry->second;
}

Json chat_logprobs(TokenNames& names, std::span<const PositionLogprobs> positions) {
  Json content = Json::array();
  for (const PositionLogprobs& position : positions) {
    Json entry = chat_entry(names, position.id, position.logprob);
    Json top = Json::array();
    for (const TokenLogprob& other : position.top)
      top.push_back(chat_entry(names, other.id, other.logprob));
    entry["top_logprobs"] = std::move(top);
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

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

CompletionLogprobs::CompletionLogprobs(TokenNames& names, const Tokenizer* tokenizer,
                                       bool skips_special)
    : names_(&names) {
  if (tokenizer != nullptr) decoder_.emplace(*tokenizer, skips_special);
}

void CompletionLogprobs::add(TokenId id, const PositionLogprobs* position) {
  tokens_.push_back(names_->of(id).text);
  logprobs_.push_back(position != nullptr ? Json(shown(position->logprob)) : Json());
  top_.push_back(position != nullptr ? top_object(*names_, *position) : Json());
  offsets_.push_back(offset_);
  if (decoder_) offset_ += utf8::count(decoder_->push(id));
}

void CompletionLogprobs::add_prompt(std::span<const TokenId> ids, const PromptReport* report) {
  const size_t scored = report != nullptr ? report->logprobs.size() : 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const bool has_score = i < scored && report->logprobs[i].has_value();
    add(ids[i], has_score ? &*report->logprobs[i] : nullptr);
  }
}

Json CompletionLogprobs::take() {
  return {{"tokens", std::exchange(tokens_, Json::array())},
          {"token_logprobs", std::exchange(logprobs_, Json::array())},
          {"top_logprobs", std::exchange(top_, Json::array())},
          {"text_offset", std::exchange(offsets_, Json::array())}};
}

}  // namespace ingot
