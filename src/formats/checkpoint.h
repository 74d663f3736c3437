// SPDX-License-Identifier: Apache-2.0
// A model's weights on disk, whatever the container: one GGUF file, its splits, one safetensors
// file, or a folder of shards. Finds tensors by name; knows nothing of architectures.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/gguf.h"
#include "formats/safetensors.h"

namespace ingot {

// Immutable; thread-safe. Owns every mapping its views point into.
class Checkpoint {
 public:
  // A .gguf file (splits *-00001-of-000NN.gguf are found beside it), a .safetensors file or index,
  // or a folder with model.safetensors.index.json, model.safetensors or a single .safetensors or
  // .gguf file. Pickled weights (.bin, .pt, .pth, .pkl) are refused with a sentence.
  static Result<std::shared_ptr<const Checkpoint>> open(const std::filesystem::path& path);
  static Result<std::shared_ptr<const Checkpoint>> from_gguf(std::shared_ptr<const GgufFile> file);
  // No file and no tensor, only a name: of a model whose weights come from elsewhere.
  static std::shared_ptr<const Checkpoint> without_tensors(std::string name);

  const TensorEntry* find(std::string_view name) const;
  Result<TensorView> tensor(
      std::string_view name) const;  // not_found names the tensor and the file
  std::span<const TensorEntry* const> tensors() const { return order_; }  // in file order
  // Null for safetensors.
  const GgufMetadata* gguf_metadata() const;
  // Where config.json and tokenizer files stand: the folder, or the file's folder. Empty if
  // embedded.
  const std::filesystem::path& folder() const { return folder_; }
  const std::string& name() const { return name_; }  // the path as given, for messages
  uint64_t size_bytes() const;                       // of all files
  Status check_intact() const;                       // see MappedFile

 private:
  Checkpoint() = default;
  Status open_folder();
  Status open_file(const std::filesystem::path& path);
  Status open_gguf(const std::filesystem::path& path);
  Status open_index(const std::filesystem::path& path);
  template <class File>
  void add_all(const File& file);
  Status sort_names();
  std::vector<std::shared_ptr<const GgufFile>> gguf_;
  std::vector<std::shared_ptr<const SafetensorsFile>> safetensors_;
  std::vector<const TensorEntry*> order_;
  std::vector<const TensorEntry*>
      by_name_;  // sorted: hostile names cannot slow it down as they can a hash
  std::filesystem::path folder_;
  std::string name_;
};

}  // namespace ingot
