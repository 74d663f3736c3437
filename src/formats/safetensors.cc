// SPDX-License-Identifier: Apache-2.0
#include "formats/safetensors.h"

#include <algorithm>
#include <tuple>

#include "base/byte_reader.h"
#include "base/checked.h"
#include "base/json_reader.h"
#include "base/limits.h"
#include "formats/quote_name.h"

namespace ingot {
namespace {

constexpr uint64_t kLengthBytes = 8;
constexpr std::string_view kMetadataName = "__metadata__";

// The JSON header, read once from front to back. Offsets in messages count from the start of the
// file.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& source, std::span<const std::byte> buffer)
      : json_(text, fmt::format("{}: header", source), limits::kSafetensorsDepth),
        source_(source),
        buffer_(buffer),
        buffer_begin_(kLengthBytes + text.size()) {}

  Status read();
  std::vector<TensorEntry> tensors;
  std::map<std::string, std::string> metadata;

 private:
  Status read_metadata();
  Status read_tensor();
  Result<Layout> read_dtype();
  Result<Shape> read_shape();
  Result<std::pair<uint64_t, uint64_t>> read_offsets();
  Result<uint64_t> read_size(std::string_view field);
  Status check_size(uint64_t begin, uint64_t end) const;
  Status check_names() const;
  Status check_coverage();
  Status error(std::string_view what) const { return blame(entry_.name, entry_at_, what); }
  Status blame(std::string_view name, uint64_t at, std::string_view what) const {
    return Status::invalid_data("{}: tensor {} at offset {}: {}", source_, quote_name(name), at,
                                what);
  }

