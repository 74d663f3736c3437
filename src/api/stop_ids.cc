// SPDX-License-Identifier: Apache-2.0
#include "api/stop_ids.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace ingot {
namespace {

// Ends of turn of the families in use; only where the vocabulary has them as special tokens.
constexpr std::array<std::string_view, 17> kEndPieces = {
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<end_of_turn>",
    "<|end_of_turn|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|return|>",
    "<|call|>",
    "<EOT>",
    "<end_of_utterance>",
    "<|role_end|>",
    "<|im_stop|>",
    "<\xEF\xBD\x9C"
    "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",
};

void add_end_pieces(const Tokenizer& tokenizer, std::vector<TokenId>& ids) {
  // Where <|return|> ends a turn, <|end|> only ends one of its messages.
  const bool is_harmony = tokenizer.id_of("<|return|>") && tokenizer.id_of("<|call|>");
  for (const std::string_view piece : kEndPieces) {
    if (is_harmony && piece == "<|end|>") continue;
    const std::optional<TokenId> id = tokenizer.id_of(piece);
    if (id && tokenizer.is_special(*id)) ids.push_back(*id);
  }
}

}  // namespace

std::vector<TokenId> collect_stop_ids(const Tokenizer* tokenizer,
                                      std::span<const TokenId> configured, int64_t vocab) {
  std::vector<TokenId> ids(configured.begin(), configured.end());
  if (tokenizer != nullptr) {
    const std::vector<TokenId>& eos = tokenizer->special().eos;
    ids.insert(ids.end(), eos.begin(), eos.end());
    add_end_pieces(*tokenizer, ids);
  }
  std::erase_if(ids, [vocab](TokenId id) { return id < 0 || id >= vocab; });
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace ingot
