// SPDX-License-Identifier: Apache-2.0
// An event is written by hand around a head that is the same for all: a token costs a few hundred
// nanoseconds, and a tree of JSON is built only for log-probabilities.
#include "api/openai_stream.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "api/answer_counts.h"
#include "api/answer_splitter.h"
#include "api/completion_logprobs.h"
#include "api/json_text.h"
#include "api/openai_delta.h"
#include "api/openai_logprobs.h"

namespace ingot {
namespace {

void append_error(const OpenAiError& error, std::string& out) {
  out += "data: " + dump_json(error_body(error)) + "\n\n";
}

// One answer on its way out.
struct Choice {
  bool has_begun = false;                       // an event has told of it
  std::vector<TokenId> ids = {};                // not told yet, when asked for
  std::vector<PositionLogprobs> logprobs = {};  // not told yet; of a chat
  std::optional<CompletionLogprobs> lists = {};
  std::optional<AnswerSplitter> splitter = {};  // none: the text is content
  int64_t reasoning_tokens = 0;                 // counted so far
};

class StreamWriter final : public AnswerWriter {
 public:
  StreamWriter(const OpenAiRequest& request, ReplyInfo info);

  bool streams() const override { return true; }
  std::string_view content_type() const override { return "text/event-stream"; }
  void begin(std::string& /*out*/) override {}
  void take(size_t prompt, TextEvent event, std::string& out) override;
  void end(const Status& status, std::string& out) override;
  std::optional<OpenAiError> broken_off() const override { return broken_off_; }
  std::string fail(const OpenAiError& error) const override;

 private:
  void keep_token(size_t prompt, Choice& choice, TextEvent& event);
  CompletionLogprobs& lists_of(size_t prompt, Choice& choice);
  ChatDelta delta_of(Choice& choice, TextEvent& event);
  void append_event(size_t prompt, const TextEvent& event, const ChatDelta& delta,
                    std::string& out);
  void append_logprobs(size_t prompt, Choice& choice, std::string& out);
  void append_prompt(size_t prompt, std::string& out);
  void append_tail(std::string& out) const;  // what follows the list of choices

