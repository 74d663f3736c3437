// SPDX-License-Identifier: Apache-2.0
#include "model/weight_map.h"

namespace ingot {

std::vector<std::string> WeightMap::spellings(const std::string& name) const {
  std::vector<std::string> names = {name};
  for (const PrefixAlias& alias : aliases) {
    if (name.starts_with(alias.prefix))
      names.push_back(alias.alternative + name.substr(alias.prefix.size()));
  }
  return names;
}

namespace {

// One walk for const and mutable maps. `Visit` takes a TensorSource.
template <class Map, class Visit>
void walk(Map& weights, const Visit& visit) {
  const auto source = [&](auto& one) {
    if (one.exists()) visit(one);
  };
  const auto pair = [&](auto& both) {
    source(both.weight);
    source(both.bias);
  };
  source(weights.embedding);
  source(weights.position_embedding);
  pair(weights.embedding_norm);
  pair(weights.embedding_in);
  pair(weights.embedding_out);
  pair(weights.final_norm);
  pair(weights.output);
  source(weights.rope_short_factors);
  source(weights.rope_long_factors);
  for (auto& layer : weights.layers) {
    pair(layer.mixer_norm);
    pair(layer.mixer_post_norm);
    pair(layer.q);
    pair(layer.k);
    pair(layer.v);
    pair(layer.o);
    pair(layer.q_norm);
    pair(layer.k_norm);
    source(layer.sinks);
    pair(layer.ffn_norm);
    pair(layer.ffn_post_norm);
    pair(layer.gate);
    pair(layer.up);
    pair(layer.down);
  }
}

}  // namespace

void for_each_source(WeightMap& weights, const std::function<void(TensorSource&)>& visit) {
  walk(weights, visit);
}

void for_each_source(const WeightMap& weights,
                     const std::function<void(const TensorSource&)>& visit) {
  walk(weights, visit);
}

}  // namespace ingot
