// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/hf_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/limits.h"
#include "tokenizer/models/bpe.h"
#include "tokenizer/models/unigram.h"
#include "tokenizer/models/wordpiece.h"

namespace ingot::tok {

namespace {

constexpr double kUnkPenalty = 10.0;

class ModelReader {
 public:
  ModelReader(JsonReader& reader, std::string_view document, std::string_view source)
      : reader_(reader), document_(document), source_(source) {}

  Result<HfModel> run() {
    INGOT_TRY(reader_.expect(JsonToken::kBeginObject, "model"));
    while (true) {
      INGOT_TRY(const bool has_more, reader_.next_key());
      if (!has_more) break;
      key_ = reader_.text();
      INGOT_TRY(field());
    }
    return build();
  }

 private:
  Status field() {
    if (key_ == "vocab") return vocab();
    if (key_ == "merges") {
      // Merges are looked up in the vocabulary. Should it come later, they are read again then.
      const size_t begin = reader_.offset();
      if (has_vocab_ && has_prefix_) return read_merges(reader_);
      INGOT_TRY(reader_.skip_value());
      merges_text_ = document_.substr(begin, reader_.offset() - begin);
      return Status::ok();
    }
    INGOT_TRY(const JsonToken token, reader_.next());
    if (token == JsonToken::kBeginObject || token == JsonToken::kBeginArray) {
      return skip_rest(reader_.depth() - 1);
    }
    if (token == JsonToken::kString) {
      string_field(reader_.text());
    } else if (token == JsonToken::kNumber) {
      if (key_ == "unk_id") {
        INGOT_TRY(unk_id_, reader_.integer());
      } else if (key_ == "max_input_chars_per_word") {
        INGOT_TRY(max_input_chars_, reader_.integer());
      }
    } else if (token == JsonToken::kNull) {
      if (key_ == "continuing_subword_prefix") has_prefix_ = true;
    } else {
      const bool value = token == JsonToken::kTrue;
      if (key_ == "fuse_unk") fuse_unk_ = value;
      if (key_ == "byte_fallback") byte_fallback_ = value;
      if (key_ == "ignore_merges") ignore_merges_ = value;
    }
    return Status::ok();
  }

  void string_field(std::string_view value) {
    if (key_ == "type") type_ = value;
    if (key_ == "unk_token") unk_token_ = value;
    if (key_ == "end_of_word_suffix") suffix_ = value;
    if (key_ == "continuing_subword_prefix") {
      prefix_ = value;
      has_prefix_ = true;
    }
  }

  Status skip_rest(size_t depth) {
    while (reader_.depth() > depth)
      INGOT_TRY(reader_.next());
    return Status::ok();
  }

  // {"piece": id, ...} or [["piece", score], ...]
  Status vocab() {
    if (has_vocab_) return reader_.error("the model has two vocabularies");
    has_vocab_ = true;
    INGOT_TRY(const JsonToken token, reader_.next());
    if (token == JsonToken::kBeginObject) {
      std::string piece;
      while (true) {
        INGOT_TRY(const bool has_more, reader_.next_key());
        if (!has_more) return Status::ok();
        piece = reader_.text();
        INGOT_TRY(const int64_t id, reader_.integer_value("vocab"));
        INGOT_TRY(vocabulary_->insert(piece, id, source_));
      }
    }
    if (token != JsonToken::kBeginArray) return reader_.error("'vocab' has the wrong type");
    is_scored_ = true;
    while (true) {
      INGOT_TRY(const JsonToken entry, reader_.next());
      if (entry == JsonToken::kEndArray) return Status::ok();
      if (entry != JsonToken::kBeginArray)
        return reader_.error("an entry of 'vocab' has the wrong type");
      INGOT_TRY(const std::string piece, reader_.string_value("vocab"));
      INGOT_TRY(reader_.expect(JsonToken::kNumber, "vocab"));
      const double score = reader_.number();
      if (std::isnan(score)) return reader_.error("a score in 'vocab' is not a number");
      INGOT_TRY(vocabulary_->insert(piece, static_cast<int64_t>(scores_.size()), source_));
      scores_.push_back(score);
      INGOT_TRY(reader_.expect(JsonToken::kEndArray, "vocab"));
    }
  }

  // ["a b", ...] or [["a", "b"], ...]
  Status read_merges(JsonReader& reader) {
    INGOT_TRY(reader.expect(JsonToken::kBeginArray, "merges"));
    uint32_t rank = 0;
    std::string left;
    while (true) {
      INGOT_TRY(const JsonToken token, reader.next());
      if (token == JsonToken::kEndArray) return Status::ok();
      if (token == JsonToken::kString) {
        const std::string_view line = reader.text();
        if (line.starts_with("#version")) continue;
        const size_t space = line.find(' ');
        if (space == std::string_view::npos ||
            line.find(' ', space + 1) != std::string_view::npos) {
          return reader.error("a merge must be two tokens with a space between them");
        }
        INGOT_TRY(add_merge(reader, line.substr(0, space), line.substr(space + 1), rank++));
      } else if (token == JsonToken::kBeginArray) {
        INGOT_TRY(left, reader.string_value("merges"));
        INGOT_TRY(reader.expect(JsonToken::kString, "merges"));
        INGOT_TRY(add_merge(reader, left, reader.text(), rank++));
        INGOT_TRY(reader.expect(JsonToken::kEndArray, "merges"));
      } else {
        return reader.error("an entry of 'merges' has the wrong type");
      }
    }
  }

