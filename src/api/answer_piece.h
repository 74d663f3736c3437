// SPDX-License-Identifier: Apache-2.0
// What a stretch of generated text turned out to be: content, thought, or a part of a call. The
// pieces of an answer, in order, are all a client is told of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot {

struct AnswerPiece {
  enum class Kind : uint8_t {
    kContent,
    kReasoning,
    kCall,       // a call begins: `text` is the function's name
    kArguments,  // more of that call's arguments, which are JSON
  };
  Kind kind = Kind::kContent;
  std::string text = {};
  size_t call = 0;      // kCall, kArguments: which of the answer's calls
  std::string id = {};  // kCall
};

// Appends a piece; text that goes on as the last piece did joins it.
inline void append_piece(std::vector<AnswerPiece>& pieces, AnswerPiece piece) {
  const bool joins = !pieces.empty() && pieces.back().kind == piece.kind &&
                     piece.kind != AnswerPiece::Kind::kCall && pieces.back().call == piece.call;
  if (joins) {
    pieces.back().text += piece.text;
  } else {
    pieces.push_back(std::move(piece));
  }
}

}  // namespace ingot
