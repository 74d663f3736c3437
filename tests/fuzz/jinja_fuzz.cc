// SPDX-License-Identifier: Apache-2.0
// Any bytes as a chat template, rendered over a small fixed conversation with tools.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "tokenizer/chat_template.h"

namespace {

ingot::ChatInput make_input() {
  ingot::ChatInput input;
  input.messages = ingot::parse_json(R"([
      {"role": "system", "content": "Be brief, précis."},
      {"role": "user", "content": [{"type": "text", "text": "<b>Grüße</b> & 日本語"}, {"type": "image"}]},
      {"role": "assistant", "content": null, "tool_calls": [{"type": "function", "id": "a1",
        "function": {"name": "add", "arguments": {"x": 1, "y": -2.5, "z": [true, null]}}}]},
      {"role": "tool", "tool_call_id": "a1", "content": "{\"sum\": -1.5}"},
      {"role": "assistant", "content": "<think>\nhm\n</think>\n\nIt is -1.5."}])",
                                     "messages")
                       .value();
  input.tools =
      ingot::parse_json(R"([{"type": "function", "function": {"name": "add", "description": "Adds.",
      "parameters": {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
                     "required": ["x"]}}}])",
                        "tools")
          .value();
  input.kwargs =
      ingot::parse_json(R"({"n": 3, "s": "aXb", "xs": [3, 1, 2], "d": {"b": 1, "a": 2}, "f": 2.5})",
                        "kwargs")
          .value();
  input.bos_token = "<s>";
  input.eos_token = "</s>";
  input.now = std::chrono::local_seconds(std::chrono::seconds(1722000000));
  return input;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ingot::ChatInput kInput = make_input();
  const ingot::Result<ingot::ChatTemplate> parsed =
      ingot::ChatTemplate::parse(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  if (parsed.is_ok()) (void)parsed->render(kInput);
  return 0;
}
