// SPDX-License-Identifier: Apache-2.0
// A checkpoint written tensor by tensor. Every tensor's place is known before the first is made, so
// they may come in any order, memory holds one at a time, and a killed run goes on where it was.
// All is written into OUT.ingot-partial beside OUT; the output appears there whole, by rename.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/gguf_key_values.h"
#include "formats/planned_tensor.h"

namespace ingot {

struct WriterOptions {
  // Identifies inputs and settings: what a killed run of another plan left is not resumed but
  // replaced. Names, shapes and key-values are compared besides.
  std::string plan;
  bool overwrites = false;
  uint64_t shard_bytes = 5'000'000'000;  // of safetensors
  uint64_t split_bytes = 0;              // of GGUF; 0: one file
};

// A file that stands beside the weights: config.json, a tokenizer.
struct SideFile {
  std::string name;
  std::string bytes;
  std::filesystem::path copy_of;  // when not empty, the bytes are this file's
};

// Single thread. Destroyed before commit(): a failed write leaves nothing behind, anything else
// leaves the finished tensors to the next run.
class TensorWriter {
 public:
  virtual ~TensorWriter() = default;
  virtual size_t size() const = 0;
  virtual uint64_t size_bytes(size_t index) const = 0;
  // Also by an earlier, killed run of the same plan.
  virtual bool is_done(size_t index) const = 0;
  // A whole tensor.
  virtual Status write(size_t index, std::span<const std::byte> bytes) = 0;
  // Parts in any order, each byte once; the tensor is done by finish().
  virtual Status write_part(size_t index, uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual Status finish(size_t index) = 0;
  // What a done tensor holds (mapped); valid as long as the writer.
  virtual Result<TensorView> view(size_t index) const = 0;
  // Makes it durable under its final name, when all are done. Nothing may be written afterwards.
  virtual Status commit() = 0;
};

// With options.split_bytes the files are named like OUT-00001-of-00003.gguf.
Result<std::unique_ptr<TensorWriter>> create_gguf(const std::filesystem::path& path,
                                                  const GgufKeyValues& values,
                                                  std::vector<PlannedTensor> tensors,
                                                  const WriterOptions& options);
// A folder: model.safetensors, or shards and their index, and `files`.
Result<std::unique_ptr<TensorWriter>> create_safetensors(
    const std::filesystem::path& folder, const std::map<std::string, std::string>& metadata,
    std::vector<PlannedTensor> tensors, std::vector<SideFile> files, const WriterOptions& options);

}  // namespace ingot
