// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "base/json_reader.h"
#include "base/limits.h"
#include "formats/quote_name.h"
#include "formats/safetensors.h"

namespace ingot {
namespace {

bool is_shard_name(std::string_view name) {
  return name.ends_with(".safetensors") && !name.starts_with('.') &&
         !has_control_characters(name) && name.size() <= 255 &&
         name.find_first_of("/\\") == std::string_view::npos;
}

Status read_weight_map(JsonReader& json, SafetensorsIndex& index) {
  INGOT_TRY(json.expect(JsonToken::kBeginObject, "weight_map"));
  while (true) {
    INGOT_TRY(const bool has_key, json.next_key());
    if (!has_key) return Status::ok();
    if (json.text().size() > limits::kTensorNameBytes)
      return json.error("a tensor name is too long");
    std::string name(json.text());
    INGOT_TRY(const JsonToken token, json.next());
    if (token != JsonToken::kString || !is_shard_name(json.text())) {
      return json.error(
          fmt::format("tensor {}: {} is not the name of a .safetensors file in this folder",
                      quote_name(name), quote_name(json.text())));
    }
    if (index.weight_map.size() == limits::kSafetensorsIndexTensors) {
      return json.error(fmt::format("more than {} tensors", limits::kSafetensorsIndexTensors));
    }
    const auto [entry, is_new] = index.weight_map.emplace(std::move(name), json.text());
    if (!is_new) return json.error(fmt::format("tensor {} stands twice", quote_name(entry->first)));
  }
}

}  // namespace

std::vector<std::string> SafetensorsIndex::shard_names() const {
  std::set<std::string_view> names;
  for (const auto& [tensor, shard] : weight_map)
    names.insert(shard);
  return {names.begin(), names.end()};
}

Result<SafetensorsIndex> parse_safetensors_index(std::string_view text, std::string_view source) {
  JsonReader json(text, std::string(source));
  SafetensorsIndex index;
  bool has_map = false;
  INGOT_TRY(json.expect(JsonToken::kBeginObject, "index"));
  while (true) {
    INGOT_TRY(const bool has_key, json.next_key());
    if (!has_key) break;
    if (json.text() !=
        "weight_map") {  // metadata.total_size is often wrong; the shards know better
      INGOT_TRY(json.skip_value());
      continue;
    }
    if (has_map) return json.error("weight_map stands twice");
    has_map = true;
    INGOT_TRY(read_weight_map(json, index));
  }
  INGOT_TRY(json.expect(JsonToken::kEnd, "index"));
  if (index.weight_map.empty()) return json.error("weight_map names no tensors");
  return index;
}

}  // namespace ingot
