// SPDX-License-Identifier: Apache-2.0
#include "api/openai_delta.h"

#include <utility>

#include "api/json_text.h"

namespace ingot {
namespace {

// Id, type and name come once; arguments are parts of a string.
void append_calls(std::string& out, const std::vector<AnswerPiece>& pieces) {
  out += R"("tool_calls":[)";
  for (size_t i = 0; i < pieces.size(); ++i) {
    const AnswerPiece& piece = pieces[i];
    if (i > 0) out += ',';
    out += R"({"index":)";
    append_json_integer(out, static_cast<int64_t>(piece.call));
    std::string_view arguments = piece.text;
    if (piece.kind == AnswerPiece::Kind::kCall) {
      out += R"(,"id":)";
      append_json_string(out, piece.id);
      out += R"(,"type":"function","function":{"name":)";
      append_json_string(out, piece.text);
      out += ',';
      arguments = {};
      if (i + 1 < pieces.size() && pieces[i + 1].kind == AnswerPiece::Kind::kArguments)
        arguments = pieces[++i].text;
    } else {
      out += R"(,"function":{)";
    }
    out += R"("arguments":)";
    append_json_string(out, arguments);
    out += "}}";
  }
  out += ']';
}

}  // namespace

ChatDelta::ChatDelta(std::vector<AnswerPiece> pieces) {
  for (AnswerPiece& piece : pieces) {
    switch (piece.kind) {
      case AnswerPiece::Kind::kContent:
        content += piece.text;
        break;
      case AnswerPiece::Kind::kReasoning:
        reasoning += piece.text;
        break;
      case AnswerPiece::Kind::kCall:
      case AnswerPiece::Kind::kArguments:
        calls.push_back(std::move(piece));
    }
  }
}

void append_chat_delta(std::string& out, const ChatDelta& delta, bool is_first) {
  out += '{';
  bool needs_comma = false;
  const auto comma = [&] {
    if (std::exchange(needs_comma, true)) out += ',';
  };
  if (is_first) {
    comma();
    out += R"("role":"assistant")";
  }
  if (!delta.reasoning.empty()) {
    comma();  // clients read one name or the other
    out += R"("reasoning_content":)";
    append_json_string(out, delta.reasoning);
    out += R"(,"reasoning":)";
    append_json_string(out, delta.reasoning);
  }
  if (!delta.content.empty()) {
    comma();
    out += R"("content":)";
    append_json_string(out, delta.content);
  } else if (is_first) {
    comma();
    out += delta.calls.empty() && delta.reasoning.empty() ? R"("content":"")" : R"("content":null)";
  }
  if (!delta.calls.empty()) {
    comma();
    append_calls(out, delta.calls);
  }
  out += '}';
}

}  // namespace ingot
