// SPDX-License-Identifier: Apache-2.0
// What a throughput benchmark asks, as data: conversations of one or more turns. A turn's prompt is
// all that was said before (answers included) and its own text. Ids are random: no tokenizer
// needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "bench/lengths.h"
#include "ingot/sampling.h"

namespace ingot {

enum class WorkloadKind : uint8_t {
  kRandom,        // independent prompts, a part of which may share a prefix
  kChat,          // users x turns over one system prompt
  kFewShot,       // questions over the same examples
  kSharedPrefix,  // as kRandom with a prefix; meant to be run with and without prefix caching
};
Result<WorkloadKind> parse_workload(std::string_view name);
std::string_view to_string(WorkloadKind kind);

struct WorkloadOptions {
  WorkloadKind kind = WorkloadKind::kRandom;
  uint64_t seed = 0;
  int64_t vocab = 0;
  int64_t num_prompts = 16;  // not of a chat
  int64_t users = 8;         // of a chat
  int64_t turns = 6;         // of a chat
  Lengths input;             // of each prompt's (each turn's) own text
  Lengths output;
  int64_t shared_prefix = 0;   // tokens: prefix, examples or system prompt
  double prefix_fraction = 1;  // of the prompts, that begin with it
};
// Sensible lengths and numbers of that kind; seed and vocab are the caller's.
WorkloadOptions default_workload(WorkloadKind kind);

struct Turn {
  std::vector<TokenId> text;
  int64_t answer_tokens = 0;
  size_t prefix_tokens = 0;  // of the text, that other conversations begin with too
};
struct Conversation {
  std::vector<Turn> turns;
};
struct Workload {
  std::vector<Conversation> conversations;

  int64_t requests() const;
  int64_t output_tokens() const;
  int64_t longest() const;  // conversation, in tokens with all answers
};

// A pure function of the options.
Workload make_workload(const WorkloadOptions& options);
// `stream` keeps texts of one seed apart.
std::vector<TokenId> random_text(uint64_t seed, uint64_t stream, int64_t tokens, int64_t vocab);

}  // namespace ingot
