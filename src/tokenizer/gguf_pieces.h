// SPDX-License-Identifier: Apache-2.0
// The tokens of a GGUF file with their scores and types, checked and repaired: what every kind of
// vocabulary in gguf_vocab.h is made from.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/gguf.h"
#include "tokenizer/sentencepiece_proto.h"

namespace ingot::tok {

// Views the metadata, which outlives it.
struct GgufPieces {
  std::vector<SentencePieceEntry> entries;
  std::deque<std::string> repaired;  // backs pieces that are not as in the file
};

Result<GgufPieces> read_gguf_pieces(const GgufMetadata& metadata);

// Tokens that end an answer, whatever a file's keys forget to say.
std::span<const std::string_view> gguf_end_texts();

}  // namespace ingot::tok
