// SPDX-License-Identifier: Apache-2.0
#include "api/chat_session.h"

#include <algorithm>
#include <chrono>

#include "api/render_prompt.h"

namespace ingot {
namespace {

constexpr std::string_view kPlainStop = "\nUser:";
// How long a wish to stop may go unheard while nothing is said.
constexpr std::chrono::milliseconds kPatience{50};

Json message_of(std::string_view role, std::string text) {
  return Json{{"role", role}, {"content", std::move(text)}};
}

// Drops the first turn: a message and all that follow up to the next user message.
void drop_oldest_turn(Json& messages) {
  size_t end = 1;
  while (end < messages.size() && !has_role(messages[end], "user"))
    ++end;
  messages.erase(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(end));
}

}  // namespace

ChatSession::ChatSession(TextEngine& engine, ChatOptions options)
    : engine_(&engine), model_(&engine.model()), options_(std::move(options)) {}

Result<ChatSession> ChatSession::create(TextEngine& engine, ChatOptions options) {
  const LoadedModel& model = engine.model();
  if (model.text.tokenizer == nullptr) return model.text.tokenizer_status;
  ChatSession session(engine, std::move(options));
  if (!session.options_.chat_template.empty()) {
    INGOT_TRY(session.template_,
              ChatTemplate::parse(session.options_.chat_template, "chat template"));
  } else if (const auto& own = model.text.chat_template) {
    INGOT_TRY(session.template_, ChatTemplate::parse(own->text, own->origin));
  } else if (model.text.template_status.code() != StatusCode::kNotFound) {
    return model.text.template_status;
  }
  return session;
}

Result<ChatTurn> ChatSession::ask(std::string message, const OnText& on_text) {
  Json messages = messages_;
  messages.push_back(message_of("user", std::move(message)));
  return answer(std::move(messages), on_text);
}

Result<ChatTurn> ChatSession::regenerate(const OnText& on_text) {
  Json messages = messages_;
  while (!messages.empty() && !has_role(messages.back(), "user"))
    messages.erase(messages.size() - 1);
  if (messages.empty())
    return Status::invalid_argument("there is no message to answer again; say something first");
  ++regenerations_;
  return answer(std::move(messages), on_text);
}

Result<std::vector<TokenId>> ChatSession::prompt_ids(const Json& messages) const {
  Json all = Json::array();
  if (!options_.system.empty()) all.push_back(message_of("system", options_.system));
  for (const Json& message : messages)
    all.push_back(message);
  INGOT_TRY(const std::string prompt,
            render_chat(template_ ? &*template_ : nullptr, model_->text, all));
  // A template writes its own bos; the plain form leaves it to the tokenizer.
  EncodeOptions options;
  options.add_special = !template_.has_value();
  return model_->text.tokenizer->encode(prompt, options);
}

// Drops old turns until the prompt leaves room for an answer.
Result<std::vector<TokenId>> ChatSession::fit(Json& messages, ChatTurn& turn) const {
  const int64_t context = engine_->context();
  const int64_t room =
      options_.max_tokens >= 0 ? std::min(options_.max_tokens, context / 2) : context / 4;
  while (true) {
    INGOT_TRY(std::vector<TokenId> ids, prompt_ids(messages));
    const auto size = static_cast<int64_t>(ids.size());
    if (size + room <= context) return ids;
    const size_t before = messages.size();
    Json fewer = messages;
    drop_oldest_turn(fewer);
    if (!fewer.empty()) {
      messages = std::move(fewer);
      turn.dropped_messages += static_cast<int64_t>(before - messages.size());
    } else if (size < context) {
      return ids;
    } else {
      return Status::invalid_argument(
          "the message takes {} tokens, the context holds {}; shorten it or raise --ctx-size", size,
          context);
    }
  }
}

Result<ChatTurn> ChatSession::answer(Json messages, const OnText& on_text) {
  ChatTurn turn;
  TextRequest request;
  INGOT_TRY(request.prompt_ids, fit(messages, turn));
  request.max_tokens = options_.max_tokens;
  request.sampling = options_.sampling;
  request.sampling.seed += regenerations_;
  request.sampling.eos_ids = model_->stop_ids;
  if (!template_) request.stop = {std::string(kPlainStop)};
  turn.prompt_tokens = static_cast<int64_t>(request.prompt_ids.size());
  INGOT_TRY(const std::unique_ptr<TextStream> stream, engine_->submit(request));
  INGOT_TRY(listen(*stream, on_text, turn));
  messages.push_back(message_of("assistant", turn.text));
  messages_ = std::move(messages);
  return turn;
}

Status ChatSession::listen(TextStream& stream, const OnText& on_text, ChatTurn& turn) const {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  bool wants_more = true;
  const auto emit = [&](std::string_view piece) {
    if (wants_more && !on_text(piece)) {
      wants_more = false;
      stream.cancel();
    }
  };
  while (true) {
    while (!stream.wait_for(kPatience))
      emit("");
    std::optional<TextEvent> event = stream.next();
    if (!event) break;
    if (event->kind == TextEvent::Kind::kPrompt) {
      turn.reused_tokens = event->prompt->reused_tokens;
      turn.prompt_seconds = seconds();
      continue;
    }
    if (!template_ && turn.text.empty()) event->text.erase(0, event->text.find_first_not_of(' '));
    if (wants_more) turn.text += event->text;
    if (event->kind == TextEvent::Kind::kToken) ++turn.answer_tokens;
    if (event->kind == TextEvent::Kind::kFinish) turn.finish = event->reason;
    emit(event->text);
  }
  turn.decode_seconds = seconds() - turn.prompt_seconds;
  return stream.status();
}

}  // namespace ingot
