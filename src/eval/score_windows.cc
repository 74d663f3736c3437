// SPDX-License-Identifier: Apache-2.0
#include "eval/score_windows.h"

#include <algorithm>

namespace ingot {
namespace {

Status too_short(int64_t tokens, int64_t needed, int64_t context) {
  return Status::invalid_argument(
      "the text has {} tokens, at least {} are needed for windows of {}; give a longer text or a "
      "smaller --ctx-size",
      tokens, needed, context);
}

Status validate(const WindowOptions& options) {
  if (options.context < 4)
    return Status::invalid_argument("a window of {} tokens is too small; use 4 or more",
                                    options.context);
  const bool needs_stride = options.protocol == Protocol::kHuggingFace;
  if (options.stride < (needs_stride ? 1 : 0) || options.stride >= options.context)
    return Status::invalid_argument("the stride is {}, it must be from 1 to {}{}", options.stride,
                                    options.context - 1, needs_stride ? "" : " (or 0: none)");
  if (options.stride > 0 && options.protocol == Protocol::kWindows)
    return Status::invalid_argument("a stride and windows scored whole exclude each other");
  return Status::ok();
}

// Windows move by the stride until one reaches the end; each scores what the one before did not
// reach, the first everything but its first token.
std::vector<ScoreWindow> strided_windows(int64_t tokens, const WindowOptions& options) {
  std::vector<ScoreWindow> windows;
  int64_t scored = 1;
  for (int64_t begin = 0; scored < tokens; begin += options.stride) {
    if (options.max_chunks >= 0 && static_cast<int64_t>(windows.size()) >= options.max_chunks)
      break;
    const int64_t end = std::min(begin + options.context, tokens);
    windows.push_back({begin, end - begin, scored - begin, BosUse::kNone});
    scored = end;
  }
  return windows;
}

}  // namespace

std::string_view to_string(Protocol protocol) {
  switch (protocol) {
    case Protocol::kHuggingFace:
      return "hf";
    case Protocol::kWindows:
      return "windows";
    case Protocol::kLlama:
      break;
  }
  return "llama";
}

Result<Protocol> parse_protocol(std::string_view name) {
  for (const Protocol protocol : {Protocol::kLlama, Protocol::kHuggingFace, Protocol::kWindows}) {
    if (to_string(protocol) == name) return protocol;
  }
  return Status::invalid_argument("the protocol is '{}' but must be llama, hf or windows", name);
}

Result<std::vector<ScoreWindow>> plan_windows(int64_t tokens, const WindowOptions& options) {
  INGOT_TRY(validate(options));
  const bool has_bos = options.adds_bos && options.bos >= 0;
  const int64_t context = options.context;

  ScoreWindow shape{.size = context};
  int64_t step = context;
  int64_t needed = 2 * context;
  int64_t count = tokens / context;
  if (options.protocol == Protocol::kHuggingFace) {
    if (tokens < 2) return too_short(tokens, 2, context);
    std::vector<ScoreWindow> windows = strided_windows(tokens, options);
    if (windows.empty()) return Status::invalid_argument("no window to score; raise --chunks");
    return windows;
  }
  if (options.protocol == Protocol::kWindows) {
    // Only whole windows, as the published numbers were taken.
    if (has_bos)
      shape = {.size = context - 1, .first_scored = 0, .bos = BosUse::kPrepended};
    else
      shape.first_scored = 1;
    step = needed = shape.size;
    count = tokens / step;
  } else if (options.stride > 0) {
    // llama-perplexity decodes strided windows without a bos, whatever the model says.
    shape.first_scored = context - options.stride;
    step = options.stride;
    count = (tokens - context + step - 1) / step;
  } else {
    // Rows context/2 ... context-2 of each chunk count; they predict the tokens one further.
    shape.first_scored = context / 2 + 1;
    if (has_bos) shape.bos = BosUse::kReplacesFirst;
  }
  if (tokens < needed) return too_short(tokens, needed, context);
  if (options.max_chunks >= 0) count = std::min(count, options.max_chunks);

  std::vector<ScoreWindow> windows;
  windows.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    shape.begin = i * step;
    windows.push_back(shape);
  }
  if (windows.empty()) return Status::invalid_argument("no window to score; raise --chunks");
  return windows;
}

}  // namespace ingot
