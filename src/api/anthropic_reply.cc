// SPDX-License-Identifier: Apache-2.0
#include "api/anthropic_reply.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace ingot {
namespace {

std::string_view error_type(int http_status) {
  switch (http_status) {
    case 401:
      return "authentication_error";
    case 402:
      return "billing_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 408:
    case 504:
      return "timeout_error";
    case 503:
    case 529:
      return "overloaded_error";
    default:
      return http_status < 500 ? "invalid_request_error" : "api_error";
  }
}

// What both forms of the reply tell about the one answer.
class Answer {
 public:
  Answer(const OpenAiRequest& request, std::unique_ptr<AnswerParts> parts)
      : max_tokens_(request.requests.front().max_tokens),
        parts_(parts != nullptr ? std::move(parts) : std::make_unique<PlainParts>()) {}

  // The pieces of the answer that are certain with this event.
  std::vector<AnswerPiece> take(TextEvent event) {
    std::vector<AnswerPiece> out;
    if (event.choice != 0) return out;
    switch (event.kind) {
      case TextEvent::Kind::kPrompt:
        report_ = std::move(event.prompt);
        break;
      case TextEvent::Kind::kToken:
        ++tokens_;
        parts_->take(event, out);
        break;
      case TextEvent::Kind::kFinish:
        parts_->take(event, out);
        reason_ = event.reason;
        stop_ = std::move(event.stop);
        break;
      default:
        break;
    }
    for (const AnswerPiece& piece : out)
      has_calls_ |= piece.kind == AnswerPiece::Kind::kCall;
    return out;
  }

  Json stop_reason() const {
    if (reason_ != FinishReason::kStop) {
      // The context can end an answer before its own limit does.
      const bool is_own_limit = reason_ != FinishReason::kLength || tokens_ >= max_tokens_;
      return is_own_limit ? "max_tokens" : "model_context_window_exceeded";
    }
    if (!stop_.empty()) return "stop_sequence";
    return has_calls_ ? "tool_use" : "end_turn";
  }
  Json stop_sequence() const { return stop_.empty() ? Json() : Json(stop_); }

  // What was found in the cache is not counted as input.
  Json usage() const {
    const int64_t prompt = report_ != nullptr ? report_->tokens : 0;
    const int64_t reused = report_ != nullptr ? report_->reused_tokens : 0;
    return {{"input_tokens", prompt - reused},
            {"cache_creation_input_tokens", 0},
            {"cache_read_input_tokens", reused},
            {"output_tokens", tokens_}};
  }

 private:
  const int64_t max_tokens_;
  std::unique_ptr<AnswerParts> parts_;
  std::shared_ptr<const PromptReport> report_;
  int64_t tokens_ = 0;
  bool has_calls_ = false;
  FinishReason reason_ = FinishReason::kStop;
  std::string stop_;
};

Json message_body(const AnthropicReplyInfo& info, const std::vector<std::string>& warnings) {
  Json body = {{"id", info.id},           {"type", "message"},        {"role", "assistant"},
               {"model", info.model},     {"content", Json::array()}, {"stop_reason", nullptr},
               {"stop_sequence", nullptr}};
  if (!warnings.empty()) body["warnings"] = warnings;
  return body;
}

Json text_block(std::string text) {
  return {{"type", "text"}, {"text", std::move(text)}};
}

// Nobody signs the thoughts of a model of one's own.
Json thinking_block(std::string text) {
  return {{"type", "thinking"}, {"thinking", std::move(text)}, {"signature", ""}};
}

Json call_block(std::string id, std::string name, Json input) {
  return {{"type", "tool_use"},
          {"id", std::move(id)},
          {"name", std::move(name)},
          {"input", std::move(input)}};
}

// A model may spell arguments that are no object: its client is told so rather than nothing.
Json input_of(const std::string& arguments) {
  if (arguments.empty()) return Json::object();
  Result<Json> input = parse_json(arguments, "arguments");
  if (input.is_ok() && input->is_object()) return *std::move(input);
  return {{"arguments", arguments}};
}

class WholeMessageWriter final : public AnswerWriter {
 public:
  WholeMessageWriter(const OpenAiRequest& request, const AnthropicReplyInfo& info,
                     std::unique_ptr<AnswerParts> parts)
      : body_(message_body(info, request.warnings)), answer_(request, std::move(parts)) {}

  bool streams() const override { return false; }
  std::string_view content_type() const override { return "application/json"; }
  void begin(std::string& /*out*/) override {}

  void take(size_t prompt, TextEvent event, std::string& /*out*/) override {
    if (prompt != 0) return;
    for (AnswerPiece& piece : answer_.take(std::move(event)))
      add(std::move(piece));
  }

  void end(const Status& status, std::string& out) override {
    if (!status.is_ok()) return;
    Json content = Json::array();
    for (Block& block : blocks_)
      content.push_back(std::move(block).to_json());
    body_["content"] = std::move(content);
    body_["stop_reason"] = answer_.stop_reason();
    body_["stop_sequence"] = answer_.stop_sequence();
    body_["usage"] = answer_.usage();
    out += dump_json(body_);
  }

  std::string fail(const OpenAiError& error) const override {
    return dump_json(anthropic_error_body(error));
  }

 private:
  struct Block {
    AnswerPiece piece;      // content, thoughts, or a call
    std::string arguments;  // of the call

