// SPDX-License-Identifier: Apache-2.0
// The way back, from tokens to text, as a chain of stages. A stage takes tokens as they come, so
// one chain serves both whole texts and streams: what it holds back is only what later tokens may
// still change.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/split_pattern.h"

namespace ingot::tok {

// A receiver of tokens. The text of one token arrives in parts of whole characters.
class DecodeStage {
 public:
  virtual ~DecodeStage() = default;
  virtual void begin_token() = 0;
  virtual void text(std::string_view part) = 0;
  virtual void end_token() = 0;
  virtual void finish() = 0;
};

// How much a stream may hold back: a run of byte tokens counts as text only once it is over,
// because one wrong byte spoils the whole run in the reference. A stream lets go of valid text
// after this many bytes.
enum class DecodeMode { kWhole, kStream };
inline constexpr size_t kStreamHoldBytes = 64;

// What a decoder is, apart from any one text. Immutable; thread-safe.
class TokenDecoder {
 public:
  virtual ~TokenDecoder() = default;
  // A fresh stage that writes to `next`, which outlives it.
  virtual std::unique_ptr<DecodeStage> start(DecodeStage& next, DecodeMode mode) const = 0;
};

using DecoderPtr = std::unique_ptr<const TokenDecoder>;

DecoderPtr make_byte_level_decoder();
DecoderPtr make_escaped_bytes_decoder();  // bytes_of_escaped()
DecoderPtr make_byte_fallback_decoder();
DecoderPtr make_fuse_decoder();
DecoderPtr make_metaspace_decoder(std::string replacement, bool strips_first);
DecoderPtr make_wordpiece_decoder(std::string prefix, bool cleanup);
DecoderPtr make_bpe_decoder(std::string suffix);
DecoderPtr make_ctc_decoder(std::string pad_token, std::string word_delimiter, bool cleanup);
DecoderPtr make_strip_decoder(std::string content, size_t start, size_t stop);
DecoderPtr make_replace_decoder(SplitPattern pattern, std::string content);
// Tokens with a space between them: what decoding means where a file has no decoder.
DecoderPtr make_join_decoder();

// SentencePiece's own: "▁" is a space, byte pieces are bytes, one space at the very front is
// dropped.
struct SentencePieceDecoding {
  bool strips_front = true;       // a space at the front was put there by the encoder
  bool strips_all_front = false;  // and every further one would have been removed
};
DecoderPtr make_sentencepiece_decoder(SentencePieceDecoding options);

}  // namespace ingot::tok
