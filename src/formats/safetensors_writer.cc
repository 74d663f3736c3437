// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"
#include "formats/quote_name.h"
#include "formats/safetensors.h"
#include "formats/safetensors_head.h"

namespace ingot {
namespace {

struct Planned {
  std::vector<PlannedTensor> tensors;
  std::vector<SafetensorsPart> parts;
};

Result<Planned> plan(std::span<const TensorEntry> tensors,
                     const std::map<std::string, std::string>& metadata, uint64_t shard_bytes) {
  Planned planned;
  for (const TensorEntry& entry : tensors)
    planned.tensors.push_back({entry.name, entry.tensor.layout, entry.tensor.shape});
  INGOT_TRY(planned.parts, plan_safetensors_parts(planned.tensors, metadata, shard_bytes));
  for (const TensorEntry& entry : tensors) {
    const TensorView& tensor = entry.tensor;
    if (tensor.bytes.size() == storage_bytes(tensor.layout, tensor.shape.elements()).value_or(0))
      continue;
    return Status::invalid_argument("tensor {}: {} bytes are not {} of {}", quote_name(entry.name),
                                    tensor.bytes.size(), tensor.shape.to_string(),
                                    info(tensor.layout).name);
  }
  return planned;
}

Status write_part(const std::filesystem::path& path, std::span<const TensorEntry> tensors,
                  const SafetensorsPart& part) {
  INGOT_TRY(AtomicFile file, AtomicFile::create(path));
  INGOT_TRY(file.write(part.head));
  for (const size_t i : part.tensors)
    INGOT_TRY(file.write(tensors[i].tensor.bytes));
  return file.commit();
}

}  // namespace

Status write_safetensors(const std::filesystem::path& path, std::span<const TensorEntry> tensors,
                         const std::map<std::string, std::string>& metadata) {
  INGOT_TRY(const Planned planned, plan(tensors, metadata, UINT64_MAX));
  return write_part(path, tensors, planned.parts[0]);
}

Status write_safetensors_sharded(const std::filesystem::path& folder,
                                 std::span<const TensorEntry> tensors,
                                 const std::map<std::string, std::string>& metadata,
                                 uint64_t shard_bytes) {
  INGOT_TRY(const Planned planned, plan(tensors, metadata, shard_bytes));
  for (size_t i = 0; i < planned.parts.size(); ++i) {
    const std::string name = safetensors_shard_name(i, planned.parts.size());
    INGOT_TRY(write_part(folder / name, tensors, planned.parts[i]));
  }
  // Last, so that a folder with an index always has its shards.
  INGOT_TRY(AtomicFile file, AtomicFile::create(folder / "model.safetensors.index.json"));
  INGOT_TRY(file.write(safetensors_index_text(planned.tensors, planned.parts)));
  return file.commit();
}

}  // namespace ingot
