// SPDX-License-Identifier: Apache-2.0
#include "formats/gguf_tensors.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "base/checked.h"
#include "base/limits.h"
#include "formats/gguf.h"
#include "formats/gguf_field.h"
#include "formats/gguf_types.h"

namespace ingot {
namespace {

// What the checks across tensors need. Kept small: they run before a million full entries exist.
struct Place {
  std::string_view name;
  uint64_t record = 0;  // where the record begins in the file
  uint64_t offset = 0;  // of the data, from the start of all data
  uint64_t size = 0;
};

struct Record {
  Place place;
  Layout layout = Layout::kF32;
  Shape shape;  // outermost dimension first, the reverse of the file's order
};

Result<Layout> read_layout(GgufField& field) {
  const uint64_t at = field.offset();
  INGOT_TRY(const uint32_t type, field.read<uint32_t>());
  if (const auto layout = layout_of_ggml_type(type)) return *layout;
  const std::string_view removed = removed_ggml_type(type);
  if (removed.empty()) {
    return field.error(
        at, fmt::format("tensor type {} is unknown; the file is corrupt or newer than this program",
                        type));
  }
  return field.error(
      at, fmt::format("tensor type {} ({}) was removed from the format; quantize the model again",
                      type, removed));
}

Result<Shape> read_shape(GgufField& field) {
  const uint64_t at = field.offset();
  INGOT_TRY(const uint32_t rank, field.read<uint32_t>());
  if (rank == 0 || rank > limits::kGgufDims) {
    return field.error(at, fmt::format("{} dimensions; must be 1 to {}", rank, limits::kGgufDims));
  }
  uint64_t dims[limits::kGgufDims] = {};
  for (uint32_t i = 0; i < rank; ++i) {
    const uint64_t dim_at = field.offset();
    INGOT_TRY(dims[i], field.read<uint64_t>());
    if (dims[i] == 0) return field.error(dim_at, fmt::format("dimension {} is zero", i));
  }
  Shape shape;
  for (uint32_t i = rank; i > 0; --i)
    shape.push_back(dims[i - 1]);
  return shape;
}

Result<Record> read_record(ByteReader& reader, uint64_t number, uint32_t alignment) {
  GgufField field(reader, "tensor", number);
  Record record;
  record.place.record = field.begin();
  INGOT_TRY(record.place.name, field.read_name());
  INGOT_TRY(record.shape, read_shape(field));
  INGOT_TRY(record.layout, read_layout(field));
  const uint64_t at = field.offset();
  INGOT_TRY(record.place.offset, field.read<uint64_t>());
  if (record.place.offset % alignment != 0) {
    return field.error(at, fmt::format("its data offset {} is not a multiple of the alignment {}",
                                       record.place.offset, alignment));
  }
  const LayoutInfo& layout = info(record.layout);
  if (record.shape.back() % layout.block_elements != 0) {
    return field.error(fmt::format("rows of {} values do not fill whole blocks of {} ({})",
                                   record.shape.back(), layout.block_elements, layout.name));
  }
  const auto size = storage_bytes(record.layout, record.shape.elements()).value();
  if (!size) {
    return field.error(fmt::format("the size of shape {} overflows", record.shape.to_string()));
  }
  record.place.size = *size;
  return record;
}

Status blame(const ByteReader& reader, const Place& place, std::string_view what) {
  return reader.error(fmt::format("tensor {}", quote_name(place.name)), place.record, what);
}

// The data must lie in the file; the sum of all three cannot wrap.
Status check_inside(const ByteReader& reader, const Place& place, uint64_t data_begin,
                    uint64_t file_size) {
  if ((CheckedSize(data_begin) + place.offset + place.size).fits(file_size)) return Status::ok();
  return blame(reader, place,
               fmt::format("its {} bytes at data offset {} end past the {} bytes of the file; the "
                           "file is cut off or corrupt, download it again",
                           place.size, place.offset, file_size));
}

Status check_names(const ByteReader& reader, std::vector<Place>& places) {
  std::ranges::sort(places, {},
                    [](const Place& place) { return std::tie(place.name, place.record); });
  const auto twice = std::ranges::adjacent_find(places, {}, &Place::name);
  if (twice == places.end()) return Status::ok();
  return blame(reader, twice[1],
               fmt::format("the name is taken by the tensor at offset {}", twice[0].record));
}

// Every place has been found inside the file, so its end cannot wrap.
Status check_overlap(const ByteReader& reader, std::vector<Place>& places) {
  std::ranges::sort(places, {},
                    [](const Place& place) { return std::tie(place.offset, place.record); });
  for (size_t i = 1; i < places.size(); ++i) {
    const Place& before = places[i - 1];
    if (places[i].offset >= before.offset + before.size) continue;
    return blame(
        reader, places[i],
        fmt::format("its data offset {} lies in the {} bytes of {} at data offset {}",
                    places[i].offset, before.size, quote_name(before.name), before.offset));
  }
  return Status::ok();
}

}  // namespace

Result<std::vector<TensorEntry>> read_gguf_tensors(ByteReader& reader,
                                                   std::span<const std::byte> file, uint64_t count,
                                                   uint32_t alignment) {
  std::vector<TensorEntry> entries;
  if (count == 0) return entries;
  ByteReader again = reader;
  std::vector<Place> places;
  places.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    INGOT_TRY(const Record record, read_record(reader, i, alignment));
    places.push_back(record.place);
  }
  INGOT_TRY(reader.align(alignment, "tensor data"));
  const uint64_t data_begin = reader.offset();
  for (const Place& place : places)
    INGOT_TRY(check_inside(reader, place, data_begin, file.size()));
  INGOT_TRY(check_names(reader, places));
  INGOT_TRY(check_overlap(reader, places));
  places = {};

  // Only a file that has passed pays for full entries. The second reading is checked like the
  // first: the mapped file may have changed in between.
  entries.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    INGOT_TRY(const Record record, read_record(again, i, alignment));
    INGOT_TRY(check_inside(again, record.place, data_begin, file.size()));
    const uint64_t begin = data_begin + record.place.offset;
    entries.push_back({std::string(record.place.name),
                       {record.layout, record.shape, file.subspan(begin, record.place.size)},
                       begin});
  }
  return entries;
}

}  // namespace ingot
