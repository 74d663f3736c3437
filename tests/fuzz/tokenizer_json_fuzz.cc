// SPDX-License-Identifier: Apache-2.0
// tokenizer.json from strangers: whatever loads must also encode and decode, and a stream of its
// tokens must end where it would.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ingot;  // NOLINT(google-build-using-namespace): one function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = Tokenizer::from_tokenizer_json(text, "fuzz");
  if (!tokenizer) return 0;
  for (const std::string_view input :
       {"Hello, it's 1234 \u6f22\u5b57 e\u0301\U0001f600\n\n  <s>ab", " ", "aab<mask> b"}) {
    const auto ids = (*tokenizer)->encode_with_pieces(input);
    if (!ids) continue;
    (*tokenizer)->decode(ids->ids);
    TextDecoder decoder(**tokenizer, true);
    for (const TokenId id : ids->ids)
      decoder.push(id);
    decoder.finish();
  }
  for (TokenId id = -1; id < 40; ++id)
    (*tokenizer)->decode(std::span(&id, 1));
  return 0;
}
