// SPDX-License-Identifier: Apache-2.0
#include "cli/run_stats.h"

#include <fmt/core.h>

namespace ingot {
namespace {

std::string speed(int64_t tokens, double seconds) {
  if (tokens <= 0 || seconds <= 0) return fmt::format("{:.2f} s", seconds);
  return fmt::format("{:.2f} s, {:.1f} tokens/s", seconds, static_cast<double>(tokens) / seconds);
}

}  // namespace

std::string describe(const RunStats& stats) {
  const std::string cached =
      stats.reused_tokens > 0 ? fmt::format(" ({} cached)", stats.reused_tokens) : "";
  // The first answer token falls out of the prompt's own pass.
  return fmt::format("prompt: {} tokens{} in {}; answer: {} tokens in {}", stats.prompt_tokens,
                     cached, speed(stats.prompt_tokens - stats.reused_tokens, stats.prompt_seconds),
                     stats.answer_tokens, speed(stats.answer_tokens - 1, stats.decode_seconds));
}

}  // namespace ingot