  JsonReader json_;
  const std::string& source_;
  std::span<const std::byte> buffer_;
  uint64_t buffer_begin_;
  TensorEntry entry_;  // the one being read
  uint64_t entry_at_ = 0;
};

Status HeaderReader::read() {
  bool has_metadata = false;
  INGOT_TRY(json_.expect(JsonToken::kBeginObject, "header"));
  while (true) {
    INGOT_TRY(const bool has_key, json_.next_key());
    if (!has_key) break;
    entry_at_ = kLengthBytes + json_.offset();
    if (json_.text() == kMetadataName) {
      if (has_metadata) return json_.error("__metadata__ stands twice");
      has_metadata = true;
      INGOT_TRY(read_metadata());
      continue;
    }
    if (json_.text().size() > limits::kTensorNameBytes) {
      return json_.error(fmt::format("a tensor name of {} bytes, more than {}", json_.text().size(),
                                     limits::kTensorNameBytes));
    }
    if (tensors.size() == limits::kSafetensorsTensors) {
      return json_.error(fmt::format("more than {} tensors", limits::kSafetensorsTensors));
    }
    entry_ = {};
    entry_.name = json_.text();
    INGOT_TRY(read_tensor());
    tensors.push_back(std::move(entry_));
  }
  INGOT_TRY(json_.expect(JsonToken::kEnd, "header"));
  INGOT_TRY(check_names());
  return check_coverage();
}

Status HeaderReader::read_metadata() {
  INGOT_TRY(json_.expect(JsonToken::kBeginObject, kMetadataName));
  uint64_t size = 0;
  while (true) {
    INGOT_TRY(const bool has_key, json_.next_key());
    if (!has_key) return Status::ok();
    std::string key(json_.text());
    INGOT_TRY(json_.expect(JsonToken::kString, "a value of __metadata__"));
    size += key.size() + json_.text().size();
    if (size > limits::kSafetensorsMetadataBytes ||
        metadata.size() == limits::kSafetensorsMetadataEntries) {
      return json_.error(fmt::format("__metadata__ holds more than {} entries or {} bytes",
                                     limits::kSafetensorsMetadataEntries,
                                     limits::kSafetensorsMetadataBytes));
    }
    if (!metadata.emplace(std::move(key), json_.text()).second) {
      return json_.error("a key of __metadata__ stands twice");
    }
  }
}

Status HeaderReader::read_tensor() {
  std::optional<Layout> layout;
  std::optional<Shape> shape;
  std::optional<std::pair<uint64_t, uint64_t>> offsets;
  if (!json_.expect(JsonToken::kBeginObject, "").is_ok())
    return error("must be described by an object");
  while (true) {
    INGOT_TRY(const bool has_key, json_.next_key());
    if (!has_key) break;
    const std::string field(json_.text().substr(0, limits::kTensorNameBytes));
    if ((field == "dtype" && layout) || (field == "shape" && shape) ||
        (field == "data_offsets" && offsets)) {
      return error(fmt::format("{} stands twice", field));
    }
    if (field == "dtype") {
      INGOT_TRY(layout, read_dtype());
    } else if (field == "shape") {
      INGOT_TRY(shape, read_shape());
    } else if (field == "data_offsets") {
      INGOT_TRY(offsets, read_offsets());
    } else {
      return error(fmt::format("has an unknown field {}", quote_name(field)));
    }
  }
  if (!layout || !shape || !offsets) return error("needs dtype, shape and data_offsets");
  entry_.tensor.layout = *layout;
  entry_.tensor.shape = *shape;
  const auto [begin, end] = *offsets;
  INGOT_TRY(check_size(begin, end));
  entry_.tensor.bytes = buffer_.subspan(begin, end - begin);
  entry_.file_offset = buffer_begin_ + begin;
  return Status::ok();
}

Result<Layout> HeaderReader::read_dtype() {
  if (!json_.expect(JsonToken::kString, "").is_ok()) return error("dtype must be a string");
  const std::string_view name = json_.text();
  if (const auto layout = layout_of_safetensors_dtype(name)) return *layout;
  if (name == "F8_E4M3FNUZ" || name == "F8_E5M2FNUZ") {
    return error(fmt::format(
        "dtype {} is the FNUZ kind of fp8, which has other values; convert the weights to "
        "F8_E4M3 or BF16",
        name));
  }
  return error(fmt::format("dtype {} is unknown", quote_name(name)));
}

Result<uint64_t> HeaderReader::read_size(std::string_view field) {
  const auto value = json_.integer();
  if (!value.is_ok() || *value < 0) {
    return error(fmt::format("{} holds {}; must be whole numbers from 0 to 2^63 - 1", field,
                             quote_name(json_.text())));
  }
  return static_cast<uint64_t>(*value);
}

Result<Shape> HeaderReader::read_shape() {
  if (!json_.expect(JsonToken::kBeginArray, "").is_ok()) return error("shape must be an array");
  Shape shape;
  while (true) {
    INGOT_TRY(const JsonToken token, json_.next());
    if (token == JsonToken::kEndArray) return shape;
    if (token != JsonToken::kNumber) return error("shape must hold numbers only");
    if (shape.rank() == limits::kSafetensorsDims) {
      return error(fmt::format("more than {} dimensions", limits::kSafetensorsDims));
    }
    INGOT_TRY(const uint64_t dim, read_size("shape"));
    shape.push_back(dim);
  }
}

Result<std::pair<uint64_t, uint64_t>> HeaderReader::read_offsets() {
  if (!json_.expect(JsonToken::kBeginArray, "").is_ok())
    return error("data_offsets must be an array");
  uint64_t ends[2] = {};
  for (uint64_t& end : ends) {
    if (!json_.expect(JsonToken::kNumber, "").is_ok())
      return error("data_offsets must be two numbers");
    INGOT_TRY(end, read_size("data_offsets"));
  }
  if (!json_.expect(JsonToken::kEndArray, "").is_ok())
    return error("data_offsets must be two numbers");
  return std::pair(ends[0], ends[1]);
}

Status HeaderReader::check_size(uint64_t begin, uint64_t end) const {
  const TensorView& tensor = entry_.tensor;
  if (begin > end) return error(fmt::format("data_offsets [{}, {}] are reversed", begin, end));
  if (end > buffer_.size()) {
    return error(fmt::format(
        "data_offsets [{}, {}] end past the {} bytes of data; the file is cut off or corrupt, "
        "download it again",
        begin, end, buffer_.size()));
  }
  // Dimensions of an empty tensor multiply too: code that folds or strides over them must not wrap.
  CheckedSize extent = 1;
  for (const uint64_t dim : tensor.shape.dims())
    extent = extent * std::max<uint64_t>(dim, 1);
  const LayoutInfo& layout = info(tensor.layout);
  if (!(extent * layout.block_bytes).is_valid()) {
    return error(fmt::format("the size of shape {} overflows", tensor.shape.to_string()));
  }
  if (tensor.shape.back() % layout.block_elements != 0) {
    return error(fmt::format("rows of {} values of {} do not fill whole bytes", tensor.shape.back(),
                             layout.name));
  }
  const uint64_t size = storage_bytes(tensor.layout, tensor.shape.elements()).value_or(UINT64_MAX);
  if (size == end - begin) return Status::ok();
  return error(fmt::format("shape {} of {} needs {} bytes but data_offsets [{}, {}] hold {}",
                           tensor.shape.to_string(), layout.name, size, begin, end, end - begin));
}

Status HeaderReader::check_names() const {
  std::vector<const TensorEntry*> sorted;
  sorted.reserve(tensors.size());
  for (const TensorEntry& entry : tensors)
    sorted.push_back(&entry);
  const auto name = [](const TensorEntry* entry) -> std::string_view { return entry->name; };
  std::ranges::sort(sorted, {}, name);
  const auto twice = std::ranges::adjacent_find(sorted, {}, name);
  if (twice == sorted.end()) return Status::ok();
  return Status::invalid_data("{}: header: tensor {} stands twice", source_,
                              quote_name(name(*twice)));
}

// The buffer belongs to the tensors, byte for byte: no overlap, no hole, no tail to hide something
// in.
Status HeaderReader::check_coverage() {
  std::ranges::sort(tensors, {}, [](const TensorEntry& entry) {
    return std::tuple(entry.file_offset, entry.tensor.bytes.size(), std::string_view(entry.name));
  });
  uint64_t expected = buffer_begin_;
  for (const TensorEntry& entry : tensors) {
    if (entry.file_offset != expected) {
      return blame(
          entry.name, entry.file_offset,
          fmt::format("{} at offset {}",
                      entry.file_offset < expected ? "overlaps the tensor that ends"
                                                   : "leaves a hole after the tensor that ends",
                      expected));
    }
    expected += entry.tensor.bytes.size();
  }
  const uint64_t end = buffer_begin_ + buffer_.size();
  if (expected == end) return Status::ok();
  return Status::invalid_data("{}: data at offset {}: {} bytes belong to no tensor", source_,
                              expected, end - expected);
}

}  // namespace

