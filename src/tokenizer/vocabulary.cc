// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/vocabulary.h"

#include <algorithm>
#include <functional>

#include "base/limits.h"

namespace ingot::tok {

namespace {

// Ids may have holes, but the table of ids must not dwarf the file it came from.
constexpr size_t kSpareIds = size_t{1} << 20;

uint32_t hash_of(std::string_view text) {
  const size_t hash = std::hash<std::string_view>{}(text);
  return static_cast<uint32_t>(hash ^ (hash >> 32));
}

}  // namespace

Status Vocabulary::insert(std::string_view piece, int64_t id, std::string_view source) {
  if (piece.size() > limits::kTokenBytes) {
    return Status::invalid_data("{}: the token with id {} has {} bytes; at most {} are allowed",
                                source, id, piece.size(), limits::kTokenBytes);
  }
  if (id < 0 || id >= limits::kVocab || static_cast<uint64_t>(id) > 2 * count_ + kSpareIds) {
    return Status::invalid_data(
        "{}: token id {} is out of range (the vocabulary has {} tokens so far)", source, id,
        count_);
  }
  if (arena_.size() + piece.size() >= kHole) {
    return Status::resource_exhausted("{}: the vocabulary's text exceeds 4 GiB", source);
  }
  if (static_cast<size_t>(id) >= entries_.size()) entries_.resize(static_cast<size_t>(id) + 1);
  if (2 * (count_ + 1) > slots_.size()) grow();

  const uint32_t hash = hash_of(piece);
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].id >= 0 &&
         (slots_[at].hash != hash || text(slots_[at].offset, slots_[at].size) != piece)) {
    at = (at + 1) & mask;
  }
  if (slots_[at].id < 0) {
    slots_[at] = {hash, 0, static_cast<uint32_t>(arena_.size()),
                  static_cast<uint32_t>(piece.size())};
    arena_.append(piece);
    ++count_;
    longest_ = std::max(longest_, piece.size());
  }
  slots_[at].id = static_cast<TokenId>(id);
  entries_[static_cast<size_t>(id)] = {slots_[at].offset, slots_[at].size};
  return Status::ok();
}

void Vocabulary::grow() {
  std::vector<Slot> old = std::move(slots_);
  slots_.assign(std::max<size_t>(64, old.size() * 2), Slot{});
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id < 0) continue;
    size_t at = slot.hash & mask;
    while (slots_[at].id >= 0)
      at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

std::optional<TokenId> Vocabulary::find(std::string_view piece) const {
  if (slots_.empty() || piece.size() > longest_) return std::nullopt;
  const uint32_t hash = hash_of(piece);
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask; slots_[at].id >= 0; at = (at + 1) & mask) {
    if (slots_[at].hash == hash && text(slots_[at].offset, slots_[at].size) == piece) {
      return slots_[at].id;
    }
  }
  return std::nullopt;
}

bool Vocabulary::has(TokenId id) const {
  return id >= 0 && static_cast<size_t>(id) < entries_.size() &&
         entries_[static_cast<size_t>(id)].offset != kHole;
}

std::string_view Vocabulary::piece(TokenId id) const {
  if (!has(id)) return {};
  const Entry& entry = entries_[static_cast<size_t>(id)];
  return text(entry.offset, entry.size);
}

}  // namespace ingot::tok
