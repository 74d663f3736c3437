// SPDX-License-Identifier: Apache-2.0
// A reference model's logits on disk, so that many quantizations are compared with one run of it:
// the text's tokens, the protocol, and each scored row in 16 bits a token. The layout is drawn in
// docs/formats/reference-logits.md. Every field and length is checked before use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "base/status.h"
#include "eval/perplexity.h"
#include "eval/score_model.h"
#include "eval/scored_text.h"

namespace ingot {

// Immutable; thread-safe.
class ReferenceLogits {
 public:
  static Result<ReferenceLogits> open(const std::filesystem::path& path);
  static Result<ReferenceLogits> from_bytes(std::shared_ptr<const MappedFile> file);

  size_t vocab() const { return vocab_; }
  const WindowOptions& windows() const { return windows_; }
  std::span<const TokenId> tokens() const { return tokens_; }
  uint64_t tokens_hash() const { return tokens_hash_; }
  int64_t rows() const { return rows_; }
  // The tokens cut as they were then; its targets are as many as rows().
  const ScoredText& text() const { return text_; }
  // Row `index` as logits, up to a constant; `out` has vocab() places.
  void read_row(size_t index, std::span<float> out) const;
  // Ok while the file is as long as it was.
  Status check_intact() const { return file_->check_intact(); }

 private:
  ReferenceLogits() = default;
  std::shared_ptr<const MappedFile> file_;
  std::span<const std::byte> row_bytes_;
  size_t vocab_ = 0;
  WindowOptions windows_;
  std::vector<TokenId> tokens_;
  uint64_t tokens_hash_ = 0;
  int64_t rows_ = 0;
  ScoredText text_;
};

uint64_t hash_tokens(std::span<const TokenId> tokens);

// Runs the model and writes the file; the negative log-likelihoods come back as from score_text().
Result<std::vector<float>> write_reference(const std::filesystem::path& path, ScoreModel& model,
                                           ThreadPool& pool, std::span<const TokenId> tokens,
                                           const WindowOptions& windows, const GoesOn& goes_on);

// One row as stored; for tests.
std::vector<std::byte> encode_logits(std::span<const float> logits);
void decode_logits(std::span<const std::byte> bytes, std::span<float> out);
size_t encoded_row_bytes(size_t vocab);

}  // namespace ingot
