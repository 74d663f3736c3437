// SPDX-License-Identifier: Apache-2.0
// What the decoders are built from: a stage that passes everything on, one that sees a token as a
// whole, and the way from a stage's constructor to a TokenDecoder.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tokenizer/decoders.h"

namespace ingot::tok {

// A stage with the stage behind it.
class Stage : public DecodeStage {
 public:
  explicit Stage(DecodeStage& next) : next_(&next) {}
  void begin_token() override { next_->begin_token(); }
  void text(std::string_view part) override {
    if (!part.empty()) next_->text(part);
  }
  void end_token() override { next_->end_token(); }
  void finish() override { next_->finish(); }

 protected:
  DecodeStage& next() { return *next_; }
  void emit_token(std::string_view text) {
    next_->begin_token();
    if (!text.empty()) next_->text(text);
    next_->end_token();
  }

 private:
  DecodeStage* next_;
};

// For decoders that look at a token as a whole.
class WholeTokenStage : public Stage {
 public:
  using Stage::Stage;
  void begin_token() override { token_.clear(); }
  void text(std::string_view part) override { token_ += part; }
  void end_token() override { token(token_); }

 protected:
  virtual void token(std::string& text) = 0;

 private:
  std::string token_;
};

// Makes a TokenDecoder of a stage's constructor.
template <class Start>
class DecoderOf : public TokenDecoder {
 public:
  explicit DecoderOf(Start start) : start_(std::move(start)) {}
  std::unique_ptr<DecodeStage> start(DecodeStage& next, DecodeMode mode) const override {
    return start_(next, mode);
  }

 private:
  Start start_;
};

template <class Start>
DecoderPtr make_decoder(Start start) {
  return std::make_unique<DecoderOf<Start>>(std::move(start));
}

void replace_literal(std::string& text, std::string_view from, std::string_view to);

}  // namespace ingot::tok
