// SPDX-License-Identifier: Apache-2.0
#include "api/ollama_reply.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/openai_logprobs.h"
#include "api/rfc3339.h"
#include "api/token_text.h"

namespace ingot {
namespace {

using Nanoseconds = std::chrono::nanoseconds;

int64_t nanoseconds(std::chrono::steady_clock::duration time) {
  return std::max<int64_t>(0, std::chrono::duration_cast<Nanoseconds>(time).count());
}

// What one object of a reply tells of the answer.
struct LineParts {
  std::string text = {};
  std::string thinking = {};
  Json calls = Json::array();
};

// The common fields, and the answer's parts where the endpoint has them.
Json reply_line(OllamaEndpoint endpoint, const std::string& model,
                std::chrono::system_clock::time_point now, LineParts parts) {
  Json line = {{"model", model}, {"created_at", rfc3339(now)}};
  const auto add = [&](Json& object, const char* text_key) {
    object[text_key] = std::move(parts.text);
    if (!parts.thinking.empty()) object["thinking"] = std::move(parts.thinking);
    if (!parts.calls.empty()) object["tool_calls"] = std::move(parts.calls);
  };
  if (endpoint == OllamaEndpoint::kChat) {
    line["message"] = {{"role", "assistant"}};
    add(line["message"], "content");
  } else {
    add(line, "response");
  }
  line["done"] = false;
  return line;
}

class OllamaWriter final : public AnswerWriter {
 public:
  OllamaWriter(const OllamaRequest& request, OllamaReplyInfo info,
               std::unique_ptr<AnswerParts> parts)
      : endpoint_(request.endpoint),
        model_(request.model),
        streams_(request.chat.streams),
        warnings_(request.chat.warnings),
        info_(std::move(info)),
        parts_(parts != nullptr ? std::move(parts) : std::make_unique<PlainParts>()) {}

  bool streams() const override { return streams_; }
  std::string_view content_type() const override {
    return streams_ ? "application/x-ndjson" : "application/json";
  }
  void begin(std::string& /*out*/) override {}

  void take(size_t prompt, TextEvent event, std::string& out) override {
    if (prompt != 0 || event.choice != 0) return;
    switch (event.kind) {
      case TextEvent::Kind::kPrompt:
        report_ = std::move(event.prompt);
        prompt_time_ = event.time;
        return;
      case TextEvent::Kind::kToken:
        ++tokens_;
        if (event.logprobs) add_logprobs(*event.logprobs);
        break;
      case TextEvent::Kind::kFinish:
        reason_ = event.reason;
        finish_time_ = event.time;
        break;
      default:
        return;
    }
    std::vector<AnswerPiece> pieces;
    parts_->take(event, pieces);
    for (AnswerPiece& piece : pieces)
      add(std::move(piece));
    if (event.kind == TextEvent::Kind::kFinish) close_call();
    if (streams_ && (!text_.empty() || !thinking_.empty() || !calls_.empty()))
      append(next_line(), out);
  }

  void end(const Status& status, std::string& out) override {
    if (!status.is_ok()) {
      if (streams_) append(ollama_error_body(to_openai_error(status)), out);
      return;
    }
    Json line = next_line();
    line["done"] = true;
    line["done_reason"] = std::string(to_string(reason_));
    add_counts(line);
    if (!warnings_.empty()) line["warnings"] = warnings_;
    append(line, out);
  }

  std::string fail(const OpenAiError& error) const override {
    return dump_json(ollama_error_body(error)) + (has_sent_ ? "\n" : "");
  }

 private:
  void add(AnswerPiece piece) {
    if (piece.kind == AnswerPiece::Kind::kArguments) {
      if (open_call_) arguments_ += piece.text;
      return;
    }
    close_call();
    switch (piece.kind) {
      case AnswerPiece::Kind::kContent:
        text_ += piece.text;
        break;
      case AnswerPiece::Kind::kReasoning:
        thinking_ += piece.text;
        break;
      default:
        open_call_ = std::move(piece);
    }
  }

