// SPDX-License-Identifier: Apache-2.0
#include "bench/workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "engine/random.h"

namespace ingot {
namespace {

constexpr std::array<std::pair<std::string_view, WorkloadKind>, 4> kKindNames = {{
    {"random", WorkloadKind::kRandom},
    {"chat", WorkloadKind::kChat},
    {"fewshot", WorkloadKind::kFewShot},
    {"shared-prefix", WorkloadKind::kSharedPrefix},
}};

// Streams of one seed: what is drawn for one purpose never moves another.
enum Stream : uint64_t { kPrefix = 1, kInputs = 2, kOutputs = 3, kTexts = 16 };

uint64_t seed_of(uint64_t seed, uint64_t stream) {
  return random_bits(seed, stream);
}

// Spread evenly, so that the first requests already are a fair sample.
bool has_prefix(int64_t index, double fraction) {
  const auto until = [&](int64_t i) {
    return std::floor(static_cast<double>(i) * fraction + 1e-9);
  };
  return until(index + 1) > until(index);
}

}  // namespace

Result<WorkloadKind> parse_workload(std::string_view name) {
  for (const auto& [known, kind] : kKindNames)
    if (name == known) return kind;
  return Status::invalid_argument(
      "--workload is '{}' but must be random, chat, fewshot, shared-prefix or stall", name);
}

std::string_view to_string(WorkloadKind kind) {
  for (const auto& [name, known] : kKindNames)
    if (kind == known) return name;
  return "unknown";
}

WorkloadOptions default_workload(WorkloadKind kind) {
  WorkloadOptions options;
  options.kind = kind;
  switch (kind) {
    case WorkloadKind::kRandom:
      options.input = {128, 512, {}};
      options.output = {32, 96, {}};
      break;
    case WorkloadKind::kChat:
      options.shared_prefix = 256;
      options.input = {16, 64, {}};
      options.output = {32, 64, {}};
      break;
    case WorkloadKind::kFewShot:
      options.num_prompts = 32;
      options.shared_prefix = 1024;
      options.input = {16, 48, {}};
      options.output = {4, 8, {}};
      break;
    case WorkloadKind::kSharedPrefix:
      options.num_prompts = 32;
      options.shared_prefix = 512;
      options.input = {32, 32, {}};
      options.output = {16, 16, {}};
      break;
  }
  return options;
}

std::vector<TokenId> random_text(uint64_t seed, uint64_t stream, int64_t tokens, int64_t vocab) {
  const uint64_t own = seed_of(seed, stream);
  std::vector<TokenId> ids(static_cast<size_t>(tokens));
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<TokenId>(random_bits(own, i) % static_cast<uint64_t>(vocab));
  return ids;
}

Workload make_workload(const WorkloadOptions& options) {
  const bool is_chat = options.kind == WorkloadKind::kChat;
  const int64_t conversations = is_chat ? options.users : options.num_prompts;
  const int64_t turns = is_chat ? options.turns : 1;
  const std::vector<TokenId> prefix =
      random_text(options.seed, kPrefix, options.shared_prefix, options.vocab);
  Workload workload;
  uint64_t drawn = 0;
  for (int64_t i = 0; i < conversations; ++i) {
    Conversation& conversation = workload.conversations.emplace_back();
    for (int64_t t = 0; t < turns; ++t, ++drawn) {
      Turn& turn = conversation.turns.emplace_back();
      if (t == 0 && has_prefix(i, options.prefix_fraction)) turn.text = prefix;
      turn.prefix_tokens = turn.text.size();
      const std::vector<TokenId> own =
          random_text(options.seed, kTexts + drawn,
                      options.input.draw(seed_of(options.seed, kInputs), drawn), options.vocab);
      turn.text.insert(turn.text.end(), own.begin(), own.end());
      turn.answer_tokens = options.output.draw(seed_of(options.seed, kOutputs), drawn);
    }
  }
  return workload;
}

int64_t Workload::requests() const {
  int64_t count = 0;
  for (const Conversation& conversation : conversations)
    count += static_cast<int64_t>(conversation.turns.size());
  return count;
}

int64_t Workload::output_tokens() const {
  int64_t tokens = 0;
  for (const Conversation& conversation : conversations) {
    for (const Turn& turn : conversation.turns)
      tokens += turn.answer_tokens;
  }
  return tokens;
}

int64_t Workload::longest() const {
  int64_t longest = 0;
  for (const Conversation& conversation : conversations) {
    int64_t tokens = 0;
    for (const Turn& turn : conversation.turns)
      tokens += static_cast<int64_t>(turn.text.size()) + turn.answer_tokens;
    longest = std::max(longest, tokens);
  }
  return longest;
}

}  // namespace ingot
