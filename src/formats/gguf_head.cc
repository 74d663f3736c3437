// SPDX-License-Identifier: Apache-2.0
#include "formats/gguf_head.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/checked.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "formats/gguf_append.h"
#include "formats/gguf_types.h"
#include "formats/quote_name.h"

namespace ingot {
namespace {

constexpr uint32_t kVersion = 3;
Status check_name(std::string_view name) {
  if (name.empty()) return Status::invalid_argument("a name is empty");
  if (name.size() > limits::kTensorNameBytes || !utf8::is_valid(name) ||
      has_control_characters(name)) {
    return Status::invalid_argument("{} is not a name that GGUF can hold", quote_name(name));
  }
  return Status::ok();
}

// Its bytes.
Result<uint64_t> check_gguf_tensor(const PlannedTensor& tensor) {
  INGOT_TRY(check_name(tensor.name));
  const Shape& shape = tensor.shape;
  if (!ggml_type_of_layout(tensor.layout)) {
    return Status::invalid_argument("tensor {}: GGUF has no type for {}", quote_name(tensor.name),
                                    info(tensor.layout).name);
  }
  const auto size = storage_bytes(tensor.layout, shape.elements()).value();
  const bool fills_blocks = shape.back() % info(tensor.layout).block_elements == 0;
  if (shape.rank() == 0 || shape.rank() > limits::kGgufDims ||
      std::ranges::count(shape.dims(), 0u) > 0 || !size || !fills_blocks) {
    return Status::invalid_argument("tensor {}: GGUF cannot hold the shape {} in {}",
                                    quote_name(tensor.name), shape.to_string(),
                                    info(tensor.layout).name);
  }
  return *size;
}

void append_record(std::string& out, const PlannedTensor& tensor, uint64_t offset) {
  gguf_append_string(out, tensor.name);
  gguf_append(out, static_cast<uint32_t>(tensor.shape.rank()));
  for (size_t i = tensor.shape.rank(); i > 0; --i)
    gguf_append(out, tensor.shape[i - 1]);
  gguf_append(out, *ggml_type_of_layout(tensor.layout));
  gguf_append(out, offset);
}

// Of an encoded general.alignment; the reader would refuse anything else than what passes here.
Result<uint64_t> alignment_of(std::string_view encoded) {
  uint32_t alignment = 0;
  std::string type;
  gguf_append(type, GgufType::kUint32);
  if (encoded.size() == type.size() + sizeof(alignment) && encoded.starts_with(type)) {
    std::memcpy(&alignment, encoded.data() + type.size(), sizeof(alignment));
  }
  if (alignment < limits::kGgufAlignmentMin || alignment > limits::kGgufAlignmentMax ||
      !std::has_single_bit(alignment)) {
    return Status::invalid_argument("general.alignment must be a u32 power of two from {} to {}",
                                    limits::kGgufAlignmentMin, limits::kGgufAlignmentMax);
  }
  return alignment;
}

Status check_unique(std::span<const PlannedTensor> tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const PlannedTensor& tensor : tensors)
    names.push_back(tensor.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return Status::ok();
  return Status::invalid_argument("two tensors are called {}", quote_name(*twice));
}

}  // namespace

Result<GgufHead> make_gguf_head(const GgufKeyValues& values,
                                std::span<const PlannedTensor> tensors) {
  INGOT_TRY(check_unique(tensors));
  GgufHead head;
  head.bytes = "GGUF";
  gguf_append(head.bytes, kVersion);
  gguf_append<uint64_t>(head.bytes, tensors.size());
  gguf_append<uint64_t>(head.bytes, values.entries().size());
  uint64_t alignment = kGgufAlignment;
  for (const GgufKeyValues::KeyValue& value : values.entries()) {
    INGOT_TRY(check_name(value.key));
    if (value.key == "general.alignment") {
      INGOT_TRY(alignment, alignment_of(value.encoded));
    }
    gguf_append_string(head.bytes, value.key);
    head.bytes += value.encoded;
  }
  CheckedSize offset = 0;
  for (const PlannedTensor& tensor : tensors) {
    INGOT_TRY(const uint64_t size, check_gguf_tensor(tensor));
    if (!offset.is_valid()) return Status::invalid_argument("the tensors are larger than any file");
    append_record(head.bytes, tensor, *offset.value());
    head.offsets.push_back(*offset.value());
    head.sizes.push_back(size);
    offset = (offset + size).round_up(alignment);
  }
  head.bytes.resize(*CheckedSize(head.bytes.size()).round_up(alignment).value(), '\0');
  const CheckedSize file_size = offset + head.bytes.size();
  if (!file_size.fits(INT64_MAX)) {
    return Status::invalid_argument("the tensors are larger than any file");
  }
  head.file_size = *file_size.value();
  for (uint64_t& begin : head.offsets)
    begin += head.bytes.size();
  return head;
}

}  // namespace ingot
