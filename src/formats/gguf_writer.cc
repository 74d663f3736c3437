// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/atomic_file.h"
#include "base/checked.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "formats/gguf.h"
#include "formats/quote_name.h"

namespace ingot {
namespace {

constexpr uint32_t kVersion = 3;
constexpr uint64_t kDefaultAlignment = 32;

template <class T>
void append(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

void append_string(std::string& out, std::string_view text) {
  append<uint64_t>(out, text.size());
  out.append(text);
}

template <class T>
std::string encode(GgufType type, T value) {
  std::string out;
  append(out, type);
  append(out, value);
  return out;
}

template <class T>
std::string encode_array(GgufType type, const std::vector<T>& values) {
  std::string out;
  append(out, GgufType::kArray);
  append(out, type);
  append<uint64_t>(out, values.size());
  for (const T& value : values)
    append(out, value);
  return out;
}

Status check_name(std::string_view name) {
  if (name.empty()) return Status::invalid_argument("a name is empty");
  if (name.size() > limits::kTensorNameBytes || !utf8::is_valid(name) ||
      has_control_characters(name)) {
    return Status::invalid_argument("{} is not a name that GGUF can hold", quote_name(name));
  }
  return Status::ok();
}

Status check_tensor(const std::string& name, const TensorView& tensor) {
  INGOT_TRY(check_name(name));
  const Shape& shape = tensor.shape;
  if (!ggml_type_of_layout(tensor.layout)) {
    return Status::invalid_argument("tensor {}: GGUF has no type for {}", quote_name(name),
                                    info(tensor.layout).name);
  }
  if (shape.rank() == 0 || shape.rank() > limits::kGgufDims ||
      std::ranges::count(shape.dims(), 0u) > 0) {
    return Status::invalid_argument("tensor {}: GGUF cannot hold the shape {}", quote_name(name),
                                    shape.to_string());
  }
  const auto size = storage_bytes(tensor.layout, shape.elements()).value();
  const bool fills_blocks = shape.back() % info(tensor.layout).block_elements == 0;
  if (!size || !fills_blocks || *size != tensor.bytes.size()) {
    return Status::invalid_argument("tensor {}: {} bytes are not {} in {}", quote_name(name),
                                    tensor.bytes.size(), shape.to_string(),
                                    info(tensor.layout).name);
  }
  return Status::ok();
}

void append_record(std::string& out, const std::string& name, const TensorView& tensor,
                   uint64_t offset) {
  append_string(out, name);
  append(out, static_cast<uint32_t>(tensor.shape.rank()));
  for (size_t i = tensor.shape.rank(); i > 0; --i)
    append(out, tensor.shape[i - 1]);
  append(out, *ggml_type_of_layout(tensor.layout));
  append(out, offset);
}

// Of an encoded general.alignment; the reader would refuse anything else than what passes here.
Result<uint64_t> alignment_of(std::string_view encoded) {
  uint32_t alignment = 0;
  const std::string type = encode(GgufType::kUint32, alignment).substr(0, sizeof(GgufType));
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

Status write_padding(AtomicFile& file, uint64_t alignment) {
  const uint64_t rest = file.size_bytes() % alignment;
  if (rest == 0) return Status::ok();
  return file.write(std::string(alignment - rest, '\0'));
}

}  // namespace

void GgufWriter::put(std::string key, std::string encoded) {
  const auto same = std::ranges::find(values_, key, &KeyValue::key);
  if (same != values_.end()) {
    same->encoded = std::move(encoded);
  } else {
    values_.push_back({std::move(key), std::move(encoded)});
  }
}

void GgufWriter::set(std::string key, const std::string& value) {
  std::string out;
  append(out, GgufType::kString);
  append_string(out, value);
  put(std::move(key), std::move(out));
}

void GgufWriter::set(std::string key, bool value) {
  put(std::move(key), encode(GgufType::kBool, static_cast<uint8_t>(value ? 1 : 0)));
}

void GgufWriter::set(std::string key, uint32_t value) {
  put(std::move(key), encode(GgufType::kUint32, value));
}

void GgufWriter::set(std::string key, int32_t value) {
  put(std::move(key), encode(GgufType::kInt32, value));
}

void GgufWriter::set(std::string key, uint64_t value) {
  put(std::move(key), encode(GgufType::kUint64, value));
}

void GgufWriter::set(std::string key, float value) {
  put(std::move(key), encode(GgufType::kFloat32, value));
}

void GgufWriter::set(std::string key, const std::vector<std::string>& values) {
  std::string out;
  append(out, GgufType::kArray);
  append(out, GgufType::kString);
  append<uint64_t>(out, values.size());
  for (const std::string& value : values)
    append_string(out, value);
  put(std::move(key), std::move(out));
}

void GgufWriter::set(std::string key, const std::vector<int32_t>& values) {
  put(std::move(key), encode_array(GgufType::kInt32, values));
}

void GgufWriter::set(std::string key, const std::vector<uint32_t>& values) {
  put(std::move(key), encode_array(GgufType::kUint32, values));
}

void GgufWriter::set(std::string key, const std::vector<float>& values) {
  put(std::move(key), encode_array(GgufType::kFloat32, values));
}

void GgufWriter::set(std::string key, const std::vector<uint8_t>& values) {
  put(std::move(key), encode_array(GgufType::kUint8, values));
}

void GgufWriter::add(std::string name, const TensorView& tensor) {
  tensors_.push_back({std::move(name), tensor});
}

Status GgufWriter::write(const std::filesystem::path& path) const {
  std::string head = "GGUF";
  append(head, kVersion);
  append<uint64_t>(head, tensors_.size());
  append<uint64_t>(head, values_.size());
  uint64_t alignment = kDefaultAlignment;
  for (const KeyValue& value : values_) {
    INGOT_TRY(check_name(value.key));
    if (value.key == "general.alignment") {
      INGOT_TRY(alignment, alignment_of(value.encoded));
    }
    append_string(head, value.key);
    head += value.encoded;
  }
  std::vector<std::string_view> names;
  CheckedSize offset = 0;
  for (const Named& named : tensors_) {
    INGOT_TRY(check_tensor(named.name, named.tensor));
    if (!offset.is_valid()) return Status::invalid_argument("the tensors are larger than any file");
    append_record(head, named.name, named.tensor, *offset.value());
    offset = (offset + named.tensor.bytes.size()).round_up(alignment);
    names.push_back(named.name);
  }
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
    return Status::invalid_argument("two tensors are called {}", quote_name(*twice));
  }
  INGOT_TRY(AtomicFile file, AtomicFile::create(path));
  INGOT_TRY(file.write(head));
  for (const Named& named : tensors_) {
    INGOT_TRY(write_padding(file, alignment));
    INGOT_TRY(file.write(named.tensor.bytes));
  }
  INGOT_TRY(write_padding(file, alignment));
  return file.commit();
}

}  // namespace ingot
