// SPDX-License-Identifier: Apache-2.0
// tokenizer.model from strangers: whatever loads must also encode and decode.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ingot;  // NOLINT(google-build-using-namespace): one function
  const auto tokenizer =
      Tokenizer::from_sentencepiece(std::as_bytes(std::span(data, size)), "fuzz");
  if (!tokenizer) return 0;
  for (const std::string_view input :
       {"Hello  A1 \u6f22\u5b57 e\u0301\uff21\ufb01\n<s>ab<sep>", " ", "aab a"}) {
    for (const bool parse_special : {true, false}) {
      const auto ids = (*tokenizer)->encode_with_pieces(input, {.parse_special = parse_special});
      if (!ids) continue;
      (*tokenizer)->decode(ids->ids);
      TextDecoder decoder(**tokenizer, false);
      for (const TokenId id : ids->ids)
        decoder.push(id);
      decoder.finish();
    }
  }
  return 0;
}
