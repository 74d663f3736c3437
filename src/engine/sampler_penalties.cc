// SPDX-License-Identifier: Apache-2.0
#include "engine/sampler_penalties.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ingot {
namespace {

constexpr float kBanned = -std::numeric_limits<float>::infinity();
constexpr double kLargestPenaltyLog = 88.7;  // e^ this is about the largest float

std::span<const TokenId> last(std::span<const TokenId> tokens, int32_t count) {
  if (count < 0 || static_cast<size_t>(count) >= tokens.size()) return tokens;
  return tokens.last(static_cast<size_t>(count));
}

bool ends_with(std::span<const TokenId> tokens, std::span<const TokenId> end) {
  return tokens.size() >= end.size() && std::ranges::equal(tokens.last(end.size()), end);
}

// Z-function of the tokens read backwards: repeats[k] is how many tokens before (and with) the one
// k from the end agree with those at the end.
void count_repeats(std::span<const TokenId> tokens, std::vector<int32_t>& repeats) {
  const size_t size = tokens.size();
  const auto at = [&](size_t from_end) { return tokens[size - 1 - from_end]; };
  repeats.assign(size, 0);
  size_t left = 0;  // the repeat found so far that reaches farthest is [left, right)
  size_t right = 0;
  for (size_t k = 1; k < size; ++k) {
    size_t length = 0;
    if (k < right) length = std::min(right - k, static_cast<size_t>(repeats[k - left]));
    while (k + length < size && at(length) == at(k + length))
      ++length;
    repeats[k] = static_cast<int32_t>(length);
    if (k + length > right) {
      left = k;
      right = k + length;
    }
  }
}

bool bans_ends(const SamplingParams& params, const SequenceView& sequence) {
  return static_cast<int64_t>(sequence.answer().size()) < params.min_tokens;
}

bool has_bans(const SamplingParams& params, const SequenceView& sequence) {
  return !params.logit_bias.empty() || !params.bad_words.empty() || bans_ends(params, sequence);
}

// add(id, bias) for each, in the order in which they count.
template <class Add>
void for_each_ban(const SamplingParams& params, const SequenceView& sequence, Add&& add) {
  for (const auto& [id, bias] : params.logit_bias)
    add(id, bias);
  if (bans_ends(params, sequence)) {
    for (const TokenId id : params.stop_token_ids)
      add(id, kBanned);
    if (!params.ignore_eos) {
      for (const TokenId id : params.eos_ids)
        add(id, kBanned);
    }
  }
  for (const std::vector<TokenId>& word : params.bad_words) {
    if (ends_with(sequence.answer(), std::span(word).first(word.size() - 1)))
      add(word.back(), kBanned);
  }
}

// First: it occurred; second: how often it counts for presence and frequency. False: nothing to do.
bool count_tokens(const SamplingParams& params, const SequenceView& sequence, size_t vocab,
                  TokenTable& table) {
  const std::span<const TokenId> window = last(sequence.history, params.repeat_last_n);
  if (!has_penalties(params) || window.empty()) return false;
  const size_t before = sequence.history.size() - window.size();
  table.reset(vocab);
  for (size_t i = 0; i < window.size(); ++i) {
    TokenTable::Entry& entry = table.touch(window[i]);
    entry.first = 1;
    if (params.penalize_prompt || before + i >= sequence.prompt_size) ++entry.second;
  }
  return true;
}

float penalty_of(const SamplingParams& params, const TokenTable::Entry& entry) {
  if (entry.second == 0) return 0;
  return params.presence_penalty + params.frequency_penalty * static_cast<float>(entry.second);
}

}  // namespace

void TokenTable::reset(size_t vocab) {
  for (const TokenId id : touched_)
    entries_[static_cast<size_t>(id)] = {};
  touched_.clear();
  if (entries_.size() < vocab) entries_.resize(vocab);
}

TokenTable::Entry& TokenTable::touch(TokenId id) {
  if (id < 0 || static_cast<size_t>(id) >= entries_.size()) return outside_;
  Entry& entry = entries_[static_cast<size_t>(id)];
  if (entry.first == 0 && entry.second == 0) touched_.push_back(id);
  return entry;
}

void TokenTable::forgive(TokenId id) {
  if (id < 0 || static_cast<size_t>(id) >= entries_.size()) return;
  Entry& entry = entries_[static_cast<size_t>(id)];
  if (entry.first > 0) entry.first = -1;
}

template <class Function>
void TokenTable::for_each(Candidates& candidates, Function&& function) {
  const std::span<float> logits = candidates.edit();
  if (candidates.is_all()) {
    for (const TokenId id : touched_) {
      if (static_cast<size_t>(id) < logits.size())
        function(logits[static_cast<size_t>(id)], entries_[static_cast<size_t>(id)]);
    }
  } else {
    for (size_t i = 0; i < logits.size(); ++i) {
      const Entry& entry = entries_[static_cast<size_t>(candidates.id(i))];
      if (entry.first != 0 || entry.second != 0) function(logits[i], entry);
    }
  }
  candidates.rescan();
}

