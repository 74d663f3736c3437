// SPDX-License-Identifier: Apache-2.0
// The parts of a SentencePiece model file (a protocol buffer) that encoding needs. Our own small
// reader: every length is checked against the bytes that are left, unknown fields are skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace ingot::tok {

enum class PieceType : uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

struct SentencePieceEntry {
  std::string_view piece;
  float score = 0;
  PieceType type = PieceType::kNormal;
};

// Views point into the bytes that were read.
struct SentencePieceProto {
  enum class ModelType { kUnigram = 1, kBpe = 2, kWord = 3, kChar = 4 };

  std::vector<SentencePieceEntry> pieces;
  ModelType model_type = ModelType::kUnigram;
  bool byte_fallback = false;
  bool treat_whitespace_as_suffix = false;
  std::string_view unk_piece = "<unk>";
  std::string_view bos_piece = "<s>";
  std::string_view eos_piece = "</s>";
  std::string_view pad_piece = "<pad>";
  std::string_view precompiled_charsmap;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

Result<SentencePieceProto> read_sentencepiece_proto(std::span<const std::byte> bytes,
                                                    std::string_view source);

}  // namespace ingot::tok
