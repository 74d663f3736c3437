// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/models/least_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"

namespace ingot::tok {

namespace {

constexpr double kCostsPerScore = 1e4;
constexpr int64_t kUnknownCost = 10'000'000;
constexpr double kMostCost = 2e7;  // entries from here on are never taken
constexpr std::string_view kByteOrderMark = "\uFEFF";

}  // namespace

Result<TokenModelPtr> LeastCost::make(std::span<const Entry> entries,
                                      const Vocabulary& vocabulary) {
  auto model = std::make_unique<LeastCost>();
  for (size_t byte = 0; byte < model->byte_pieces_.size(); ++byte) {
    const std::string text = byte_piece(static_cast<uint8_t>(byte));
    const std::optional<TokenId> id = vocabulary.find(text);
    if (!id) return Status::invalid_data("the vocabulary lacks the byte token '{}'", text);
    model->byte_pieces_[byte] = *id;
  }
  std::vector<std::pair<std::string_view, uint32_t>> keys;
  for (const Entry& entry : entries) {
    // An entry that is never taken still hides an earlier one with its text.
    const double cost = -std::round(static_cast<double>(entry.score) * kCostsPerScore);
    keys.emplace_back(entry.text, static_cast<uint32_t>(model->entries_.size()));
    const bool is_taken = std::isfinite(cost) && cost < kMostCost;
    model->entries_.push_back({is_taken ? entry.id : -1,
                               is_taken ? static_cast<int32_t>(std::max(cost, -kMostCost)) : 0});
  }
  model->trie_ = ByteTrie(std::move(keys));
  return TokenModelPtr(std::move(model));
}

LeastCost::Step LeastCost::best_from(std::string_view text, size_t begin,
                                     const std::vector<Step>& steps) const {
  Step best{std::numeric_limits<int64_t>::max(), 0, -1};
  uint32_t node = trie_.is_empty() ? ByteTrie::kNone : ByteTrie::kRoot;
  for (size_t at = begin; at < text.size() && node != ByteTrie::kNone;) {
    node = trie_.child(node, static_cast<uint8_t>(text[at++]));
    if (node == ByteTrie::kNone || trie_.value(node) == ByteTrie::kNone) continue;
    const Priced& entry = entries_[trie_.value(node)];
    const int64_t cost = steps[at].cost + entry.cost;
    if (entry.id >= 0 && cost <= best.cost)
      best = {cost, static_cast<uint32_t>(at - begin), entry.id};
  }
  const size_t char_size = utf8::decode(text.substr(begin)).size;
  const int64_t cost = steps[begin + char_size].cost + kUnknownCost;
  if (cost < best.cost) best = {cost, static_cast<uint32_t>(char_size), -1};
  return best;
}

Status LeastCost::encode(std::string_view piece, TokenSink& out) const {
  if (piece.size() >= std::numeric_limits<uint32_t>::max()) {
    return Status::resource_exhausted("a text of {} bytes without a break is too long",
                                      piece.size());
  }
  if (piece.starts_with(kByteOrderMark)) piece.remove_prefix(kByteOrderMark.size());
  std::vector<Step> steps(piece.size() + 1, Step{0, 0, -1});
  for (size_t at = piece.size(); at-- > 0;) {
    const bool is_inside_char = (static_cast<uint8_t>(piece[at]) & 0xC0) == 0x80;
    if (!is_inside_char) steps[at] = best_from(piece, at, steps);
  }
  for (size_t at = 0; at < piece.size(); at += steps[at].size) {
    const Step& step = steps[at];
    if (step.id >= 0) {
      out.add(step.id);
    } else {
      for (const char byte : piece.substr(at, step.size))
        out.add(byte_pieces_[static_cast<uint8_t>(byte)]);
    }
  }
  return Status::ok();
}

}  // namespace ingot::tok