void apply_bans(const SamplingParams& params, const SequenceView& sequence,
                Candidates& candidates) {
  if (!has_bans(params, sequence)) return;
  const std::span<float> logits = candidates.edit();
  for_each_ban(params, sequence, [&](TokenId id, float bias) {
    if (id >= 0 && static_cast<size_t>(id) < logits.size()) logits[static_cast<size_t>(id)] += bias;
  });
  candidates.rescan();
}

bool has_penalties(const SamplingParams& params) {
  const bool is_off = params.repetition_penalty == 1 && params.presence_penalty == 0 &&
                      params.frequency_penalty == 0;
  return !is_off && params.repeat_last_n != 0;
}

void apply_penalties(const SamplingParams& params, const SequenceView& sequence,
                     PenaltyScratch& scratch, Candidates& candidates) {
  if (!count_tokens(params, sequence, candidates.vocab(), scratch.table)) return;
  scratch.table.for_each(candidates, [&](float& logit, const TokenTable::Entry& entry) {
    logit = logit > 0 ? logit / params.repetition_penalty : logit * params.repetition_penalty;
    logit -= penalty_of(params, entry);
  });
}

void list_edits(const SamplingParams& params, const SequenceView& sequence, size_t vocab,
                bool penalizes, PenaltyScratch& scratch, std::vector<LogitEdit>& edits) {
  edits.clear();
  if (has_bans(params, sequence)) {
    for_each_ban(params, sequence, [&](TokenId id, float bias) {
      if (id >= 0 && static_cast<size_t>(id) < vocab) edits.push_back({id, 1, bias});
    });
  }
  if (penalizes && count_tokens(params, sequence, vocab, scratch.table)) {
    for (const TokenId id : scratch.table.touched()) {
      if (static_cast<size_t>(id) >= vocab) continue;
      const float penalty = penalty_of(params, scratch.table.entry(id));
      edits.push_back({id, params.repetition_penalty, -penalty});
    }
  }
  std::ranges::stable_sort(edits, {}, &LogitEdit::id);
}

size_t tokens_since_breaker(std::span<const TokenId> tokens,
                            const std::vector<std::vector<TokenId>>& sorted_breakers) {
  if (sorted_breakers.empty()) return tokens.size();
  for (size_t i = 0; i < tokens.size(); ++i) {
    // Those breakers that agree with the tokens from here on, narrowed token by token.
    const std::span<const TokenId> here = tokens.last(i + 1);
    auto begin = sorted_breakers.begin();
    auto end = sorted_breakers.end();
    size_t longest = 0;
    for (size_t length = 1; length <= here.size() && begin != end; ++length) {
      const TokenId token = here[length - 1];
      const auto token_at = [&](const std::vector<TokenId>& breaker) {
        return breaker.size() < length ? TokenId{-1} : breaker[length - 1];  // shorter ones first
      };
      begin = std::ranges::lower_bound(begin, end, token, {}, token_at);
      end = std::ranges::upper_bound(begin, end, token, {}, token_at);
      if (begin != end && begin->size() == length) longest = length;
    }
    if (longest > 0) return i + 1 - longest;
  }
  return tokens.size();
}

bool has_dry(const SamplingParams& params) {
  return params.dry_multiplier != 0 && params.dry_base >= 1 && params.dry_penalty_last_n != 0;
}

bool reads_history(const SamplingParams& params) {
  const bool has_phrases = std::ranges::any_of(
      params.bad_words, [](const std::vector<TokenId>& word) { return word.size() > 1; });
  return has_phrases || has_penalties(params) || has_dry(params);
}

void apply_dry(const SamplingParams& params, const SequenceView& sequence, PenaltyScratch& scratch,
               Candidates& candidates) {
  if (!has_dry(params)) return;
  const std::span<const TokenId> window = last(sequence.history, params.dry_penalty_last_n);
  const auto allowed = static_cast<size_t>(params.dry_allowed_length);
  if (window.size() <= allowed) return;
  const size_t limit = tokens_since_breaker(window, params.dry_breakers);
  if (limit < allowed) return;

  count_repeats(window, scratch.repeats);
  // First: 1 + the longest repeat that this token would go on with.
  scratch.table.reset(candidates.vocab());
  bool has_any = false;
  for (size_t k = 1; k < window.size(); ++k) {
    const size_t repeat = std::min(static_cast<size_t>(scratch.repeats[k]), limit);
    if (repeat < allowed) continue;
    TokenTable::Entry& entry = scratch.table.touch(window[window.size() - k]);
    entry.first = std::max(entry.first, static_cast<int32_t>(repeat) + 1);
    has_any = true;
  }
  if (!has_any) return;
  for (const std::vector<TokenId>& breaker : params.dry_breakers) {
    if (breaker.size() == 1) scratch.table.forgive(breaker.front());
  }
  const double base = static_cast<double>(params.dry_base);
  const double most = base > 1.000001 ? kLargestPenaltyLog / std::log(base) : 1e9;
  scratch.table.for_each(candidates, [&](float& logit, const TokenTable::Entry& entry) {
    if (entry.first < 0) return;
    const double power =
        std::min(static_cast<double>(entry.first) - 1.0 - static_cast<double>(allowed), most);
    const double penalty = static_cast<double>(params.dry_multiplier) * std::pow(base, power);
    logit -= static_cast<float>(std::min(penalty, 1e30));
  });
}

}  // namespace ingot
