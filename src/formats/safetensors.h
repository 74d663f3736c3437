// SPDX-License-Identifier: Apache-2.0
// safetensors: one file with a JSON header and a gap-free buffer, or shards named by an index.
// Reading maps and validates; tensors are views, nothing is copied.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/status.h"
#include "formats/tensor_entry.h"

namespace ingot {

// Immutable; thread-safe. Owns the mapping its views point into.
class SafetensorsFile {
 public:
  static Result<std::shared_ptr<const SafetensorsFile>> open(const std::filesystem::path& path);
  static Result<std::shared_ptr<const SafetensorsFile>> parse(
      std::shared_ptr<const MappedFile> file);

  std::span<const TensorEntry> tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::shared_ptr<const MappedFile>& file() const { return file_; }

 private:
  SafetensorsFile() = default;
  std::shared_ptr<const MappedFile> file_;
  std::vector<TensorEntry> tensors_;
  std::map<std::string, std::string> metadata_;
};

// model.safetensors.index.json: tensor name -> shard file name. Names that leave the folder (an
// absolute path, "..", a separator) are refused.
struct SafetensorsIndex {
  std::map<std::string, std::string> weight_map;
  std::vector<std::string> shard_names() const;  // each once, sorted
};
Result<SafetensorsIndex> parse_safetensors_index(std::string_view text, std::string_view source);

std::optional<Layout> layout_of_safetensors_dtype(std::string_view dtype);
std::optional<std::string_view> safetensors_dtype_of_layout(Layout layout);

// Writes one file through AtomicFile. Tensors are stored in descending alignment order, as the
// reference writer does. The bytes must live until the call returns.
Status write_safetensors(const std::filesystem::path& path, std::span<const TensorEntry> tensors,
                         const std::map<std::string, std::string>& metadata);
// The same in shards of at most `shard_bytes`, with model.safetensors.index.json beside them.
Status write_safetensors_sharded(const std::filesystem::path& folder,
                                 std::span<const TensorEntry> tensors,
                                 const std::map<std::string, std::string>& metadata,
                                 uint64_t shard_bytes);

}  // namespace ingot
