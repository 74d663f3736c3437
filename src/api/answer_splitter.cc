// SPDX-License-Identifier: Apache-2.0
#include "api/answer_splitter.h"

#include <algorithm>
#include <utility>

namespace ingot {

std::vector<TokenId> special_marks(const AnswerFormat& format, const Tokenizer& tokenizer) {
  std::vector<TokenId> ids;
  const auto add = [&](std::string_view mark) {
    const std::optional<TokenId> id = tokenizer.id_of(mark);
    if (id && tokenizer.is_special(*id)) ids.push_back(*id);
  };
  for (const std::string_view mark : tool_marks(format.tools))
    add(mark);
  if (format.reasoning) {
    add(format.reasoning->open);
    add(format.reasoning->close);
  }
  return ids;
}

AnswerSplitter::AnswerSplitter(const AnswerFormat& format, const Tokenizer* tokenizer,
                               bool holds_calls)
    : hides_reasoning_(format.hides_reasoning),
      strips_special_(format.strips_special && tokenizer != nullptr),
      tokenizer_(tokenizer) {
  if (strips_special_) marks_ = special_marks(format, *tokenizer);
  if (format.reasoning) reasoning_.emplace(*format.reasoning, format.begins_in_reasoning);
  if (format.tools != ToolFormat::kNone) {
    tools_ = make_tool_parser({.format = format.tools,
                               .names = format.tool_names,
                               .only_first = format.one_call,
                               .holds_calls = holds_calls});
  }
}

std::string AnswerSplitter::shown_text(const TextEvent& event) const {
  std::string text = event.text;
  if (!strips_special_ || event.kind != TextEvent::Kind::kToken ||
      !tokenizer_->is_special(event.id) || std::ranges::find(marks_, event.id) != marks_.end())
    return text;
  const std::string_view piece = tokenizer_->piece(event.id);
  if (const size_t at = text.rfind(piece); at != std::string::npos) text.erase(at, piece.size());
  return text;
}

void AnswerSplitter::take(const TextEvent& event, std::vector<AnswerPiece>& out) {
  const bool is_over = event.kind == TextEvent::Kind::kFinish;
  std::string text = shown_text(event);
  if (reasoning_) {
    const bool was_inside = reasoning_->is_inside();
    std::vector<AnswerPiece> hidden;
    std::vector<AnswerPiece>& thoughts = hides_reasoning_ ? hidden : out;
    text = reasoning_->push(text, thoughts);
    if (!is_over && (was_inside || reasoning_->is_inside())) ++reasoning_tokens_;
    if (is_over) text += reasoning_->finish(thoughts);
  }
  if (tools_ == nullptr) {
    if (!text.empty()) append_piece(out, {.text = std::move(text)});
    return;
  }
  tools_->push(text, out);
  if (is_over) tools_->finish(out);
}

}  // namespace ingot