Result<std::shared_ptr<const SafetensorsFile>> SafetensorsFile::open(
    const std::filesystem::path& path) {
  INGOT_TRY(auto file, MappedFile::open(path));
  return parse(std::move(file));
}

Result<std::shared_ptr<const SafetensorsFile>> SafetensorsFile::parse(
    std::shared_ptr<const MappedFile> file) {
  ByteReader reader(file->bytes(), file->name());
  INGOT_TRY(const uint64_t length, reader.read<uint64_t>("header length"));
  if (length > limits::kSafetensorsHeaderBytes) {
    return reader.error("header length", 0,
                        fmt::format("{}, more than the limit of {}; not a safetensors file?",
                                    length, limits::kSafetensorsHeaderBytes));
  }
  INGOT_TRY(const std::string_view text, reader.text(length, "header"));
  if (!text.starts_with('{'))
    return reader.error("header", kLengthBytes, "does not begin with '{'");
  HeaderReader header(text, file->name(), file->bytes().subspan(reader.offset()));
  INGOT_TRY(header.read());
  std::shared_ptr<SafetensorsFile> safetensors(new SafetensorsFile);
  safetensors->tensors_ = std::move(header.tensors);
  safetensors->metadata_ = std::move(header.metadata);
  safetensors->file_ = std::move(file);
  return std::shared_ptr<const SafetensorsFile>(std::move(safetensors));
}

}  // namespace ingot
