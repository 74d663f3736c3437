// SPDX-License-Identifier: Apache-2.0
// Decoders whose tokens spell bytes: characters may be spread over several tokens.
#include <cstdint>
#include <optional>

#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/decode_stage.h"

namespace ingot::tok {

namespace {

constexpr std::string_view kReplacementText = "\uFFFD";

// All tokens become one, of the bytes they spell; bytes that are not UTF-8 become U+FFFD.
class BytesStage : public Stage {
 public:
  using Spell = std::string (*)(std::string_view);
  BytesStage(DecodeStage& next, Spell spell) : Stage(next), spell_(spell) {}
  void begin_token() override {
    if (!has_begun_) next().begin_token();
    has_begun_ = true;
    token_.clear();
  }
  void text(std::string_view part) override { token_ += part; }
  void end_token() override {
    pending_ += spell_(token_);
    const size_t held = utf8::unfinished_suffix(pending_);
    emit(std::string_view(pending_).substr(0, pending_.size() - held));
    pending_.erase(0, pending_.size() - held);
  }
  void finish() override {
    if (!has_begun_) next().begin_token();
    emit(pending_);
    pending_.clear();
    next().end_token();
    next().finish();
  }

 private:
  void emit(std::string_view bytes) {
    if (!bytes.empty()) next().text(utf8::replace_invalid(bytes));
  }
  Spell spell_;
  bool has_begun_ = false;
  std::string token_;
  std::string pending_;  // at most three bytes between tokens
};

std::string byte_level_bytes(std::string_view piece) {
  const std::optional<std::string> bytes = bytes_of_piece(piece);
  return bytes ? *bytes : std::string(piece);
}

// Tokens "<0x..>" are bytes. A run of them that is valid UTF-8 is text; in any other run every byte
// is one U+FFFD. So a run that has gone wrong can be told at once, a good one only at its end.
class ByteFallbackStage : public WholeTokenStage {
 public:
  ByteFallbackStage(DecodeStage& next, DecodeMode mode) : WholeTokenStage(next), mode_(mode) {}
  void finish() override {
    end_run();
    next().finish();
  }

 protected:
  void token(std::string& text) override {
    if (const std::optional<uint8_t> byte = byte_of_piece(text)) {
      add(*byte);
    } else {
      end_run();
      emit_token(text);
    }
  }

 private:
  void add(uint8_t byte) {
    if (is_spoilt_) {
      emit_token(kReplacementText);
      return;
    }
    run_.push_back(static_cast<char>(byte));
    const size_t held = utf8::unfinished_suffix(run_);
    // Everything before the last character was valid when it was added.
    const std::string_view fresh =
        std::string_view(run_).substr(checked_, run_.size() - held - checked_);
    if (!utf8::is_valid(fresh)) {
      emit_replacements(run_.size());
      run_.clear();
      checked_ = 0;
      is_spoilt_ = true;
      return;
    }
    checked_ = run_.size() - held;
    if (mode_ == DecodeMode::kStream && checked_ >= kStreamHoldBytes) {
      emit_token(std::string_view(run_).substr(0, checked_));
      run_.erase(0, checked_);
      checked_ = 0;
    }
  }
  void end_run() {
    if (checked_ == run_.size()) {
      if (!run_.empty()) emit_token(run_);
    } else {
      emit_replacements(run_.size());
    }
    run_.clear();
    checked_ = 0;
    is_spoilt_ = false;
  }
  void emit_replacements(size_t count) {
    for (size_t i = 0; i < count; ++i)
      emit_token(kReplacementText);
  }

  DecodeMode mode_;
  std::string run_;
  size_t checked_ = 0;  // bytes of run_ that are whole characters
  bool is_spoilt_ = false;
};

class SentencePieceStage : public WholeTokenStage {
 public:
  SentencePieceStage(DecodeStage& next, SentencePieceDecoding options)
      : WholeTokenStage(next), options_(options), is_at_front_(options.strips_front) {}
  void finish() override {
    flush_bytes(true);
    next().finish();
  }

 protected:
  void token(std::string& text) override {
    if (const std::optional<uint8_t> byte = byte_of_piece(text)) {
      bytes_.push_back(static_cast<char>(*byte));
      flush_bytes(false);
      return;
    }
    flush_bytes(true);
    if (is_at_front_ && text.starts_with(kSpaceMark)) {
      text.erase(0, kSpaceMark.size());
      is_at_front_ = options_.strips_all_front && text.empty();
    } else if (!text.empty()) {
      is_at_front_ = false;
    }
    replace_literal(text, kSpaceMark, " ");
    emit_token(text);
  }

 private:
  // Bytes become characters one by one; a byte that fits nowhere is U+FFFD alone.
  void flush_bytes(bool is_over) {
    while (!bytes_.empty()) {
      const utf8::Decoded c = utf8::decode(bytes_);
      if (!c.is_valid && !is_over && utf8::unfinished_suffix(bytes_) == bytes_.size()) return;
      emit_token(c.is_valid ? std::string_view(bytes_).substr(0, c.size) : kReplacementText);
      bytes_.erase(0, c.is_valid ? c.size : 1);
      is_at_front_ = false;
    }
  }

  SentencePieceDecoding options_;
  bool is_at_front_;
  std::string bytes_;
};

}  // namespace

DecoderPtr make_byte_level_decoder() {
  return make_decoder([](DecodeStage& next, DecodeMode) {
    return std::make_unique<BytesStage>(next, byte_level_bytes);
  });
}
DecoderPtr make_escaped_bytes_decoder() {
  return make_decoder([](DecodeStage& next, DecodeMode) {
    return std::make_unique<BytesStage>(next, bytes_of_escaped);
  });
}
DecoderPtr make_byte_fallback_decoder() {
  return make_decoder([](DecodeStage& next, DecodeMode mode) {
    return std::make_unique<ByteFallbackStage>(next, mode);
  });
}
DecoderPtr make_sentencepiece_decoder(SentencePieceDecoding options) {
  return make_decoder([options](DecodeStage& next, DecodeMode) {
    return std::make_unique<SentencePieceStage>(next, options);
  });
}

}  // namespace ingot::tok
