// SPDX-License-Identifier: Apache-2.0
// Any bytes as a model's answer: the first byte chooses the format and how the text is cut. What is
// told must not depend on the cuts.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "api/tool_parser.h"

namespace {

using ingot::AnswerPiece;

std::vector<AnswerPiece> told(const ingot::ToolParserOptions& options, std::string_view text,
                              size_t part) {
  const auto parser = ingot::make_tool_parser(options);
  std::vector<AnswerPiece> all;
  for (size_t at = 0; at < text.size(); at += part)
    parser->push(text.substr(at, part), all);
  parser->finish(all);
  return all;
}

bool is_same(const std::vector<AnswerPiece>& a, const std::vector<AnswerPiece>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].kind != b[i].kind || a[i].text != b[i].text || a[i].call != b[i].call) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  constexpr ingot::ToolFormat kFormats[] = {
      ingot::ToolFormat::kHermes, ingot::ToolFormat::kLlamaJson, ingot::ToolFormat::kPythonic,
      ingot::ToolFormat::kMistral};
  const uint8_t choice = data[0];
  const ingot::ToolParserOptions options{.format = kFormats[choice % 4],
                                         .names = {"f", "g"},
                                         .only_first = (choice & 4) != 0,
                                         .holds_calls = (choice & 8) != 0};
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t part = 1 + (choice >> 4);
  if (!is_same(told(options, text, size), told(options, text, part))) std::abort();
  return 0;
}
