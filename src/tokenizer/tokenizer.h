// SPDX-License-Identifier: Apache-2.0
// Text to token ids and back, exactly as the model's own tokenizer does it. One class for all
// kinds: Hugging Face tokenizer.json, SentencePiece tokenizer.model, and the vocabulary inside a
// GGUF file. Encoding is linear in the input; no recursion, no std::regex.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/gguf.h"
#include "ingot/sampling.h"

namespace ingot {

struct EncodeOptions {
  bool add_special = true;    // what the post-processor adds: bos, eos, [CLS] ...
  bool parse_special = true;  // text that spells an added token becomes that token
};

// A text's ids, and how each is spelled: as in the vocabulary, except that an unknown word and an
// added token show the text they stand for.
struct Encoding {
  std::vector<TokenId> ids;
  std::vector<std::string> pieces;
};

// Two texts as one sequence, as rerankers read them. The types tell the model which is which.
struct PairEncoding {
  std::vector<TokenId> ids;
  std::vector<int32_t> type_ids;  // one for each id
};

// Turns tokens into text one by one. Text is final once it is returned.
class DecodeStream {
 public:
  virtual ~DecodeStream() = default;
  virtual std::string push(TokenId id) = 0;
  virtual std::string finish() = 0;
};

// Immutable after load; thread-safe.
class Tokenizer {
 public:
  // tokenizer.json if present, else tokenizer.model (with tokenizer_config.json's added tokens).
  static Result<std::shared_ptr<const Tokenizer>> from_folder(const std::filesystem::path& folder);
  static Result<std::shared_ptr<const Tokenizer>> from_gguf(const GgufMetadata& metadata);
  static Result<std::shared_ptr<const Tokenizer>> from_tokenizer_json(std::string_view text,
                                                                      std::string_view source);
  static Result<std::shared_ptr<const Tokenizer>> from_sentencepiece(
      std::span<const std::byte> bytes, std::string_view source);
  virtual ~Tokenizer() = default;

  virtual Result<std::vector<TokenId>> encode(std::string_view text,
                                              const EncodeOptions& options = {}) const = 0;
  virtual Result<Encoding> encode_with_pieces(std::string_view text,
                                              const EncodeOptions& options = {}) const = 0;
  virtual Result<PairEncoding> encode_pair(std::string_view first, std::string_view second,
                                           const EncodeOptions& options = {}) const = 0;
  // Unknown ids are skipped. Invalid UTF-8 in the result is replaced by U+FFFD.
  virtual std::string decode(std::span<const TokenId> ids, bool skip_special = false) const = 0;
  // The tokenizer must outlive the stream. TextDecoder is the usual way to use it.
  virtual std::unique_ptr<DecodeStream> decode_stream(bool skip_special) const = 0;
  // The entry as the vocabulary spells it ("Ġhello", "▁the", "<0x0A>"); empty for an id outside it.
  virtual std::string_view piece(TokenId id) const = 0;
  virtual std::optional<TokenId> id_of(std::string_view piece) const = 0;
  virtual bool is_special(TokenId id) const = 0;
  virtual size_t vocab_size() const = 0;

  struct SpecialTokens {
    std::optional<TokenId> bos;
    std::optional<TokenId> pad;
    std::optional<TokenId> unk;
    std::vector<TokenId> eos;  // all that end an answer (eos, eot, eom ...)
  };
  virtual const SpecialTokens& special() const = 0;
};

// Turns a stream of tokens into a stream of text. The concatenation of push() results and finish()
// equals decode() of all the tokens; bytes of an unfinished UTF-8 character are held back. One
// exception: where a vocabulary spells bytes as tokens ("<0xE2>"), decode() spoils a whole run of
// them for one wrong byte; a stream keeps what it has already sent of a run longer than 64 bytes.
class TextDecoder {
 public:
  explicit TextDecoder(const Tokenizer& tokenizer, bool skip_special = true)
      : stream_(tokenizer.decode_stream(skip_special)) {}
  std::string push(TokenId id) { return stream_->push(id); }
  std::string finish() { return stream_->finish(); }

 private:
  std::unique_ptr<DecodeStream> stream_;
};

}  // namespace ingot