    Json to_json() && {
      switch (piece.kind) {
        case AnswerPiece::Kind::kContent:
          return text_block(std::move(piece.text));
        case AnswerPiece::Kind::kReasoning:
          return thinking_block(std::move(piece.text));
        default:
          return call_block(std::move(piece.id), std::move(piece.text), input_of(arguments));
      }
    }
  };

  void add(AnswerPiece piece) {
    if (piece.kind == AnswerPiece::Kind::kArguments) {
      const bool has_call =
          !blocks_.empty() && blocks_.back().piece.kind == AnswerPiece::Kind::kCall;
      if (has_call) blocks_.back().arguments += piece.text;
    } else if (!blocks_.empty() && piece.kind != AnswerPiece::Kind::kCall &&
               piece.kind == blocks_.back().piece.kind) {
      blocks_.back().piece.text += piece.text;
    } else {
      blocks_.push_back({std::move(piece), {}});
    }
  }

  Json body_;
  Answer answer_;
  std::vector<Block> blocks_;
};

class MessageStreamWriter final : public AnswerWriter {
 public:
  MessageStreamWriter(const OpenAiRequest& request, const AnthropicReplyInfo& info,
                      std::unique_ptr<AnswerParts> parts)
      : body_(message_body(info, request.warnings)), answer_(request, std::move(parts)) {}

  bool streams() const override { return true; }
  std::string_view content_type() const override { return "text/event-stream"; }
  // The first event tells what the prompt cost, which nobody knows yet.
  void begin(std::string& /*out*/) override {}

  void take(size_t prompt, TextEvent event, std::string& out) override {
    if (prompt != 0) return;
    const bool is_over = event.kind == TextEvent::Kind::kFinish;
    const std::vector<AnswerPiece> pieces = answer_.take(std::move(event));
    start(out);
    for (const AnswerPiece& piece : pieces)
      add(piece, out);
    if (is_over) finish(out);
  }

  void end(const Status& status, std::string& out) override {
    if (!status.is_ok()) {
      out += to_event("error", anthropic_error_body(to_openai_error(status)));
      return;
    }
    start(out);
    finish(out);
    out += to_event("message_stop", {{"type", "message_stop"}});
  }

  std::string fail(const OpenAiError& error) const override {
    const Json body = anthropic_error_body(error);
    return has_started_ ? to_event("error", body) : dump_json(body);
  }

 private:
  enum class Block : uint8_t { kNone, kText, kThinking, kCall };

  static std::string to_event(std::string_view name, const Json& data) {
    return fmt::format("event: {}\ndata: {}\n\n", name, dump_json(data));
  }

  void start(std::string& out) {
    if (std::exchange(has_started_, true)) return;
    body_["usage"] = answer_.usage();
    out += to_event("message_start", {{"type", "message_start"}, {"message", body_}});
  }

  void open(Block block, const Json& content, std::string& out) {
    close(out);
    out +=
        to_event("content_block_start",
                 {{"type", "content_block_start"}, {"index", index_}, {"content_block", content}});
    if (index_ == 0) out += to_event("ping", {{"type", "ping"}});
    block_ = block;
  }

  void close(std::string& out) {
    if (std::exchange(block_, Block::kNone) == Block::kNone) return;
    out += to_event("content_block_stop", {{"type", "content_block_stop"}, {"index", index_}});
    ++index_;
  }

  void add(const AnswerPiece& piece, std::string& out) {
    switch (piece.kind) {
      case AnswerPiece::Kind::kContent:
        if (block_ != Block::kText) open(Block::kText, text_block(""), out);
        delta("text_delta", "text", piece.text, out);
        break;
      case AnswerPiece::Kind::kReasoning:
        if (block_ != Block::kThinking) open(Block::kThinking, thinking_block(""), out);
        delta("thinking_delta", "thinking", piece.text, out);
        break;
      case AnswerPiece::Kind::kCall:
        open(Block::kCall, call_block(piece.id, piece.text, Json::object()), out);
        break;
      case AnswerPiece::Kind::kArguments:
        if (block_ == Block::kCall) delta("input_json_delta", "partial_json", piece.text, out);
        break;
    }
  }

  // Once for each token: put together without a tree.
  void delta(std::string_view type, std::string_view key, const std::string& text,
             std::string& out) const {
    out += fmt::format(
        "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":{},"
        "\"delta\":{{\"type\":\"{}\",\"{}\":{}}}}}\n\n",
        index_, type, key, dump_json(text));
  }

  void finish(std::string& out) {
    if (std::exchange(has_finished_, true)) return;
    close(out);
    out += to_event(
        "message_delta",
        {{"type", "message_delta"},
         {"delta",
          {{"stop_reason", answer_.stop_reason()}, {"stop_sequence", answer_.stop_sequence()}}},
         {"usage", answer_.usage()}});
  }

  Json body_;
  Answer answer_;
  Block block_ = Block::kNone;  // the one that is open
  size_t index_ = 0;            // of the open block, or the next
  bool has_started_ = false;
  bool has_finished_ = false;
};

}  // namespace

std::unique_ptr<AnswerWriter> anthropic_writer(const OpenAiRequest& request,
                                               const AnthropicReplyInfo& info,
                                               std::unique_ptr<AnswerParts> parts) {
  if (request.streams)
    return std::make_unique<MessageStreamWriter>(request, info, std::move(parts));
  return std::make_unique<WholeMessageWriter>(request, info, std::move(parts));
}

Json anthropic_error_body(const OpenAiError& error) {
  return {{"type", "error"},
          {"error",
           {{"type", std::string(error_type(error.http_status))}, {"message", error.message}}}};
}

}  // namespace ingot
