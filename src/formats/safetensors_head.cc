// SPDX-License-Identifier: Apache-2.0
#include "formats/safetensors_head.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/checked.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "formats/quote_name.h"
#include "formats/safetensors.h"

namespace ingot {
namespace {

using Metadata = std::map<std::string, std::string>;

std::string json_string(const std::string& text) {
  return dump_json(Json(text));
}

// Its bytes.
Result<uint64_t> check_safetensors_tensor(const PlannedTensor& tensor) {
  if (!utf8::is_valid(tensor.name) || tensor.name.size() > limits::kTensorNameBytes ||
      tensor.name == "__metadata__") {
    return Status::invalid_argument("{} is not a name that safetensors can hold",
                                    quote_name(tensor.name));
  }
  if (!safetensors_dtype_of_layout(tensor.layout)) {
    return Status::invalid_argument("tensor {}: safetensors has no dtype for {}",
                                    quote_name(tensor.name), info(tensor.layout).name);
  }
  const auto size = storage_bytes(tensor.layout, tensor.shape.elements()).value();
  const bool fills_bytes = tensor.shape.back() % info(tensor.layout).block_elements == 0;
  if (!size || !fills_bytes) {
    return Status::invalid_argument("tensor {}: safetensors cannot hold the shape {} of {}",
                                    quote_name(tensor.name), tensor.shape.to_string(),
                                    info(tensor.layout).name);
  }
  return *size;
}

Result<std::vector<uint64_t>> check_tensors(std::span<const PlannedTensor> tensors) {
  std::vector<std::string_view> names;
  std::vector<uint64_t> sizes;
  CheckedSize total = 0;
  for (const PlannedTensor& tensor : tensors) {
    INGOT_TRY(const uint64_t size, check_safetensors_tensor(tensor));
    names.push_back(tensor.name);
    sizes.push_back(size);
    total = total + size;
  }
  if (!total.fits(INT64_MAX))
    return Status::invalid_argument("the tensors are larger than any file");
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return sizes;
  return Status::invalid_argument("two tensors are called {}", quote_name(*twice));
}

uint32_t bits_of(const PlannedTensor& tensor) {
  const LayoutInfo& layout = info(tensor.layout);
  return layout.block_bytes * 8 / layout.block_elements;
}

std::vector<SafetensorsPart> split(std::span<const uint64_t> sizes, uint64_t shard_bytes) {
  std::vector<SafetensorsPart> parts(1);
  uint64_t size = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!parts.back().tensors.empty() && !(CheckedSize(size) + sizes[i]).fits(shard_bytes)) {
      parts.emplace_back();
      size = 0;
    }
    parts.back().tensors.push_back(i);
    size += sizes[i];
  }
  return parts;
}

// Fills in head, offsets and size.
Status place(SafetensorsPart& part, std::span<const PlannedTensor> tensors,
             std::span<const uint64_t> sizes, const Metadata& metadata) {
  std::ranges::sort(part.tensors, [&](size_t a, size_t b) {
    const uint32_t wide = bits_of(tensors[a]);
    const uint32_t other = bits_of(tensors[b]);
    return wide != other ? wide > other : tensors[a].name < tensors[b].name;
  });
  std::vector<std::string> items;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : metadata) {
      pairs.push_back(fmt::format("{}:{}", json_string(key), json_string(value)));
    }
    items.push_back(fmt::format("\"__metadata__\":{{{}}}", fmt::join(pairs, ",")));
  }
  uint64_t begin = 0;
  for (const size_t i : part.tensors) {
    const uint64_t end = begin + sizes[i];
    items.push_back(fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                                json_string(tensors[i].name),
                                *safetensors_dtype_of_layout(tensors[i].layout),
                                fmt::join(tensors[i].shape.dims(), ","), begin, end));
    part.offsets.push_back(begin);
    begin = end;
  }
  std::string text = fmt::format("{{{}}}", fmt::join(items, ","));
  text.resize(*CheckedSize(text.size()).round_up(8).value(), ' ');  // the data begins aligned
  if (text.size() > limits::kSafetensorsHeaderBytes) {
    return Status::invalid_argument(
        "a header of {} bytes, more than the format's {}; write smaller shards", text.size(),
        limits::kSafetensorsHeaderBytes);
  }
  const uint64_t length = text.size();
  part.head.assign(reinterpret_cast<const char*>(&length), sizeof(length));
  part.head += text;
  for (uint64_t& offset : part.offsets)
    offset += part.head.size();
  part.file_size = part.head.size() + begin;
  return Status::ok();
}

}  // namespace

Result<std::vector<SafetensorsPart>> plan_safetensors_parts(
    std::span<const PlannedTensor> tensors, const std::map<std::string, std::string>& metadata,
    uint64_t shard_bytes) {
  INGOT_TRY(const std::vector<uint64_t> sizes, check_tensors(tensors));
  std::vector<SafetensorsPart> parts = split(sizes, shard_bytes);
  if (parts.size() > limits::kSafetensorsShards) {
    return Status::invalid_argument("{} shards, more than {}; choose larger ones", parts.size(),
                                    limits::kSafetensorsShards);
  }
  for (SafetensorsPart& part : parts)
    INGOT_TRY(place(part, tensors, sizes, metadata));
  return parts;
}

std::string safetensors_shard_name(size_t index, size_t count) {
  return fmt::format("model-{:05}-of-{:05}.safetensors", index + 1, count);
}

std::string safetensors_index_text(std::span<const PlannedTensor> tensors,
                                   std::span<const SafetensorsPart> parts) {
  std::map<std::string_view, std::string> weight_map;
  uint64_t total = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    for (const size_t tensor : parts[i].tensors) {
      weight_map.emplace(tensors[tensor].name, safetensors_shard_name(i, parts.size()));
    }
    total += parts[i].file_size - parts[i].head.size();
  }
  std::vector<std::string> lines;
  lines.reserve(weight_map.size());
  for (const auto& [tensor, shard] : weight_map) {
    lines.push_back(fmt::format("    {}: \"{}\"", json_string(std::string(tensor)), shard));
  }
  return fmt::format(
      "{{\n  \"metadata\": {{\n    \"total_size\": {}\n  }},\n  \"weight_map\": {{\n{}\n  }}\n}}\n",
      total, fmt::join(lines, ",\n"));
}

}  // namespace ingot
