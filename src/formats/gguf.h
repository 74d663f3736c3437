// SPDX-License-Identifier: Apache-2.0
// GGUF files (versions 2 and 3): key-values and tensors in one file, or in splits of it. Reading
// maps the file and validates every field before use; tensors are views into the mapping, nothing
// is copied.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "base/status.h"
#include "formats/tensor_entry.h"

namespace ingot {

enum class GgufType : uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64,
};

// A value as it stands in the file, decoded on demand: a vocabulary of a million strings costs
// nothing until it is asked for. Plain data; the file must outlive it.
struct GgufValue {
  GgufType type = GgufType::kUint8;  // of the scalar, or of the array's elements; never kArray
  bool is_array = false;
  uint64_t count = 1;
  uint64_t offset = 0;               // where the value begins in the file, for messages
  std::span<const std::byte> bytes;  // a scalar string without its length; all else as stored
};

// Key-values of one file (splits: of the first). Immutable after open; thread-safe.
class GgufMetadata {
 public:
  bool has(std::string_view key) const;
  // Typed getters: not_found when the key is missing, invalid_data (naming key and types) when it
  // has another type. Integers accept any integer type whose value fits; floats accept f32 and f64.
  Result<std::string_view> string(std::string_view key) const;
  Result<int64_t> integer(std::string_view key) const;
  Result<double> number(std::string_view key) const;
  Result<bool> boolean(std::string_view key) const;
  Result<std::vector<std::string_view>> strings(std::string_view key) const;
  // Also of a scalar, as one element; bools count as 0 and 1 (per-layer switches are stored so).
  Result<std::vector<int64_t>> integers(std::string_view key) const;
  Result<std::vector<float>> numbers(std::string_view key) const;
  // Keys in file order, and a value printed for people (arrays abbreviated).
  std::vector<std::string_view> keys() const;
  std::string describe(std::string_view key) const;
  // As it stands in the file; null when there is none.
  const GgufValue* find_value(std::string_view key) const;

 private:
  friend class GgufFile;
  Result<const GgufValue*> find(std::string_view key) const;
  Status type_error(std::string_view key, const GgufValue& value, std::string_view wanted) const;

  std::vector<std::pair<std::string_view, GgufValue>> values_;  // in file order
  std::map<std::string_view, size_t> index_;
  std::string source_;
};

// Immutable; thread-safe. Owns the mapping its views point into.
class GgufFile {
 public:
  static Result<std::shared_ptr<const GgufFile>> open(const std::filesystem::path& path);
  // `file` holds the bytes (mapped, embedded, or a fuzzer's).
  static Result<std::shared_ptr<const GgufFile>> parse(std::shared_ptr<const MappedFile> file);

  const GgufMetadata& metadata() const { return metadata_; }
  std::span<const TensorEntry> tensors() const { return tensors_; }
  const std::shared_ptr<const MappedFile>& file() const { return file_; }

 private:
  GgufFile() = default;
  std::shared_ptr<const MappedFile> file_;
  GgufMetadata metadata_;
  std::vector<TensorEntry> tensors_;
};

std::optional<Layout> layout_of_ggml_type(uint32_t type);
std::optional<uint32_t> ggml_type_of_layout(Layout layout);

}  // namespace ingot
