// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/sentencepiece_proto.h"

#include <cmath>
#include <cstring>
#include <optional>

#include "base/limits.h"
#include "base/utf8.h"

namespace ingot::tok {

namespace {

// One field of a message: a number, or the bytes of a string or of a message within.
struct Field {
  uint32_t number = 0;
  uint32_t wire_type = 0;
  uint64_t value = 0;
  std::string_view bytes;
};

constexpr uint32_t kVarint = 0;
constexpr uint32_t kFixed64 = 1;
constexpr uint32_t kBytes = 2;
constexpr uint32_t kFixed32 = 5;

class MessageReader {
 public:
  // `base` is where the message begins in the file, for errors.
  MessageReader(std::string_view bytes, size_t base, std::string_view source)
      : bytes_(bytes), base_(base), source_(source) {}

  // False at the end of the message.
  Result<bool> next(Field& field) {
    if (at_ == bytes_.size()) return false;
    INGOT_TRY(const uint64_t tag, varint());
    field = {};
    field.wire_type = static_cast<uint32_t>(tag & 7);
    if (tag >> 3 == 0 || tag >> 3 > 0x1FFFFFFF) return error("a field number is out of range");
    field.number = static_cast<uint32_t>(tag >> 3);
    switch (field.wire_type) {
      case kVarint: {
        INGOT_TRY(field.value, varint());
        return true;
      }
      case kFixed64:
        return fixed(8, field);
      case kFixed32:
        return fixed(4, field);
      case kBytes: {
        INGOT_TRY(const uint64_t size, varint());
        if (size > bytes_.size() - at_) return error("a field is longer than its message");
        field.bytes = bytes_.substr(at_, static_cast<size_t>(size));
        at_ += static_cast<size_t>(size);
        return true;
      }
      default:
        return error("an unknown kind of field");
    }
  }
  // Where the bytes of the field just read begin in the file.
  size_t base_of(const Field& field) const { return base_ + at_ - field.bytes.size(); }
  Status error(std::string_view what) const {
    return Status::invalid_data("{}: sentencepiece model at offset {}: {}", source_, base_ + at_,
                                what);
  }

 private:
  Result<uint64_t> varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) return error("the file is cut off");
      const auto byte = static_cast<uint8_t>(bytes_[at_++]);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return error("a number has too many bytes");
  }
  Result<bool> fixed(size_t size, Field& field) {
    if (bytes_.size() - at_ < size) return error("the file is cut off");
    std::memcpy(&field.value, bytes_.data() + at_, size);
    at_ += size;
    return true;
  }

  std::string_view bytes_;
  size_t base_;
  std::string_view source_;
  size_t at_ = 0;
};

Result<SentencePieceEntry> read_piece(MessageReader reader) {
  SentencePieceEntry entry;
  Field field;
  while (true) {
    INGOT_TRY(const bool has_more, reader.next(field));
    if (!has_more) break;
    if (field.number == 1 && field.wire_type == kBytes) {
      entry.piece = field.bytes;
    } else if (field.number == 2 && field.wire_type == kFixed32) {
      const auto bits = static_cast<uint32_t>(field.value);
      std::memcpy(&entry.score, &bits, sizeof(bits));
    } else if (field.number == 3 && field.wire_type == kVarint) {
      if (field.value < 1 || field.value > 6) return reader.error("a piece has an unknown type");
      entry.type = static_cast<PieceType>(field.value);
    }
  }
  if (entry.piece.empty()) return reader.error("a piece is empty");
  if (entry.piece.size() > limits::kTokenBytes) return reader.error("a piece is too long");
  if (!utf8::is_valid(entry.piece)) return reader.error("a piece is not valid UTF-8");
  if (std::isnan(entry.score)) return reader.error("the score of a piece is not a number");
  return entry;
}

Status read_trainer_spec(MessageReader reader, SentencePieceProto& out) {
  Field field;
  while (true) {
    INGOT_TRY(const bool has_more, reader.next(field));
    if (!has_more) return Status::ok();
    if (field.wire_type == kVarint && field.number == 3) {
      if (field.value < 1 || field.value > 4) return reader.error("an unknown type of model");
      out.model_type = static_cast<SentencePieceProto::ModelType>(field.value);
    } else if (field.wire_type == kVarint && field.number == 24) {
      out.treat_whitespace_as_suffix = field.value != 0;
    } else if (field.wire_type == kVarint && field.number == 35) {
      out.byte_fallback = field.value != 0;
    } else if (field.wire_type == kBytes && !field.bytes.empty()) {
      if (field.number == 45) out.unk_piece = field.bytes;
      if (field.number == 46) out.bos_piece = field.bytes;
      if (field.number == 47) out.eos_piece = field.bytes;
      if (field.number == 48) out.pad_piece = field.bytes;
    }
  }
}

Status read_normalizer_spec(MessageReader reader, SentencePieceProto& out) {
  Field field;
  while (true) {
    INGOT_TRY(const bool has_more, reader.next(field));
    if (!has_more) return Status::ok();
    if (field.wire_type == kBytes && field.number == 2) out.precompiled_charsmap = field.bytes;
    if (field.wire_type != kVarint) continue;
    if (field.number == 3) out.add_dummy_prefix = field.value != 0;
    if (field.number == 4) out.remove_extra_whitespaces = field.value != 0;
    if (field.number == 5) out.escape_whitespaces = field.value != 0;
  }
}

}  // namespace

Result<SentencePieceProto> read_sentencepiece_proto(std::span<const std::byte> bytes,
                                                    std::string_view source) {
  if (bytes.size() > limits::kTokenizerJsonBytes) {
    return Status::resource_exhausted("{}: {} bytes; at most {} are allowed", source, bytes.size(),
                                      limits::kTokenizerJsonBytes);
  }
  SentencePieceProto out;
  MessageReader reader({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, 0, source);
  Field field;
  while (true) {
    INGOT_TRY(const bool has_more, reader.next(field));
    if (!has_more) break;
    if (field.wire_type != kBytes) continue;
    const MessageReader inner(field.bytes, reader.base_of(field), source);
    if (field.number == 1) {
      if (out.pieces.size() >= static_cast<size_t>(limits::kVocab))
        return reader.error("too many pieces");
      INGOT_TRY(const SentencePieceEntry entry, read_piece(inner));
      out.pieces.push_back(entry);
    } else if (field.number == 2) {
      INGOT_TRY(read_trainer_spec(inner, out));
    } else if (field.number == 3) {
      INGOT_TRY(read_normalizer_spec(inner, out));
    }
  }
  if (out.pieces.empty()) return reader.error("the model has no pieces");
  return out;
}

}  // namespace ingot::tok