  // Arguments are an object here, so a call is told once it is whole.
  void close_call() {
    if (!open_call_) return;
    const AnswerPiece call = *std::exchange(open_call_, std::nullopt);
    const std::string text = std::exchange(arguments_, {});
    Result<Json> arguments =
        text.empty() ? Result<Json>(Json::object()) : parse_json(text, "arguments");
    if (!arguments.is_ok() || !arguments->is_object()) arguments = Json{{"arguments", text}};
    calls_.push_back(
        {{"id", call.id},
         {"function",
          {{"index", call.call}, {"name", call.text}, {"arguments", *std::move(arguments)}}}});
  }

  Json token_entry(TokenId id, float logprob) const {
    TokenText token{.text = fmt::format("token_id:{}", id), .bytes = {}};
    if (info_.tokenizer != nullptr) token = token_text(*info_.tokenizer, id);
    Json bytes = Json::array();
    for (const char byte : token.bytes)
      bytes.push_back(static_cast<uint8_t>(byte));
    return {{"token", token.text},
            {"logprob", std::max(static_cast<double>(logprob), kLeastLogprob)},
            {"bytes", std::move(bytes)}};
  }

  void add_logprobs(const PositionLogprobs& position) {
    Json entry = token_entry(position.id, position.logprob);
    if (!position.top.empty()) {
      Json top = Json::array();
      for (const TokenLogprob& other : position.top)
        top.push_back(token_entry(other.id, other.logprob));
      entry["top_logprobs"] = std::move(top);
    }
    logprobs_.push_back(std::move(entry));
  }

  // Of what has come since the last line; a whole reply has one.
  Json next_line() {
    Json line = reply_line(endpoint_, model_, info_.now(),
                           {.text = std::exchange(text_, {}),
                            .thinking = std::exchange(thinking_, {}),
                            .calls = std::exchange(calls_, Json::array())});
    if (!logprobs_.empty()) line["logprobs"] = std::exchange(logprobs_, Json::array());
    return line;
  }

  void add_counts(Json& line) const {
    const double prompt_seconds = report_ != nullptr ? report_->prompt_seconds : 0;
    line["total_duration"] = nanoseconds(finish_time_ - info_.started);
    line["load_duration"] = 0;  // the model is always there
    line["prompt_eval_count"] = report_ != nullptr ? report_->tokens : 0;
    line["prompt_eval_duration"] = static_cast<int64_t>(prompt_seconds * 1e9);
    line["eval_count"] = tokens_;
    line["eval_duration"] = nanoseconds(finish_time_ - prompt_time_);
  }

  void append(const Json& line, std::string& out) {
    out += dump_json(line);
    if (streams_) out += '\n';
    has_sent_ = streams_;
  }

  const OllamaEndpoint endpoint_;
  const std::string model_;
  const bool streams_;
  const std::vector<std::string> warnings_;
  const OllamaReplyInfo info_;
  std::unique_ptr<AnswerParts> parts_;

  std::string text_;  // of the next line
  std::string thinking_;
  Json calls_ = Json::array();
  Json logprobs_ = Json::array();
  std::optional<AnswerPiece> open_call_;
  std::string arguments_;  // of the open call, so far

  std::shared_ptr<const PromptReport> report_;
  std::chrono::steady_clock::time_point prompt_time_;
  std::chrono::steady_clock::time_point finish_time_;
  int64_t tokens_ = 0;
  FinishReason reason_ = FinishReason::kStop;
  bool has_sent_ = false;
};

}  // namespace

std::unique_ptr<AnswerWriter> ollama_writer(const OllamaRequest& request, OllamaReplyInfo info,
                                            std::unique_ptr<AnswerParts> parts) {
  return std::make_unique<OllamaWriter>(request, std::move(info), std::move(parts));
}

Json ollama_load_reply(const OllamaRequest& request, std::chrono::system_clock::time_point now) {
  Json line = reply_line(request.endpoint, request.model, now, {});
  line["done"] = true;
  line["done_reason"] = request.is_unload ? "unload" : "load";
  return line;
}

Json ollama_error_body(const OpenAiError& error) {
  return {{"error", error.message}};
}

}  // namespace ingot
