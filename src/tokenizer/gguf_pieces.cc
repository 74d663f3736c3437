// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/gguf_pieces.h"

#include <algorithm>
#include <cmath>

#include "base/limits.h"
#include "base/utf8.h"

namespace ingot::tok {

namespace {

constexpr std::string_view kEndTexts[] = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
    "[e~[",
};

Status check_count(std::string_view key, size_t count, size_t wanted) {
  if (count == 0 || count >= wanted) return Status::ok();
  return Status::invalid_data("{} has {} entries for {} tokens", key, count, wanted);
}

}  // namespace

std::span<const std::string_view> gguf_end_texts() {
  return kEndTexts;
}

Result<GgufPieces> read_gguf_pieces(const GgufMetadata& metadata) {
  GgufPieces out;
  INGOT_TRY(const std::vector<std::string_view> tokens, metadata.strings("tokenizer.ggml.tokens"));
  if (tokens.empty() || tokens.size() > static_cast<size_t>(limits::kVocab)) {
    return Status::invalid_data("tokenizer.ggml.tokens has {} tokens; 1 to {} are allowed",
                                tokens.size(), limits::kVocab);
  }
  std::vector<float> scores;
  if (metadata.has("tokenizer.ggml.scores")) {
    INGOT_TRY(scores, metadata.numbers("tokenizer.ggml.scores"));
  }
  std::vector<int64_t> types;
  if (metadata.has("tokenizer.ggml.token_type")) {
    INGOT_TRY(types, metadata.integers("tokenizer.ggml.token_type"));
  }
  INGOT_TRY(check_count("tokenizer.ggml.scores", scores.size(), tokens.size()));
  INGOT_TRY(check_count("tokenizer.ggml.token_type", types.size(), tokens.size()));
  out.entries.reserve(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    SentencePieceEntry entry{tokens[i], scores.empty() ? 0.0F : scores[i], PieceType::kNormal};
    if (entry.piece.empty()) {
      entry.piece = out.repaired.emplace_back(fmt::format("[EMPTY_{}]", i));
    } else if (!utf8::is_valid(entry.piece)) {
      entry.piece = out.repaired.emplace_back(utf8::replace_invalid(entry.piece));
    }
    if (std::isnan(entry.score)) {
      return Status::invalid_data("tokenizer.ggml.scores[{}] is not a number", i);
    }
    if (!types.empty() && types[i] >= 1 && types[i] <= 6)
      entry.type = static_cast<PieceType>(types[i]);
    // An end of text that is marked as plain text would never be found in it.
    const bool ends =
        std::find(std::begin(kEndTexts), std::end(kEndTexts), entry.piece) != std::end(kEndTexts);
    if (ends && entry.type == PieceType::kNormal) entry.type = PieceType::kControl;
    out.entries.push_back(entry);
  }
  return out;
}

}  // namespace ingot::tok
