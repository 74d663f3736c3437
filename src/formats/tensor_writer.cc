// SPDX-License-Identifier: Apache-2.0
#include "formats/tensor_writer.h"

#include "base/limits.h"
#include "formats/gguf_head.h"
#include "formats/partial_writer.h"
#include "formats/safetensors_head.h"
#include "formats/split_name.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

// "out/" is out: names are made by appending to it.
fs::path without_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

OutputTensor place(const PlannedTensor& tensor, size_t file, uint64_t offset) {
  return {file, offset, storage_bytes(tensor.layout, tensor.shape.elements()).value_or(0),
          tensor.layout, tensor.shape};
}

// In the order given, each filled up before the next begins.
std::vector<std::vector<PlannedTensor>> split(std::vector<PlannedTensor> tensors,
                                              uint64_t split_bytes) {
  std::vector<std::vector<PlannedTensor>> parts(1);
  CheckedSize size = 0;
  for (PlannedTensor& tensor : tensors) {
    const CheckedSize added = storage_bytes(tensor.layout, tensor.shape.elements());
    if (split_bytes > 0 && !parts.back().empty() && !(size + added).fits(split_bytes)) {
      parts.emplace_back();
      size = 0;
    }
    size = size + added;
    parts.back().push_back(std::move(tensor));
  }
  return parts;
}

// The first split has the model's key-values, each says which it is.
GgufKeyValues values_of_split(const GgufKeyValues& values, size_t index, size_t count,
                              size_t tensors) {
  GgufKeyValues own;
  if (index == 0) own = values;
  own.set("split.no", static_cast<uint16_t>(index));
  own.set("split.count", static_cast<uint16_t>(count));
  own.set("split.tensors.count", static_cast<int32_t>(tensors));
  return own;
}

}  // namespace

Result<std::unique_ptr<TensorWriter>> create_gguf(const fs::path& path, const GgufKeyValues& values,
                                                  std::vector<PlannedTensor> tensors,
                                                  const WriterOptions& options) {
  const size_t count = tensors.size();
  auto parts = split(std::move(tensors), options.split_bytes);
  if (parts.size() > limits::kGgufSplits) {
    return Status::invalid_argument("{}: {} splits, more than {}; choose larger ones",
                                    path.string(), parts.size(), limits::kGgufSplits);
  }
  const SplitName name{path.stem().string(), 1, static_cast<uint32_t>(parts.size()), ".gguf"};
  OutputPlan plan;
  plan.output = parts.size() == 1 ? path : path.parent_path() / name.part(1);
  for (size_t i = 0; i < parts.size(); ++i) {
    auto head = make_gguf_head(
        parts.size() == 1 ? values : values_of_split(values, i, parts.size(), count), parts[i]);
    if (!head.is_ok()) return head.status().with_context(path.string());
    for (size_t j = 0; j < parts[i].size(); ++j)
      plan.tensors.push_back(place(parts[i][j], i, head->offsets[j]));
    plan.files.push_back(
        {parts.size() == 1 ? path.filename().string() : name.part(static_cast<uint32_t>(i + 1)),
         std::move(head->bytes), head->file_size});
  }
  return open_partial_writer(std::move(plan), options);
}

Result<std::unique_ptr<TensorWriter>> create_safetensors(
    const fs::path& folder, const std::map<std::string, std::string>& metadata,
    std::vector<PlannedTensor> tensors, std::vector<SideFile> files, const WriterOptions& options) {
  auto parts = plan_safetensors_parts(tensors, metadata, options.shard_bytes);
  if (!parts.is_ok()) return parts.status().with_context(folder.string());
  OutputPlan plan;
  plan.output = without_slash(folder);
  plan.is_folder = true;
  plan.side_files = std::move(files);
  plan.tensors.resize(tensors.size());
  if (parts->size() > 1) {
    plan.side_files.push_back(
        {"model.safetensors.index.json", safetensors_index_text(tensors, *parts), {}});
  }
  for (size_t i = 0; i < parts->size(); ++i) {
    SafetensorsPart& part = (*parts)[i];
    for (size_t j = 0; j < part.tensors.size(); ++j)
      plan.tensors[part.tensors[j]] = place(tensors[part.tensors[j]], i, part.offsets[j]);
    const std::string name =
        parts->size() == 1 ? "model.safetensors" : safetensors_shard_name(i, parts->size());
    plan.files.push_back({name, std::move(part.head), part.file_size});
  }
  return open_partial_writer(std::move(plan), options);
}

}  // namespace ingot
