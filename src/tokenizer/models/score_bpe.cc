// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/models/score_bpe.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"

namespace ingot::tok {

namespace {
constexpr uint32_t kEnd = std::numeric_limits<uint32_t>::max();
}  // namespace

struct ScoreBpe::Symbol {
  uint32_t begin;
  uint32_t size;  // 0: merged into its left neighbour
  uint32_t previous;
  uint32_t next;
  bool is_frozen;
};

// One run over one piece.
class ScoreBpe::Merging {
 public:
  Merging(const ScoreBpe& model, std::string_view text) : model_(model), text_(text) {}

  void run() {
    split_symbols();
    for (uint32_t i = 1; i < symbols_.size(); ++i) {
      if (const auto candidate = consider(i - 1, i)) heap_.push_back(*candidate);
    }
    std::make_heap(heap_.begin(), heap_.end(), ComesLater{});
    while (!heap_.empty()) {
      const Candidate best = heap_.front();
      std::pop_heap(heap_.begin(), heap_.end(), ComesLater{});
      heap_.pop_back();
      merge(best);
    }
  }
  const std::vector<Symbol>& symbols() const { return symbols_; }
  std::string_view text(const Symbol& symbol) const {
    return text_.substr(symbol.begin, symbol.size);
  }
  // How an unused entry was put together: the size of its left part; 0 when it was not.
  size_t left_size(std::string_view unused) const {
    const auto found = unused_.find(unused);
    return found == unused_.end() ? 0 : found->second;
  }

 private:
  struct Candidate {
    float score;
    uint32_t left;
    uint32_t right;
    uint32_t size;
  };
  struct ComesLater {
    bool operator()(const Candidate& a, const Candidate& b) const {
      return a.score < b.score || (a.score == b.score && a.left > b.left);
    }
  };

  void split_symbols() {
    symbols_.reserve(text_.size());
    for (size_t at = 0; at < text_.size();) {
      const ByteTrie::Match frozen = model_.options_.user_defined.longest_prefix(text_, at);
      const size_t size = frozen.size > 0 ? frozen.size : utf8::decode(text_.substr(at)).size;
      const auto index = static_cast<uint32_t>(symbols_.size());
      symbols_.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(size),
                          index == 0 ? kEnd : index - 1, index + 1, frozen.size > 0});
      at += size;
    }
    if (!symbols_.empty()) symbols_.back().next = kEnd;
  }

  std::optional<Candidate> consider(uint32_t left, uint32_t right) {
    if (left == kEnd || right == kEnd) return std::nullopt;
    if (symbols_[left].is_frozen || symbols_[right].is_frozen) return std::nullopt;
    const uint32_t size = symbols_[left].size + symbols_[right].size;
    const std::string_view together = text_.substr(symbols_[left].begin, size);
    const std::optional<TokenId> id = model_.entry(together);
    if (!id) return std::nullopt;
    const auto index = static_cast<size_t>(*id);
    if (model_.has_unused_ && model_.options_.is_unused[index]) {
      unused_[together] = symbols_[left].size;
    }
    return Candidate{model_.scores_[index], left, right, size};
  }

  void merge(const Candidate& best) {
    Symbol& left = symbols_[best.left];
    Symbol& right = symbols_[best.right];
    if (left.size == 0 || right.size == 0 || left.size + right.size != best.size)
      return;  // outdated
    left.size = best.size;
    right.size = 0;
    left.next = right.next;
    if (left.next != kEnd) symbols_[left.next].previous = best.left;
    for (const auto& candidate :
         {consider(left.previous, best.left), consider(best.left, left.next)}) {
      if (!candidate) continue;
      heap_.push_back(*candidate);
      std::push_heap(heap_.begin(), heap_.end(), ComesLater{});
    }
  }

  const ScoreBpe& model_;
  std::string_view text_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
  std::unordered_map<std::string_view, size_t> unused_;
};

ScoreBpe::ScoreBpe(const Vocabulary& vocabulary, std::vector<float> scores, ScoreBpeOptions options)
    : vocabulary_(&vocabulary), scores_(std::move(scores)), options_(std::move(options)) {
  options_.is_excluded.resize(vocabulary.size(), false);
  options_.is_unused.resize(vocabulary.size(), false);
  scores_.resize(vocabulary.size(), 0.0F);
  has_unused_ = std::find(options_.is_unused.begin(), options_.is_unused.end(), true) !=
                options_.is_unused.end();
  for (size_t byte = 0; byte < byte_pieces_.size(); ++byte) {
    byte_pieces_[byte] = vocabulary.find(byte_piece(static_cast<uint8_t>(byte))).value_or(-1);
  }
}

std::optional<TokenId> ScoreBpe::entry(std::string_view text) const {
  const std::optional<TokenId> id = vocabulary_->find(text);
  if (!id || options_.is_excluded[static_cast<size_t>(*id)]) return std::nullopt;
  return id;
}

// The id of a symbol's text; bytes or an unknown where it has none. Neighbouring unknowns are one.
void ScoreBpe::add_text(std::string_view text, TokenSink& out, bool& is_after_unknown) const {
  if (const std::optional<TokenId> id = entry(text)) {
    out.add(*id);
    is_after_unknown = false;
    return;
  }
  const bool has_bytes =
      options_.byte_fallback && std::all_of(text.begin(), text.end(), [&](char byte) {
        return byte_pieces_[static_cast<uint8_t>(byte)] >= 0;
      });
  if (has_bytes) {
    for (const char byte : text)
      out.add(byte_pieces_[static_cast<uint8_t>(byte)]);
  } else if (options_.unk && !is_after_unknown) {
    out.add(*options_.unk, text);
  } else if (is_after_unknown && out.wants_surfaces && !out.surfaces.empty()) {
    out.surfaces.back().second += text;
  }
  is_after_unknown = !has_bytes;
}

Status ScoreBpe::encode(std::string_view piece, TokenSink& out) const {
  if (piece.size() > std::numeric_limits<uint32_t>::max() / 8) {
    return Status::resource_exhausted("a text of {} bytes without a break is too long",
                                      piece.size());
  }
  Merging merging(*this, piece);
  merging.run();
  bool is_after_unknown = false;
  std::vector<std::string_view> parts;  // a stack: unused entries are taken apart, left part first
  const std::vector<Symbol>& symbols = merging.symbols();
  for (uint32_t i = symbols.empty() ? kEnd : 0; i != kEnd; i = symbols[i].next) {
    parts.assign(1, merging.text(symbols[i]));
    while (!parts.empty()) {
      const std::string_view text = parts.back();
      parts.pop_back();
      const std::optional<TokenId> id = has_unused_ ? entry(text) : std::nullopt;
      const bool is_unused = id && options_.is_unused[static_cast<size_t>(*id)];
      const size_t left = is_unused ? merging.left_size(text) : 0;
      if (left == 0) {
        add_text(text, out, is_after_unknown);
      } else {
        parts.push_back(text.substr(left));
        parts.push_back(text.substr(0, left));
      }
    }
  }
  return Status::ok();
}

}  // namespace ingot::tok
