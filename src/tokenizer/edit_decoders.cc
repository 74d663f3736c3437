// SPDX-License-Identifier: Apache-2.0
// Decoders that edit tokens whatever they spell: fuse them, strip their ends, replace in them.
#include <algorithm>

#include "tokenizer/decode_stage.h"

namespace ingot::tok {

namespace {

class FuseStage : public Stage {
 public:
  using Stage::Stage;
  void begin_token() override {
    if (!has_begun_) next().begin_token();
    has_begun_ = true;
  }
  void end_token() override {}
  void finish() override {
    if (!has_begun_) next().begin_token();
    next().end_token();
    next().finish();
  }

 private:
  bool has_begun_ = false;
};

// Takes up to `start` characters off the front of each token and up to `stop` off its end, if they
// are `content`. Text is passed on as it comes; only what may be the end waits.
class StripStage : public Stage {
 public:
  struct Options {
    std::string content;
    size_t start;
    size_t stop;
  };
  StripStage(DecodeStage& next, const Options& options) : Stage(next), options_(&options) {}
  void begin_token() override {
    start_left_ = options_->start;
    tail_ = 0;
    next().begin_token();
  }
  void text(std::string_view part) override {
    const std::string& content = options_->content;
    while (start_left_ > 0 && !part.empty()) {
      if (!part.starts_with(content)) {
        start_left_ = 0;
        break;
      }
      part.remove_prefix(content.size());
      --start_left_;
    }
    if (part.empty()) return;
    std::string_view body = part;
    size_t trailing = 0;
    while (trailing < options_->stop && body.ends_with(content)) {
      body.remove_suffix(content.size());
      ++trailing;
    }
    if (body.empty()) {
      tail_ += trailing;
      emit_tail(tail_ - std::min(tail_, options_->stop));
    } else {
      emit_tail(tail_);
      next().text(body);
      tail_ = trailing;
    }
  }
  void end_token() override {
    tail_ = 0;
    next().end_token();
  }

 private:
  void emit_tail(size_t count) {
    for (size_t i = 0; i < count; ++i)
      next().text(options_->content);
    tail_ -= count;
  }
  const Options* options_;
  size_t start_left_ = 0;
  size_t tail_ = 0;  // copies of `content` at the end, held back
};

class ReplaceStage : public WholeTokenStage {
 public:
  struct Options {
    SplitPattern pattern;
    std::string content;
  };
  ReplaceStage(DecodeStage& next, const Options& options)
      : WholeTokenStage(next), options_(&options) {}

 protected:
  void token(std::string& text) override {
    // A pattern that gives up on a token leaves it as it is: decoding cannot fail.
    static_cast<void>(replace_all(options_->pattern, options_->content, text));
    emit_token(text);
  }

 private:
  const Options* options_;
};

}  // namespace

DecoderPtr make_fuse_decoder() {
  return make_decoder(
      [](DecodeStage& next, DecodeMode) { return std::make_unique<FuseStage>(next); });
}
DecoderPtr make_strip_decoder(std::string content, size_t start, size_t stop) {
  return make_decoder(
      [options = StripStage::Options{std::move(content), start, stop}](
          DecodeStage& next, DecodeMode) { return std::make_unique<StripStage>(next, options); });
}
DecoderPtr make_replace_decoder(SplitPattern pattern, std::string content) {
  return make_decoder(
      [options = ReplaceStage::Options{std::move(pattern), std::move(content)}](
          DecodeStage& next, DecodeMode) { return std::make_unique<ReplaceStage>(next, options); });
}

}  // namespace ingot::tok
