// SPDX-License-Identifier: Apache-2.0
#include "bench/serve_prompt.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

namespace ingot {
namespace {

// Short and common, so that most vocabularies have each as one token.
constexpr auto kWords = std::to_array<std::string_view>(
    {"the",   "of",   "and",  "to",    "in",    "is",    "that",  "for",   "it",    "as",
     "was",   "with", "be",   "by",    "on",    "not",   "he",    "his",   "but",   "at",
     "are",   "this", "have", "from",  "or",    "had",   "an",    "they",  "which", "one",
     "you",   "were", "all",  "her",   "she",   "there", "would", "their", "we",    "him",
     "been",  "has",  "when", "who",   "will",  "no",    "more",  "if",    "out",   "so",
     "up",    "said", "what", "its",   "about", "than",  "into",  "them",  "can",   "only",
     "other", "time", "new",  "some",  "could", "these", "two",   "may",   "first", "then",
     "do",    "any",  "like", "my",    "now",   "over",  "such",  "our",   "man",   "me",
     "even",  "most", "made", "after", "also",  "well",  "did",   "many",  "where", "must",
     "years", "way",  "back", "too",   "good",  "day",   "work",  "life",  "world", "place"});

// The words that stand for these ids: about as many tokens as there are ids, and one word at least.
std::string text_of(const RequestForm& form, const TokenId* ids, size_t count) {
  if (count == 0) return {};
  const auto words =
      static_cast<size_t>(std::llround(static_cast<double>(count) / form.tokens_per_word));
  return words_of(ids, std::clamp<size_t>(words, 1, count));
}

Json ids_of(const RequestForm& form, const Turn& turn) {
  Json ids = Json::array();
  for (const TokenId id : turn.text)
    ids.push_back(form.first_id + id);
  return ids;
}

std::string text_of(const RequestForm& form, const Conversation& conversation,
                    const std::vector<std::string>& answers) {
  std::string text;
  const auto say = [&](const std::string& words) {
    if (!text.empty() && !words.empty()) text += ' ';
    text += words;
  };
  for (size_t i = 0; i <= answers.size(); ++i) {
    const Turn& turn = conversation.turns[i];
    say(text_of(form, turn.text.data(), turn.prefix_tokens));
    say(text_of(form, turn.text.data() + turn.prefix_tokens,
                turn.text.size() - turn.prefix_tokens));
    if (i < answers.size()) text += answers[i];
  }
  return text;
}

Json messages_of(const RequestForm& form, const Conversation& conversation,
                 const std::vector<std::string>& answers) {
  Json messages = Json::array();
  const auto say = [&](const char* role, std::string words) {
    messages.push_back({{"role", role}, {"content", std::move(words)}});
  };
  for (size_t i = 0; i <= answers.size(); ++i) {
    const Turn& turn = conversation.turns[i];
    if (turn.prefix_tokens > 0) say("system", text_of(form, turn.text.data(), turn.prefix_tokens));
    say("user", text_of(form, turn.text.data() + turn.prefix_tokens,
                        turn.text.size() - turn.prefix_tokens));
    if (i < answers.size()) say("assistant", answers[i]);
  }
  return messages;
}

}  // namespace

std::string words_of(const TokenId* ids, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) text += ' ';
    text += kWords[static_cast<size_t>(ids[i]) % kWords.size()];
  }
  return text;
}

std::string body_of(const RequestForm& form, const Conversation& conversation,
                    const std::vector<std::string>& answers) {
  const int64_t tokens = conversation.turns[answers.size()].answer_tokens;
  Json body = {{"model", form.model}, {"max_tokens", tokens}, {"temperature", 0}, {"stream", true}};
  switch (form.form) {
    case PromptForm::kIds:
      body["prompt"] = ids_of(form, conversation.turns[answers.size()]);
      break;
    case PromptForm::kText:
      body["prompt"] = text_of(form, conversation, answers);
      break;
    case PromptForm::kMessages:
      body["messages"] = messages_of(form, conversation, answers);
      break;
  }
  if (form.sends_usage) body["stream_options"] = {{"include_usage", true}};
  if (form.sends_ignore_eos) body["ignore_eos"] = true;
  if (form.sends_min_tokens) body["min_tokens"] = tokens;
  if (form.extra != nullptr) body.merge_patch(*form.extra);
  return dump_json(body);
}

}  // namespace ingot
