// SPDX-License-Identifier: Apache-2.0
// Any text as tokenizer.json: refused, or a tokenizer that encodes and decodes without harm.
#include <cstdint>
#include <string_view>

#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = ingot::Tokenizer::from_tokenizer_json(text, "tokenizer.json");
  if (!tokenizer.is_ok()) return 0;
  for (const std::string_view sample :
       {"Hello, wörld! 42  <s> \xF0\x9F\x98\x80\n", "\xFF a\xCC\x81"}) {
    const auto ids = (*tokenizer)->encode(sample);
    if (!ids.is_ok()) continue;
    ingot::TextDecoder decoder(**tokenizer, false);
    std::string streamed;
    for (const ingot::TokenId id : *ids)
      streamed += decoder.push(id);
    streamed += decoder.finish();
    INGOT_CHECK(streamed == (*tokenizer)->decode(*ids));
  }
  return 0;
}
