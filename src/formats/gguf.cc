// SPDX-License-Identifier: Apache-2.0
#include "formats/gguf.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/byte_reader.h"
#include "base/limits.h"
#include "formats/gguf_field.h"
#include "formats/gguf_tensors.h"
#include "formats/gguf_types.h"

namespace ingot {
namespace {

// The least a record can take: an empty string's length, a name of one byte, the fixed fields.
constexpr uint64_t kMinKeyValueBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kMinTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;

constexpr uint64_t kTensorCountAt = 8;

struct Header {
  uint64_t tensors = 0;
  uint64_t key_values = 0;
};

Status check_version(const ByteReader& reader, uint32_t version) {
  if (version == 2 || version == 3) return Status::ok();
  const std::string& source = reader.source();
  if (version == 1) {
    return Status::unsupported(
        "{}: version at offset 4: GGUF version 1 is obsolete; convert the model again", source);
  }
  if (version != 0 && (version & 0xFFFF) == 0) {
    return Status::unsupported(
        "{}: version at offset 4: the file is big-endian; convert it to little-endian", source);
  }
  return reader.error("version", 4, fmt::format("GGUF version {} is not one of 2 and 3", version));
}

// Counts size loops and memory, so they are held against the bytes that are left before anything
// else.
Status check_fits(const ByteReader& reader, std::string_view field, uint64_t at, uint64_t count,
                  uint64_t min_bytes) {
  if (count <= reader.remaining() / min_bytes) return Status::ok();
  return reader.error(field, at,
                      fmt::format("{} cannot fit into the {} bytes that are left; the file is cut "
                                  "off or corrupt, download it again",
                                  count, reader.remaining()));
}

Result<uint64_t> read_count(ByteReader& reader, std::string_view field, uint64_t limit,
                            uint64_t min_bytes) {
  const uint64_t at = reader.offset();
  INGOT_TRY(const uint64_t count, reader.read<uint64_t>(field));
  if (count > limit) {
    return reader.error(field, at, fmt::format("{}, more than the limit of {}", count, limit));
  }
  INGOT_TRY(check_fits(reader, field, at, count, min_bytes));
  return count;
}

Result<Header> read_header(ByteReader& reader) {
  INGOT_TRY(const std::string_view magic, reader.text(4, "magic"));
  if (magic != "GGUF")
    return reader.error("magic", 0, "not a GGUF file: it does not begin with 'GGUF'");
  INGOT_TRY(const uint32_t version, reader.read<uint32_t>("version"));
  INGOT_TRY(check_version(reader, version));
  Header header;
  INGOT_TRY(header.tensors,
            read_count(reader, "tensor count", limits::kGgufTensors, kMinTensorBytes));
  INGOT_TRY(header.key_values,
            read_count(reader, "key-value count", limits::kGgufKeyValues, kMinKeyValueBytes));
  return header;
}

Result<GgufType> read_type(GgufField& field) {
  const uint64_t at = field.offset();
  INGOT_TRY(const uint32_t type, field.read<uint32_t>());
  if (type >= kGgufTypeCount) return field.error(at, fmt::format("value type {} is unknown", type));
  return static_cast<GgufType>(type);
}

Result<std::span<const std::byte>> read_string(GgufField& field) {
  const uint64_t at = field.offset();
  INGOT_TRY(const uint64_t size, field.read<uint64_t>());
  if (size > limits::kGgufStringBytes) {
    return field.error(at, fmt::format("a string of {} bytes, more than the limit of {}", size,
                                       limits::kGgufStringBytes));
  }
  return field.bytes(size);
}

Status check_bools(const GgufField& field, const GgufValue& value) {
  const auto wrong =
      std::ranges::find_if(value.bytes, [](std::byte byte) { return byte > std::byte{1}; });
  if (wrong == value.bytes.end()) return Status::ok();
  const uint64_t at = field.offset() - static_cast<uint64_t>(value.bytes.end() - wrong);
  return field.error(at, fmt::format("a bool is {}; must be 0 or 1", static_cast<int>(*wrong)));
}

Status read_array(GgufField& field, std::span<const std::byte> file, GgufValue& value) {
  value.is_array = true;
  uint64_t at = field.offset();
  INGOT_TRY(value.type, read_type(field));
  if (value.type == GgufType::kArray) return field.error(at, "an array inside an array");
  at = field.offset();
  INGOT_TRY(value.count, field.read<uint64_t>());
  if (value.count > limits::kGgufArrayElements) {
    return field.error(at, fmt::format("{} elements, more than the limit of {}", value.count,
                                       limits::kGgufArrayElements));
  }
  const uint64_t element = min_size_of(value.type);
  if (value.count > field.remaining() / element) {
    return field.error(
        at, fmt::format(
                "{} elements cannot fit into the {} bytes that are left; the file is cut off or "
                "corrupt, download it again",
                value.count, field.remaining()));
  }
  if (value.type != GgufType::kString) {
    INGOT_TRY(value.bytes, field.bytes(value.count * element));
    return Status::ok();
  }
  const uint64_t begin = field.offset();
  for (uint64_t i = 0; i < value.count; ++i)
    INGOT_TRY(read_string(field));
  value.bytes = file.subspan(begin, field.offset() - begin);
  return Status::ok();
}

Result<GgufValue> read_value(GgufField& field, std::span<const std::byte> file) {
  GgufValue value;
  INGOT_TRY(value.type, read_type(field));
  value.offset = field.offset();
  if (value.type == GgufType::kArray) {
    INGOT_TRY(read_array(field, file, value));
  } else if (value.type == GgufType::kString) {
    INGOT_TRY(value.bytes, read_string(field));
  } else {
    INGOT_TRY(value.bytes, field.bytes(min_size_of(value.type)));
  }
  if (value.type == GgufType::kBool) INGOT_TRY(check_bools(field, value));
  return value;
}

Status check_alignment(const GgufField& field, const GgufValue& value) {
  if (value.is_array || value.type != GgufType::kUint32) {
    return field.error(value.offset,
                       fmt::format("is {}{}; must be u32", value.is_array ? "an array of " : "",
                                   name_of(value.type)));
  }
  uint32_t alignment = 0;
  std::memcpy(&alignment, value.bytes.data(), sizeof(alignment));
  if (alignment >= limits::kGgufAlignmentMin && alignment <= limits::kGgufAlignmentMax &&
      std::has_single_bit(alignment)) {
    return Status::ok();
  }
  return field.error(value.offset,
                     fmt::format("{} is not a power of two from {} to {}", alignment,
                                 limits::kGgufAlignmentMin, limits::kGgufAlignmentMax));
}

}  // namespace

Result<std::shared_ptr<const GgufFile>> GgufFile::open(const std::filesystem::path& path) {
  INGOT_TRY(auto file, MappedFile::open(path));
  return parse(std::move(file));
}

Result<std::shared_ptr<const GgufFile>> GgufFile::parse(std::shared_ptr<const MappedFile> file) {
  const std::span<const std::byte> bytes = file->bytes();
  ByteReader reader(bytes, file->name());
  INGOT_TRY(const Header header, read_header(reader));
  std::shared_ptr<GgufFile> gguf(new GgufFile);
  GgufMetadata& metadata = gguf->metadata_;
  metadata.source_ = file->name();
  metadata.values_.reserve(header.key_values);
  for (uint64_t i = 0; i < header.key_values; ++i) {
    GgufField field(reader, "key", i);
    INGOT_TRY(const std::string_view key, field.read_name());
    if (!metadata.index_.emplace(key, i).second) return field.error("the key stands twice");
    INGOT_TRY(const GgufValue value, read_value(field, bytes));
    if (key == "general.alignment") INGOT_TRY(check_alignment(field, value));
    metadata.values_.emplace_back(key, value);
  }
  uint32_t alignment = kGgufAlignment;
  if (metadata.has("general.alignment")) {
    INGOT_TRY(const int64_t value, metadata.integer("general.alignment"));
    alignment = static_cast<uint32_t>(value);
  }
  INGOT_TRY(check_fits(reader, "tensor count", kTensorCountAt, header.tensors, kMinTensorBytes));
  INGOT_TRY(gguf->tensors_, read_gguf_tensors(reader, bytes, header.tensors, alignment));
  gguf->file_ = std::move(file);
  return std::shared_ptr<const GgufFile>(std::move(gguf));
}

}  // namespace ingot
