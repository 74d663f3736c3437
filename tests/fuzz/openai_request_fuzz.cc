// SPDX-License-Identifier: Apache-2.0
// Any bytes as the body of a request: the first byte chooses the endpoint.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/openai_request.h"

namespace {

const ingot::OpenAiParser& parser() {
  static const ingot::OpenAiParser kParser(
      {.sampling = {},
       .tokenizer = ingot::Tokenizer::from_tokenizer_json(
                        R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]},
                            "pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,
                            "use_regex":false},"decoder":{"type":"ByteLevel"}})",
                        "tokenizer.json")
                        .value(),
       .vocab = 100,
       .tool_format = ingot::ToolFormat::kHermes,
       .reasoning = ingot::ReasoningMarks{"<think>", "</think>"}});
  return kParser;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto endpoint =
      data[0] % 2 == 0 ? ingot::OpenAiEndpoint::kChat : ingot::OpenAiEndpoint::kCompletions;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  (void)parser().parse_text(endpoint, body);
  return 0;
}
