// SPDX-License-Identifier: Apache-2.0
// What a server tells about text without computing anything: /tokenize and /detokenize in vLLM's
// and llama-server's shapes, /apply-template, /tokenizer_info and /props. No path is told.
#pragma once

#include <cstdint>
#include <string>

#include "api/text_side.h"
#include "base/json.h"
#include "base/status.h"
#include "ingot/sampling.h"
#include "tokenizer/chat_template.h"

namespace ingot {

struct TokenizeInfo {
  std::string model = {};  // as served
  std::string build = {};  // "ingot 1.2.3"
  int64_t context = 0;     // tokens of one request
  int64_t vocab = 0;       // of the model, which may have more ids than the tokenizer
  int64_t slots = 0;       // sequences in one step
  SamplingParams sampling = {};
};

// Errors begin with the field's name. `text` must outlive it. Immutable; thread-safe.
class TokenizeApi {
 public:
  TokenizeApi(const TextSide& text, TokenizeInfo info);

  // The field that is present decides: `prompt` or `messages` (vLLM), or `content` (llama-server).
  Result<Json> tokenize(const Json& body) const;
  // {"prompt", "content"}: the same text under the names of both.
  Result<Json> detokenize(const Json& body) const;
  // {"prompt"}, the text that messages become.
  Result<Json> apply_template(const Json& body) const;
  Result<Json> tokenizer_info() const;
  Json props() const;

 private:
  Result<const Tokenizer*> tokenizer() const;
  Result<std::string> rendered(const Json& body) const;
  Result<Json> tokenize_vllm(const Json& body, bool is_chat) const;
  Result<Json> tokenize_llama(const Json& body) const;

  const TextSide& text_;
  const TokenizeInfo info_;
  const Result<ChatTemplate> template_;  // or why there is none
};

}  // namespace ingot
