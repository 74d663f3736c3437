// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/pre_tokenizers.h"

#include <algorithm>
#include <utility>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/known_patterns.h"
#include "tokenizer/unicode.h"

namespace ingot::tok {

PieceList::PieceList(std::string whole, size_t start) : text(std::move(whole)), start_bytes(start) {
  if (!text.empty()) pieces.emplace_back(0, text.size());
}

bool is_numeric(char32_t code_point) {
  return (classify(code_point) & kNumber) != 0;
}

namespace {

// Turns matches and what lies between them into pieces; `base` is where the spans' text begins.
void append_pieces(std::vector<Span>& spans, SplitBehavior behavior, size_t base,
                   std::vector<Piece>& out) {
  const auto add = [&](size_t begin, size_t end) {
    if (begin < end) out.emplace_back(base + begin, base + end);
  };
  switch (behavior) {
    case SplitBehavior::kIsolated:
      for (const Span& span : spans)
        add(span.begin, span.end);
      return;
    case SplitBehavior::kRemoved:
      for (const Span& span : spans) {
        if (!span.is_match) add(span.begin, span.end);
      }
      return;
    default:
      break;
  }
  // The merging behaviours join a span to its neighbour: what is joined depends on the flags alone.
  if (behavior == SplitBehavior::kMergedWithNext) std::reverse(spans.begin(), spans.end());
  std::vector<Span> merged;
  bool was_match = false;
  for (const Span& span : spans) {
    const bool joins = behavior == SplitBehavior::kContiguous ? span.is_match == was_match
                                                              : span.is_match && !was_match;
    if (joins && !merged.empty()) {
      merged.back().begin = std::min(merged.back().begin, span.begin);
      merged.back().end = std::max(merged.back().end, span.end);
    } else {
      merged.push_back(span);
    }
    was_match = span.is_match;
  }
  if (behavior == SplitBehavior::kMergedWithNext) std::reverse(merged.begin(), merged.end());
  for (const Span& span : merged)
    add(span.begin, span.end);
}

class Split : public PreTokenizer {
 public:
  Split(SplitPattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  Status apply(PieceList& list) const override {
    std::vector<Piece> out;
    std::vector<Span> spans;
    for (const Piece& piece : list.pieces) {
      INGOT_TRY(pattern_.find_all(list.view(piece), spans));
      if (invert_) {
        for (Span& span : spans)
          span.is_match = !span.is_match;
      }
      append_pieces(spans, behavior_, piece.begin, out);
    }
    list.pieces = std::move(out);
    return Status::ok();
  }

 private:
  SplitPattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class CharSplit : public PreTokenizer {
 public:
  CharSplit(CharTest test, SplitBehavior behavior) : test_(test), behavior_(behavior) {}

  Status apply(PieceList& list) const override {
    std::vector<Piece> out;
    std::vector<Span> spans;
    for (const Piece& piece : list.pieces) {
      const std::string_view text = list.view(piece);
      SpanList found(text, spans);
      for (size_t at = 0; at < text.size();) {
        const Char c = char_at(text, at);
        if (test_(c.code_point)) found.match(at, at + c.size);
        at += c.size;
      }
      found.finish();
      append_pieces(spans, behavior_, piece.begin, out);
    }
    list.pieces = std::move(out);
    return Status::ok();
  }

 private:
  CharTest test_;
  SplitBehavior behavior_;
};

class Whitespace : public PreTokenizer {
 public:
  Status apply(PieceList& list) const override {
    std::vector<Piece> out;
    for (const Piece& piece : list.pieces) {
      for (size_t at = piece.begin; at < piece.end;) {
        const Kind kind = kind_of(char_at(list.text, at).code_point);
        size_t end = at;
        while (end < piece.end && kind_of(char_at(list.text, end).code_point) == kind) {
          end += char_at(list.text, end).size;
        }
        if (kind != Kind::kSpace) out.emplace_back(at, end);
        at = end;
      }
    }
    list.pieces = std::move(out);
    return Status::ok();
  }

 private:
  enum class Kind { kWord, kSpace, kOther };
  static Kind kind_of(char32_t c) {
    if (is_word(c)) return Kind::kWord;
    return is_space(c) ? Kind::kSpace : Kind::kOther;
  }
};

class FixedLength : public PreTokenizer {
 public:
  explicit FixedLength(size_t length) : length_(length) {}

  Status apply(PieceList& list) const override {
    std::vector<Piece> out;
    for (const Piece& piece : list.pieces) {
      for (size_t at = piece.begin; at < piece.end;) {
        size_t end = at;
        for (size_t i = 0; i < length_ && end < piece.end; ++i)
          end += char_at(list.text, end).size;
        out.emplace_back(at, end);
        at = end;
      }
    }
    list.pieces = std::move(out);
    return Status::ok();
  }

 private:
  size_t length_;
};

// Builds the text anew, piece by piece. What no piece covers is dropped. `edit` works from left to
// right, so what it makes of a piece's front is the front of what it makes of the piece.
template <class Edit>
void rewrite_pieces(PieceList& list, const Edit& edit) {
  std::string text;
  text.reserve(list.text.size() + list.text.size() / 8 + 8);
  size_t start_bytes = 0;
  for (Piece& piece : list.pieces) {
    const size_t begin = text.size();
    if (piece.begin < list.start_bytes) {
      edit(text, Piece(piece.begin, std::min<size_t>(piece.end, list.start_bytes)));
      start_bytes = text.size();
      text.resize(begin);
    }
    edit(text, piece);
    piece = Piece(begin, text.size());
  }
  list.text = std::move(text);
  list.start_bytes = start_bytes;
}

class ByteLevel : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, bool use_regex)
      : add_prefix_space_(add_prefix_space), use_regex_(use_regex) {}