  Status add_merge(const JsonReader& reader, std::string_view left, std::string_view right,
                   uint32_t rank) {
    const std::optional<TokenId> left_id = vocabulary_->find(left);
    const std::optional<TokenId> right_id = vocabulary_->find(right);
    if (!left_id || !right_id) {
      return reader.error(
          fmt::format("the vocabulary lacks '{}' of merge {}", left_id ? right : left, rank));
    }
    if (right.size() < prefix_.size()) {
      return reader.error(
          fmt::format("merge {}: '{}' lacks the prefix '{}'", rank, right, prefix_));
    }
    merged_.assign(left);
    merged_ += right.substr(prefix_.size());
    const std::optional<TokenId> id = vocabulary_->find(merged_);
    if (!id)
      return reader.error(
          fmt::format("the vocabulary lacks '{}', made by merge {}", merged_, rank));
    merges_.insert(*left_id, *right_id, {rank, *id});
    return Status::ok();
  }

  Result<HfModel> build() {
    if (!has_vocab_) return Status::invalid_data("{}: the model has no 'vocab'", source_);
    if (merges_text_) {
      JsonReader reader(*merges_text_, fmt::format("{} (merges)", source_));
      INGOT_TRY(read_merges(reader));
      has_merges_ = true;
    }
    if (type_.empty()) type_ = guess_type();
    HfModel out;
    out.vocabulary = vocabulary_;
    out.first_new_id = is_scored_ ? scores_.size() : vocabulary_->count();
    if (unk_token_) out.unk = vocabulary_->find(*unk_token_);
    if (is_scored_ != (type_ == "Unigram")) {
      return Status::invalid_data("{}: the vocabulary does not fit a model of type '{}'", source_,
                                  type_);
    }
    if (type_ == "BPE") {
      out.model = std::make_unique<Bpe>(
          *vocabulary_, std::move(merges_),
          BpeOptions{unk_token_, prefix_, suffix_, fuse_unk_, byte_fallback_, ignore_merges_});
    } else if (type_ == "Unigram") {
      INGOT_TRY(out.model, build_unigram());
      if (unk_id_) out.unk = static_cast<TokenId>(*unk_id_);
    } else if (type_ == "WordPiece") {
      const int64_t most = max_input_chars_.value_or(100);
      if (most < 0)
        return Status::invalid_data("{}: max_input_chars_per_word is {}", source_, most);
      out.model = std::make_unique<WordPiece>(
          *vocabulary_, WordPieceOptions{unk_token_.value_or("[UNK]"), "",
                                         has_prefix_ ? prefix_ : "##", static_cast<size_t>(most)});
    } else if (type_ == "WordLevel") {
      out.model = std::make_unique<WordLevel>(*vocabulary_, unk_token_.value_or("<unk>"));
    } else {
      return Status::unsupported("{}: a model of type '{}' is not known", source_, type_);
    }
    return out;
  }

  Result<TokenModelPtr> build_unigram() {
    if (unk_id_ && (*unk_id_ < 0 || static_cast<uint64_t>(*unk_id_) >= scores_.size())) {
      return Status::invalid_data("{}: unk_id is {}, but the vocabulary has {} tokens", source_,
                                  *unk_id_, scores_.size());
    }
    UnigramOptions options;
    if (unk_id_) options.unk = static_cast<TokenId>(*unk_id_);
    options.byte_fallback = byte_fallback_;
    const double least = scores_.empty() ? 0.0 : *std::min_element(scores_.begin(), scores_.end());
    options.unk_score = least - kUnkPenalty;
    return TokenModelPtr(
        std::make_unique<Unigram>(*vocabulary_, std::move(scores_), std::move(options)));
  }

  // Files from before the field existed.
  std::string guess_type() const {
    if (is_scored_) return "Unigram";
    if (has_merges_) return "BPE";
    return max_input_chars_ ? "WordPiece" : "WordLevel";
  }

  JsonReader& reader_;
  std::string_view document_;
  std::string_view source_;
  std::string key_;
  std::string type_;
  std::optional<std::string> unk_token_;
  std::string prefix_;
  std::string suffix_;
  bool has_prefix_ = false;  // the field has been seen
  bool fuse_unk_ = false;
  bool byte_fallback_ = false;
  bool ignore_merges_ = false;
  std::optional<int64_t> unk_id_;
  std::optional<int64_t> max_input_chars_;
  std::shared_ptr<Vocabulary> vocabulary_ = std::make_shared<Vocabulary>();
  bool has_vocab_ = false;
  bool is_scored_ = false;
  std::vector<double> scores_;
  std::optional<std::string_view> merges_text_;
  bool has_merges_ = false;
  MergeTable merges_;
  std::string merged_;
};

}  // namespace

Result<HfModel> read_hf_model(JsonReader& reader, std::string_view document,
                              std::string_view source) {
  return ModelReader(reader, document, source).run();
}

}  // namespace ingot::tok
