// SPDX-License-Identifier: Apache-2.0
#include "cli/workload_flags.h"

namespace ingot {

void add_workload_flags(CLI::App& command, WorkloadFlags& flags,
                        const WorkloadFlagsFor& benchmark) {
  constexpr const char* kGroup = "Workload";
  const auto add = [&](const char* name, auto& value, const char* help, const char* type) {
    return command.add_option(name, value, help)->type_name(type)->group(kGroup);
  };
  const CLI::Range counts(int64_t{1}, int64_t{1} << 20);
  std::vector<std::string> kinds = {"random", "chat", "fewshot", "shared-prefix"};
  if (benchmark.has_stall) kinds.emplace_back("stall");
  add("--workload", flags.kind,
      benchmark.has_stall ? "random, chat, fewshot, shared-prefix or stall"
                          : "random, chat, fewshot or shared-prefix",
      "NAME")
      ->check(CLI::IsMember(kinds))
      ->capture_default_str();
  add("--num-prompts", flags.num_prompts, "Requests (of a chat: --users times --turns)", "N")
      ->check(counts);
  add("--input-len", flags.input_len,
      benchmark.has_stall
          ? "Tokens of each prompt's own text: 128, 128:512 or 64,128 (stall: of the long prompt)"
          : "Tokens of each prompt's own text: 128, 128:512 or 64,128",
      "LEN");
  add("--output-len", flags.output_len, "Tokens of each answer, likewise", "LEN");
  add("--shared-prefix", flags.shared_prefix,
      "Tokens all prompts begin with (chat: the system prompt)", "N")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 30));
  add("--prefix-fraction,--prefix-share", flags.prefix_fraction,
      "... but only this part of the prompts", "X")
      ->check(CLI::Range(0.0, 1.0));
  add("--users", flags.users, "chat: conversations (8)", "N")->check(counts);
  add("--turns", flags.turns, "chat: turns of each (6)", "N")->check(counts);
}

Result<WorkloadOptions> workload_options(const WorkloadFlags& flags, uint64_t seed, int64_t vocab) {
  INGOT_TRY(const WorkloadKind kind, parse_workload(flags.kind));
  WorkloadOptions options = default_workload(kind);
  options.seed = seed;
  options.vocab = vocab;
  options.num_prompts = flags.num_prompts.value_or(options.num_prompts);
  options.shared_prefix = flags.shared_prefix.value_or(options.shared_prefix);
  options.prefix_fraction = flags.prefix_fraction.value_or(options.prefix_fraction);
  options.users = flags.users.value_or(options.users);
  options.turns = flags.turns.value_or(options.turns);
  if (!flags.input_len.empty()) {
    INGOT_TRY(options.input, parse_lengths(flags.input_len, "--input-len", 1));
  }
  if (!flags.output_len.empty()) {
    INGOT_TRY(options.output, parse_lengths(flags.output_len, "--output-len", 1));
  }
  return options;
}

}  // namespace ingot
