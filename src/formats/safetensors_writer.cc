// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/checked.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "formats/quote_name.h"
#include "formats/safetensors.h"

namespace ingot {
namespace {

using Tensors = std::vector<const TensorEntry*>;
using Metadata = std::map<std::string, std::string>;

std::string json_string(const std::string& text) {
  return dump_json(Json(text));
}

Status check_tensor(const TensorEntry& entry) {
  const TensorView& tensor = entry.tensor;
  if (!utf8::is_valid(entry.name) || entry.name.size() > limits::kTensorNameBytes ||
      entry.name == "__metadata__") {
    return Status::invalid_argument("{} is not a name that safetensors can hold",
                                    quote_name(entry.name));
  }
  if (!safetensors_dtype_of_layout(tensor.layout)) {
    return Status::invalid_argument("tensor {}: safetensors has no dtype for {}",
                                    quote_name(entry.name), info(tensor.layout).name);
  }
  const auto size = storage_bytes(tensor.layout, tensor.shape.elements()).value();
  const bool fills_bytes = tensor.shape.back() % info(tensor.layout).block_elements == 0;
  if (!size || !fills_bytes || *size != tensor.bytes.size()) {
    return Status::invalid_argument("tensor {}: {} bytes are not {} of {}", quote_name(entry.name),
                                    tensor.bytes.size(), tensor.shape.to_string(),
                                    info(tensor.layout).name);
  }
  return Status::ok();
}

Status check_tensors(std::span<const TensorEntry> tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const TensorEntry& entry : tensors) {
    INGOT_TRY(check_tensor(entry));
    names.push_back(entry.name);
  }
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return Status::ok();
  return Status::invalid_argument("two tensors are called {}", quote_name(*twice));
}

uint32_t bits_of(const TensorEntry* entry) {
  const LayoutInfo& layout = info(entry->tensor.layout);
  return layout.block_bytes * 8 / layout.block_elements;
}

// Wide elements first, so that all are aligned; then by name.
void sort_for_storage(Tensors& tensors) {
  std::ranges::sort(tensors, [](const TensorEntry* a, const TensorEntry* b) {
    return bits_of(a) != bits_of(b) ? bits_of(a) > bits_of(b) : a->name < b->name;
  });
}

std::string header_text(const Tensors& tensors, const Metadata& metadata) {
  std::vector<std::string> items;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : metadata) {
      pairs.push_back(fmt::format("{}:{}", json_string(key), json_string(value)));
    }
    items.push_back(fmt::format("\"__metadata__\":{{{}}}", fmt::join(pairs, ",")));
  }
  uint64_t begin = 0;
  for (const TensorEntry* entry : tensors) {
    const uint64_t end = begin + entry->tensor.bytes.size();
    items.push_back(fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                                json_string(entry->name),
                                *safetensors_dtype_of_layout(entry->tensor.layout),
                                fmt::join(entry->tensor.shape.dims(), ","), begin, end));
    begin = end;
  }
  std::string text = fmt::format("{{{}}}", fmt::join(items, ","));
  text.resize(*CheckedSize(text.size()).round_up(8).value(), ' ');  // the data begins aligned
  return text;
}

Status write_file(const std::filesystem::path& path, Tensors tensors, const Metadata& metadata) {
  sort_for_storage(tensors);
  const std::string header = header_text(tensors, metadata);
  if (header.size() > limits::kSafetensorsHeaderBytes) {
    return Status::invalid_argument(
        "{}: a header of {} bytes, more than the format's {}; write smaller shards", path.string(),
        header.size(), limits::kSafetensorsHeaderBytes);
  }
  const uint64_t length = header.size();
  INGOT_TRY(AtomicFile file, AtomicFile::create(path));
  INGOT_TRY(file.write(std::as_bytes(std::span(&length, 1))));
  INGOT_TRY(file.write(header));
  for (const TensorEntry* entry : tensors)
    INGOT_TRY(file.write(entry->tensor.bytes));
  return file.commit();
}

// In the order given, each shard filled up before the next begins.
std::vector<Tensors> split(std::span<const TensorEntry> tensors, uint64_t shard_bytes) {
  std::vector<Tensors> shards(1);
  uint64_t size = 0;
  for (const TensorEntry& entry : tensors) {
    const uint64_t added = entry.tensor.bytes.size();
    if (!shards.back().empty() && !(CheckedSize(size) + added).fits(shard_bytes)) {
      shards.emplace_back();
      size = 0;
    }
    shards.back().push_back(&entry);
    size += added;
  }
  return shards;
}

}  // namespace

Status write_safetensors(const std::filesystem::path& path, std::span<const TensorEntry> tensors,
                         const std::map<std::string, std::string>& metadata) {
  INGOT_TRY(check_tensors(tensors));
  Tensors all;
  all.reserve(tensors.size());
  for (const TensorEntry& entry : tensors)
    all.push_back(&entry);
  return write_file(path, std::move(all), metadata);
}

Status write_safetensors_sharded(const std::filesystem::path& folder,
                                 std::span<const TensorEntry> tensors,
                                 const std::map<std::string, std::string>& metadata,
                                 uint64_t shard_bytes) {
  INGOT_TRY(check_tensors(tensors));
  const std::vector<Tensors> shards = split(tensors, shard_bytes);
  if (shards.size() > limits::kSafetensorsShards) {
    return Status::invalid_argument("{}: {} shards, more than {}; choose larger ones",
                                    folder.string(), shards.size(), limits::kSafetensorsShards);
  }
  std::map<std::string_view, std::string> weight_map;
  uint64_t total = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    for (const TensorEntry* entry : shards[i]) {
      weight_map.emplace(entry->name, name);
      total += entry->tensor.bytes.size();
    }
    INGOT_TRY(write_file(folder / name, shards[i], metadata));
  }
  // Last, so that a folder with an index always has its shards.
  std::vector<std::string> lines;
  lines.reserve(weight_map.size());
  for (const auto& [tensor, shard] : weight_map) {
    lines.push_back(fmt::format("    {}: \"{}\"", json_string(std::string(tensor)), shard));
  }
  INGOT_TRY(AtomicFile file, AtomicFile::create(folder / "model.safetensors.index.json"));
  INGOT_TRY(file.write(fmt::format(
      "{{\n  \"metadata\": {{\n    \"total_size\": {}\n  }},\n  \"weight_map\": {{\n{}\n  }}\n}}\n",
      total, fmt::join(lines, ",\n"))));
  return file.commit();
}

}  // namespace ingot