  const OpenAiRequest& request_;
  const ReplyInfo info_;
  const bool is_chat_;
  const size_t n_;  // answers to each prompt
  TokenNames names_;
  std::string head_;  // of every event, up to the list of choices
  std::vector<Choice> choices_;
  std::vector<std::shared_ptr<const PromptReport>> reports_;  // [prompt]
  AnswerCounts counts_;
  size_t open_;  // choices that are not over
  bool has_begun_ = false;
  std::optional<OpenAiError> broken_off_;
};

StreamWriter::StreamWriter(const OpenAiRequest& request, ReplyInfo info)
    : request_(request),
      info_(std::move(info)),
      is_chat_(request.endpoint == OpenAiEndpoint::kChat),
      n_(static_cast<size_t>(request.requests.front().n)),
      names_(info_.tokenizer, request.tokens_as_ids),
      choices_(request.requests.size() * n_),
      reports_(request.requests.size()),
      open_(choices_.size()) {
  head_ = R"(data: {"id":)";
  append_json_string(head_, info_.id);
  head_ += is_chat_ ? R"(,"object":"chat.completion.chunk","created":)"
                    : R"(,"object":"text_completion","created":)";
  append_json_integer(head_, info_.created);
  head_ += R"(,"model":)";
  append_json_string(head_, info_.model);
  head_ += R"(,"system_fingerprint":null,"choices":[)";
  for (const TextRequest& text : request.requests)
    counts_.prompt_tokens += static_cast<int64_t>(text.prompt_ids.size());
  if (!request.format.is_plain()) {
    for (Choice& choice : choices_)
      choice.splitter.emplace(request.format, info_.tokenizer, false);
  }
}

void StreamWriter::take(size_t prompt, TextEvent event, std::string& out) {
  counts_.take(event);
  if (event.kind == TextEvent::Kind::kPrompt) {
    reports_[prompt] = std::move(event.prompt);
    return;
  }
  Choice& choice = choices_[prompt * n_ + static_cast<size_t>(event.choice)];
  if (event.kind == TextEvent::Kind::kToken) {
    keep_token(prompt, choice, event);
    const ChatDelta delta = delta_of(choice, event);
    // A token that says nothing yet is told with the next one that does.
    if (!delta.is_empty()) append_event(prompt, event, delta, out);
    return;
  }
  const ChatDelta delta = delta_of(choice, event);
  --open_;
  if (std::optional<OpenAiError> error = broken_off_error(event.reason)) {
    if (!broken_off_) broken_off_ = std::move(error);
    if (delta.is_empty()) return;
  }
  append_event(prompt, event, delta, out);
}

ChatDelta StreamWriter::delta_of(Choice& choice, TextEvent& event) {
  if (!choice.splitter) return ChatDelta(std::move(event.text));
  std::vector<AnswerPiece> pieces;
  choice.splitter->take(event, pieces);
  const int64_t counted =
      std::exchange(choice.reasoning_tokens, choice.splitter->reasoning_tokens());
  counts_.reasoning_tokens += choice.reasoning_tokens - counted;
  return ChatDelta(std::move(pieces));
}

void StreamWriter::keep_token(size_t prompt, Choice& choice, TextEvent& event) {
  if (request_.returns_token_ids) choice.ids.push_back(event.id);
  if (!event.logprobs) return;
  if (is_chat_) {
    choice.logprobs.push_back(*std::move(event.logprobs));
  } else {
    lists_of(prompt, choice).add(event.id, &*event.logprobs);
  }
}

CompletionLogprobs& StreamWriter::lists_of(size_t prompt, Choice& choice) {
  if (choice.lists) return *choice.lists;
  const TextRequest& text = request_.requests[prompt];
  choice.lists.emplace(names_, info_.tokenizer, text.skip_special);
  if (request_.echoes) choice.lists->add_prompt(text.prompt_ids, reports_[prompt].get());
  return *choice.lists;
}

void StreamWriter::append_event(size_t prompt, const TextEvent& event, const ChatDelta& delta,
                                std::string& out) {
  const size_t index = prompt * n_ + static_cast<size_t>(event.choice);
  Choice& choice = choices_[index];
  out += head_;
  out += R"({"index":)";
  append_json_integer(out, static_cast<int64_t>(index));
  if (is_chat_) {
    out += R"(,"delta":)";
    append_chat_delta(out, delta, !choice.has_begun);
  } else {
    out += R"(,"text":")";
    if (request_.echoes && !choice.has_begun)
      append_json_escaped(out, echoed_prompt(request_, prompt, info_.tokenizer));
    append_json_escaped(out, delta.content);
    out += '"';
  }
  append_logprobs(prompt, choice, out);
  out += R"(,"finish_reason":)";
  if (event.kind != TextEvent::Kind::kFinish || broken_off_error(event.reason)) {
    out += "null";
  } else {
    append_json_string(
        out, openai_finish_reason(event.reason, choice.splitter && choice.splitter->has_calls()));
  }
  if (request_.returns_token_ids) {
    out += R"(,"token_ids":)" + dump_json(Json(std::exchange(choice.ids, {})));
  }
  if (!is_chat_ && !choice.has_begun) append_prompt(prompt, out);
  out += "}]";
  if (is_chat_ && !has_begun_) append_prompt(prompt, out);
  if (!has_begun_) {
    out += R"(,"seed":)";
    append_json_integer(out, request_.seed);
    if (!request_.warnings.empty()) out += R"(,"warnings":)" + dump_json(Json(request_.warnings));
  }
  choice.has_begun = true;
  has_begun_ = true;
  append_tail(out);
}

void StreamWriter::append_logprobs(size_t prompt, Choice& choice, std::string& out) {
  out += R"(,"logprobs":)";
  if (!request_.requests[prompt].sampling.logprobs) {
    out += "null";
  } else if (is_chat_) {
    out += choice.logprobs.empty()
               ? "null"
               : dump_json(chat_logprobs(names_, std::exchange(choice.logprobs, {})));
  } else {
    CompletionLogprobs& lists = lists_of(prompt, choice);
    out += lists.has_entries() ? dump_json(lists.take()) : "null";
  }
}

// The prompt's ids and log-probabilities, once: with each choice, and of a chat beside them.
void StreamWriter::append_prompt(size_t prompt, std::string& out) {
  if (request_.returns_token_ids)
    out += R"(,"prompt_token_ids":)" + dump_json(Json(request_.requests[prompt].prompt_ids));
  if (!request_.hides_prompt_logprobs && reports_[prompt] != nullptr)
    out += R"(,"prompt_logprobs":)" + dump_json(prompt_logprobs(names_, *reports_[prompt]));
}

void StreamWriter::append_tail(std::string& out) const {
  if (request_.continuous_usage) {
    out += R"(,"usage":)";
    append_usage(out, counts_);
  } else if (request_.includes_usage) {
    out += R"(,"usage":null)";
  }
  if (open_ == 0 && !request_.includes_usage)
    out += R"(,"timings":)" + dump_json(timings_json(counts_));
  out += "}\n\n";
}

void StreamWriter::end(const Status& status, std::string& out) {
  if (!status.is_ok()) {
    append_error(to_openai_error(status), out);
  } else if (broken_off_) {
    append_error(*broken_off_, out);
  } else if (request_.includes_usage) {
    out += head_;
    out += R"(],"usage":)";
    append_usage(out, counts_);
    out += R"(,"timings":)" + dump_json(timings_json(counts_)) + "}\n\n";
  }
  out += "data: [DONE]\n\n";
}

// Before the first event there is no stream yet, and the error is the body.
std::string StreamWriter::fail(const OpenAiError& error) const {
  if (!has_begun_) return dump_json(error_body(error));
  std::string out;
  append_error(error, out);
  return out;
}

}  // namespace

std::unique_ptr<AnswerWriter> make_openai_stream(const OpenAiRequest& request, ReplyInfo info) {
  return std::make_unique<StreamWriter>(request, std::move(info));
}

}  // namespace ingot
