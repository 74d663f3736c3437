// SPDX-License-Identifier: Apache-2.0
#include "bench/random_model.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "bench/random_weights.h"

namespace ingot {
namespace {

// Shapes of Llama models.
struct RandomShape {
  std::string_view name;
  int64_t hidden;
  int64_t layers;
  int64_t heads;
  int64_t kv_heads;
  int64_t head_dim;
  int64_t ffn;
  int64_t vocab;
  bool is_tied;
};
constexpr RandomShape kShapes[] = {
    {"tiny", 256, 2, 4, 2, 64, 512, 512, false},  // for tests
    {"160M", 768, 12, 12, 12, 64, 3072, 32000, false},
    {"1B", 2048, 16, 32, 8, 64, 8192, 128256, true},
    {"3B", 3072, 28, 24, 8, 128, 8192, 128256, true},
    {"8B", 4096, 32, 32, 8, 128, 14336, 128256, false},
    {"70B", 8192, 80, 64, 8, 128, 28672, 128256, false},
};

bool is_named(const RandomShape& shape, std::string_view name) {
  return std::ranges::equal(shape.name, name, [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  });
}

ModelSpec spec_of(const RandomShape& shape) {
  AttentionSpec attention;
  attention.heads = shape.heads;
  attention.kv_heads = shape.kv_heads;
  attention.key_dim = shape.head_dim;
  attention.value_dim = shape.head_dim;
  attention.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_dim)));
  attention.rope = 0;
  LayerSpec layer;
  layer.mixer = attention;
  layer.ffn = DenseFfnSpec{.hidden = shape.ffn};
  ModelSpec spec;
  spec.architecture = "llama";
  spec.vocab = shape.vocab;
  spec.hidden = shape.hidden;
  spec.context = 131072;
  spec.ropes.emplace_back();
  spec.ropes.back().rotary_dim = shape.head_dim;
  spec.ropes.back().theta = 500000;
  spec.layers.assign(static_cast<size_t>(shape.layers), layer);
  spec.ties_output = shape.is_tied;
  return spec;
}

}  // namespace

std::string random_shape_names() {
  std::string names;
  for (const RandomShape& shape : kShapes)
    names += fmt::format("{}{}", &shape == kShapes ? "" : ", ", shape.name);
  return names;
}

Result<LoadedModel> make_random_model(std::string_view text, const ModelOptions& options) {
  const size_t split = text.find(':');
  const auto shape = std::ranges::find_if(
      kShapes, [&](const RandomShape& known) { return is_named(known, text.substr(0, split)); });
  if (shape == std::end(kShapes) || split == std::string_view::npos) {
    return Status::invalid_argument(
        "--random '{}': give a shape and a format, as 8B:q4_k_m; the shapes are {}", text,
        random_shape_names());
  }
  INGOT_TRY(RandomFormat format, parse_random_format(text.substr(split + 1)));
  LoadedModel loaded;
  loaded.name = fmt::format("random {} {}", shape->name, format.name);
  RandomWeights weights(spec_of(*shape), std::move(format));
  INGOT_TRY(loaded.model, Model::generate(loaded.name, weights, options));
  loaded.checkpoint = Checkpoint::without_tensors(loaded.name);
  loaded.text.tokenizer_status = Status::not_found("random weights have no tokenizer");
  loaded.text.template_status = Status::not_found("random weights have no chat template");
  return loaded;
}

}  // namespace ingot