  Status apply(PieceList& list) const override {
    if (add_prefix_space_) {
      rewrite_pieces(list, [&](std::string& out, const Piece& piece) {
        if (list.text[piece.begin] != ' ') out += ' ';
        out += list.view(piece);
      });
    }
    if (use_regex_) {
      std::vector<Piece> out;
      std::vector<Span> spans;
      const Scanner scanner = find_scanner(patterns::kGpt2);
      for (const Piece& piece : list.pieces) {
        scanner(list.view(piece), spans);
        append_pieces(spans, SplitBehavior::kIsolated, piece.begin, out);
      }
      list.pieces = std::move(out);
    }
    rewrite_pieces(list, [&](std::string& out, const Piece& piece) {
      append_byte_level(out, list.view(piece));
    });
    return Status::ok();
  }

 private:
  bool add_prefix_space_;
  bool use_regex_;
};

class Metaspace : public PreTokenizer {
 public:
  Metaspace(std::string replacement, PrependScheme scheme, bool split)
      : replacement_(std::move(replacement)),
        scheme_(scheme),
        split_(split),
        pattern_(SplitPattern::literal(replacement_)) {}

  Status apply(PieceList& list) const override {
    rewrite_pieces(list, [&](std::string& out, const Piece& piece) {
      const std::string_view text = list.view(piece);
      const bool has_prefix = text.starts_with(' ') || text.starts_with(replacement_);
      const bool wants_prefix =
          scheme_ == PrependScheme::kAlways ||
          (scheme_ == PrependScheme::kFirst && piece.begin < list.start_bytes);
      if (wants_prefix && !has_prefix) out += replacement_;
      for (const char c : text) {
        if (c == ' ') {
          out += replacement_;
        } else {
          out += c;
        }
      }
    });
    if (!split_) return Status::ok();
    std::vector<Piece> out;
    std::vector<Span> spans;
    for (const Piece& piece : list.pieces) {
      INGOT_TRY(pattern_.find_all(list.view(piece), spans));
      append_pieces(spans, SplitBehavior::kMergedWithNext, piece.begin, out);
    }
    list.pieces = std::move(out);
    return Status::ok();
  }

 private:
  std::string replacement_;
  PrependScheme scheme_;
  bool split_;
  SplitPattern pattern_;
};

}  // namespace

PreTokenizerPtr make_split(SplitPattern pattern, SplitBehavior behavior, bool invert) {
  return std::make_unique<Split>(std::move(pattern), behavior, invert);
}
PreTokenizerPtr make_byte_level(bool add_prefix_space, bool use_regex) {
  return std::make_unique<ByteLevel>(add_prefix_space, use_regex);
}
PreTokenizerPtr make_metaspace(std::string replacement, PrependScheme scheme, bool split) {
  return std::make_unique<Metaspace>(std::move(replacement), scheme, split);
}
PreTokenizerPtr make_fixed_length(size_t length) {
  return std::make_unique<FixedLength>(length);
}
PreTokenizerPtr make_char_split(CharTest test, SplitBehavior behavior) {
  return std::make_unique<CharSplit>(test, behavior);
}
PreTokenizerPtr make_whitespace() {
  return std::make_unique<Whitespace>();
}

}  // namespace ingot::tok
