// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/decoders.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/unicode.h"

namespace ingot::tok {

namespace {

constexpr std::string_view kReplacementText = "\uFFFD";
constexpr std::string_view kSpaceMark = "\u2581";

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

void replace_literal(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty() || text.find(from) == std::string::npos) return;
  std::string out;
  size_t at = 0;
  for (size_t found = text.find(from); found != std::string::npos; found = text.find(from, at)) {
    out.append(text, at, found - at);
    out += to;
    at = found + from.size();
  }
  out.append(text, at);
  text = std::move(out);
}

// All tokens become one, of the bytes they spell; bytes that are not UTF-8 become U+FFFD.
class ByteLevelStage : public Stage {
 public:
  using Stage::Stage;
  void begin_token() override {
    if (!has_begun_) next().begin_token();
    has_begun_ = true;
    token_.clear();
  }
  void text(std::string_view part) override { token_ += part; }
  void end_token() override {
    const std::optional<std::string> bytes = bytes_of_piece(token_);
    pending_ += bytes ? *bytes : token_;
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
  bool has_begun_ = false;
  std::string token_;
  std::string pending_;  // at most three bytes between tokens
};

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

class MetaspaceStage : public Stage {
 public:
  MetaspaceStage(DecodeStage& next, const std::string& replacement, bool strips_first)
      : Stage(next), replacement_(&replacement), is_stripping_(strips_first) {}
  void text(std::string_view part) override {
    std::string out(part);
    replace_literal(out, *replacement_, is_stripping_ ? "" : " ");
    Stage::text(out);
  }
  void end_token() override {
    is_stripping_ = false;
    next().end_token();
  }

 private:
  const std::string* replacement_;
  bool is_stripping_;  // in the first token
};

// Spaces before punctuation and in contractions, as BERT's tokenizer writes them.
void clean_up(std::string& text) {
  static constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  for (const auto& [from, to] : kRules)
    replace_literal(text, from, to);
}

class WordPieceStage : public WholeTokenStage {
 public:
  WordPieceStage(DecodeStage& next, const std::string& prefix, bool cleanup)
      : WholeTokenStage(next), prefix_(&prefix), cleanup_(cleanup) {}

 protected:
  void token(std::string& text) override {
    if (!is_first_) {
      if (text.starts_with(*prefix_)) {
        text.erase(0, prefix_->size());
      } else {
        text.insert(text.begin(), ' ');
      }
    }
    is_first_ = false;
    if (cleanup_) clean_up(text);
    emit_token(text);
  }

 private:
  const std::string* prefix_;
  bool cleanup_;
  bool is_first_ = true;
};

// The suffix that ends a word is a space, except in the last token: so each token waits for the
// next.
class BpeSuffixStage : public WholeTokenStage {
 public:
  BpeSuffixStage(DecodeStage& next, const std::string& suffix)
      : WholeTokenStage(next), suffix_(&suffix) {}
  void finish() override {
    if (waiting_) {
      replace_literal(*waiting_, *suffix_, "");
      emit_token(*waiting_);
    }
    next().finish();
  }

 protected:
  void token(std::string& text) override {
    if (waiting_) {
      replace_literal(*waiting_, *suffix_, " ");
      emit_token(*waiting_);
    }
    waiting_ = text;
  }

 private:
  const std::string* suffix_;
  std::optional<std::string> waiting_;
};

class CtcStage : public WholeTokenStage {
 public:
  struct Options {
    std::string pad_token;
    std::string word_delimiter;
    bool cleanup;
  };
  CtcStage(DecodeStage& next, const Options& options) : WholeTokenStage(next), options_(&options) {}

 protected:
  void token(std::string& text) override {
    if (last_ == text) return;
    last_ = text;
    replace_literal(text, options_->pad_token, "");
    if (options_->cleanup) {
      clean_up(text);
      replace_literal(text, options_->word_delimiter, " ");
    }
    if (!text.empty()) emit_token(text);
  }

 private:
  const Options* options_;
  std::optional<std::string> last_;
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

class JoinStage : public Stage {
 public:
  using Stage::Stage;
  void begin_token() override {
    next().begin_token();
    if (!is_first_) next().text(" ");
    is_first_ = false;
  }

 private:
  bool is_first_ = true;
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
  return make_decoder(
      [](DecodeStage& next, DecodeMode) { return std::make_unique<ByteLevelStage>(next); });
}
DecoderPtr make_byte_fallback_decoder() {
  return make_decoder([](DecodeStage& next, DecodeMode mode) {
    return std::make_unique<ByteFallbackStage>(next, mode);
  });
}
DecoderPtr make_fuse_decoder() {
  return make_decoder(
      [](DecodeStage& next, DecodeMode) { return std::make_unique<FuseStage>(next); });
}
DecoderPtr make_metaspace_decoder(std::string replacement, bool strips_first) {
  return make_decoder(
      [replacement = std::move(replacement), strips_first](DecodeStage& next, DecodeMode) {
        return std::make_unique<MetaspaceStage>(next, replacement, strips_first);
      });
}
DecoderPtr make_wordpiece_decoder(std::string prefix, bool cleanup) {
  return make_decoder([prefix = std::move(prefix), cleanup](DecodeStage& next, DecodeMode) {
    return std::make_unique<WordPieceStage>(next, prefix, cleanup);
  });
}
DecoderPtr make_bpe_decoder(std::string suffix) {
  return make_decoder([suffix = std::move(suffix)](DecodeStage& next, DecodeMode) {
    return std::make_unique<BpeSuffixStage>(next, suffix);
  });
}
DecoderPtr make_ctc_decoder(std::string pad_token, std::string word_delimiter, bool cleanup) {
  return make_decoder(
      [options = CtcStage::Options{std::move(pad_token), std::move(word_delimiter), cleanup}](
          DecodeStage& next, DecodeMode) { return std::make_unique<CtcStage>(next, options); });
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
DecoderPtr make_join_decoder() {
  return make_decoder(
      [](DecodeStage& next, DecodeMode) { return std::make_unique<JoinStage>(next); });
}
DecoderPtr make_sentencepiece_decoder(SentencePieceDecoding options) {
  return make_decoder([options](DecodeStage& next, DecodeMode) {
    return std::make_unique<SentencePieceStage>(next, options);
  });
}

}  // namespace ingot::tok
