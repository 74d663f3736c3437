// SPDX-License-Identifier: Apache-2.0
// Decoders whose tokens are words or parts of words: they say where spaces go.
#include <optional>

#include "tokenizer/decode_stage.h"

namespace ingot::tok {

namespace {

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

}  // namespace

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
DecoderPtr make_join_decoder() {
  return make_decoder(
      [](DecodeStage& next, DecodeMode) { return std::make_unique<JoinStage>(next); });
}

}  // namespace ingot::tok
