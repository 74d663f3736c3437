// SPDX-License-Identifier: Apache-2.0
// Any bytes as tokenizer.model: refused, or a tokenizer that encodes and decodes without harm.
#include <cstdint>
#include <span>
#include <string_view>

#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto tokenizer =
      ingot::Tokenizer::from_sentencepiece(std::as_bytes(std::span(data, size)), "tokenizer.model");
  if (!tokenizer.is_ok()) return 0;
  for (const std::string_view sample : {" Hello  wörld \xF0\x9F\x98\x80", "a\xFF<s>"}) {
    const auto ids = (*tokenizer)->encode(sample);
    if (ids.is_ok()) static_cast<void>((*tokenizer)->decode(*ids));
  }
  return 0;
}
