// SPDX-License-Identifier: Apache-2.0
// The plans of all reference models: both spellings of their config agree, and names and shapes fit
// their checkpoints to the last row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "model/mapper.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;
using Shapes = std::map<std::string, std::vector<int64_t>>;

// Folders with a config whose architecture is known, quantized ones aside.
std::vector<fs::path> known_models() {
  std::vector<fs::path> found;
  for (const char* root : {"tests/oracle", "build/oracle"}) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(fs::path(INGOT_SOURCE_DIR) / root, none)) {
      const Result<HfConfig> config = HfConfig::open(entry.path() / "config.json");
      if (!config.is_ok() || config->has("quantization_config")) continue;
      const Result<std::string> type = config->string("model_type");
      const bool is_known = type.is_ok() && std::ranges::any_of(hf_mappers(), [&](const auto& one) {
                              return one.model_type == *type;
                            });
      if (is_known) found.push_back(entry.path());
    }
  }
  std::ranges::sort(found);
  return found;
}

Result<ModelPlan> plan_of(const fs::path& config) {
  INGOT_TRY(const HfConfig parsed, HfConfig::open(config));
  return plan_from_config(parsed);
}

// Names and shapes of all tensors in a folder, straight from the files' headers.
Shapes shapes_in(const fs::path& folder) {
  Shapes shapes;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename();
    if (!file.starts_with("model") || entry.path().extension() != ".safetensors") continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    uint64_t size = 0;
    stream.read(reinterpret_cast<char*>(&size), sizeof size);
    std::string header(size, '\0');
    stream.read(header.data(), static_cast<std::streamsize>(size));
    const Result<Json> json = parse_json(header, file);
    EXPECT_TRUE(json.is_ok()) << json.status().message();
    for (const auto& [name, tensor] : json->items()) {
      if (name != "__metadata__") shapes[name] = tensor.at("shape").get<std::vector<int64_t>>();
    }
  }
  return shapes;
}

// Follows a plan through a checkpoint and counts how often each row of each tensor is used.
class Walk {
 public:
  Walk(const ModelPlan& plan, Shapes shapes) : weights_(plan.weights), shapes_(std::move(shapes)) {}

  // A matrix of `rows` x `cols`; a vector where cols is 0.
  void expect(const TensorSource& source, int64_t rows, int64_t cols) {
    int64_t taken = 0;
    for (const TensorPart& part : source.parts) {
      const std::string* name = find(part.name);
      if (name == nullptr) {
        EXPECT_TRUE(source.is_optional) << "no tensor " << part.name;
        return;
      }
      taken += take(part, *name, cols);
    }
    EXPECT_EQ(taken, rows) << (source.exists() ? source.parts[0].name : "nothing");
  }

  void linear(const LinearSource& source, int64_t rows, int64_t cols) {
    expect(source.weight, rows, cols);
    if (source.bias.exists()) expect(source.bias, rows, 0);
  }

  void norm(const NormSource& source, bool is_there, int64_t size) {
    expect(source.weight, is_there ? size : 0, 0);
    if (source.bias.exists()) expect(source.bias, size, 0);
  }

  // Tensors of which some row was not used exactly once.
  std::vector<std::string> misused() const {
    std::vector<std::string> names;
    for (const auto& [name, shape] : shapes_) {
      const bool is_vision =
          name.starts_with("vision_tower.") || name.starts_with("multi_modal_projector.");
      const auto uses = uses_.find(name);
      const bool is_fully_used =
          uses != uses_.end() && std::ranges::all_of(uses->second, [](int n) { return n == 1; });
      if (!is_vision && !is_fully_used) names.push_back(name);
    }
    return names;
  }

 private:
  const std::string* find(const std::string& name) const {
    for (const std::string& spelling : weights_.spellings(name)) {
      const auto it = shapes_.find(spelling);
      if (it != shapes_.end()) return &it->first;
    }
    return nullptr;
  }

  int64_t take(const TensorPart& part, const std::string& name, int64_t cols) {
    std::vector<int64_t> shape = shapes_.at(name);
    if (part.is_transposed) std::ranges::reverse(shape);
    int64_t rows = shape.at(0);
    if (cols > 0) {
      EXPECT_EQ(shape.size(), 2) << name;
      EXPECT_EQ(shape.back(), cols) << name;
    } else {
      rows = 1;
      for (const int64_t extent : shape)
        rows *= extent;
    }
    std::vector<int>& uses = uses_[name];
    uses.resize(static_cast<size_t>(rows));
    const std::vector<RowRange> all = {{0, rows}};
    int64_t taken = 0;
    for (const RowRange& range : part.rows.empty() ? all : part.rows) {
      for (int64_t row = range.begin; row < range.end; ++row)
        ++uses.at(static_cast<size_t>(row));
      taken += range.end - range.begin;
    }
    return taken;
  }

  const WeightMap& weights_;
  Shapes shapes_;
  std::map<std::string, std::vector<int>> uses_;
};

void walk_layer(const ModelSpec& spec, const LayerSpec& layer, const LayerSources& from,
                Walk& walk) {
  const auto& attention = std::get<AttentionSpec>(layer.mixer);
  const auto& ffn = std::get<DenseFfnSpec>(layer.ffn);
  const bool affine = spec.norm.has_affine;
  walk.norm(from.mixer_norm, affine && layer.has_mixer_norm, spec.hidden);
  walk.norm(from.mixer_post_norm, affine && layer.has_mixer_post_norm, spec.hidden);
  walk.norm(from.ffn_norm, affine && layer.has_ffn_norm, spec.hidden);
  walk.norm(from.ffn_post_norm, affine && layer.has_ffn_post_norm, spec.hidden);

  const int64_t q = attention.heads * attention.key_dim;
  const int64_t k = attention.kv_heads * attention.key_dim;
  const int64_t v = attention.kv_heads * attention.value_dim;
  walk.linear(from.q, q, spec.hidden);
  walk.linear(from.k, k, spec.hidden);
  walk.linear(from.v, v, spec.hidden);
  walk.linear(from.o, spec.hidden, attention.heads * attention.value_dim);
  const bool is_shared = attention.qk_norm == QkNorm::kPerHead;
  const bool has_qk_norm = attention.qk_norm != QkNorm::kNone;
  walk.norm(from.q_norm, has_qk_norm, is_shared ? attention.key_dim : q);
  walk.norm(from.k_norm, has_qk_norm, is_shared ? attention.key_dim : k);

  walk.linear(from.gate, ffn.is_gated ? ffn.hidden : 0, spec.hidden);
  walk.linear(from.up, ffn.hidden, spec.hidden);
  walk.linear(from.down, spec.hidden, ffn.hidden);
}

TEST(HfOracle, BothSpellingsGiveOnePlan) {
  const std::vector<fs::path> models = known_models();
  if (models.empty()) GTEST_SKIP() << "no reference models in tests/oracle or build/oracle";
  for (const fs::path& model : models) {
    SCOPED_TRACE(model.filename());
    const Result<ModelPlan> plan = plan_of(model / "config.json");
    ASSERT_TRUE(plan.is_ok()) << plan.status().message();
    if (!fs::exists(model / "config_legacy.json")) continue;
    const Result<ModelPlan> legacy = plan_of(model / "config_legacy.json");
    ASSERT_TRUE(legacy.is_ok()) << legacy.status().message();
    EXPECT_TRUE(*plan == *legacy);
  }
}

TEST(HfOracle, PlansUseEveryRowOfTheirCheckpointsOnce) {
  const std::vector<fs::path> models = known_models();
  if (models.empty()) GTEST_SKIP() << "no reference models in tests/oracle or build/oracle";
  for (const fs::path& model : models) {
    SCOPED_TRACE(model.filename());
    const Result<ModelPlan> plan = plan_of(model / "config.json");
    ASSERT_TRUE(plan.is_ok()) << plan.status().message();
    const ModelSpec& spec = plan->spec;
    const WeightMap& weights = plan->weights;
    const int64_t width = spec.embedding_dim > 0 ? spec.embedding_dim : spec.hidden;
    Walk walk(*plan, shapes_in(model));
    walk.expect(weights.embedding, spec.vocab, width);
    walk.expect(weights.position_embedding, spec.learned_positions, spec.hidden);
    walk.norm(weights.embedding_norm, spec.has_embedding_norm, spec.hidden);
    walk.norm(weights.final_norm, spec.norm.has_affine && spec.has_final_norm, spec.hidden);
    walk.expect(weights.output.weight, spec.ties_output ? 0 : spec.vocab, width);
    if (weights.output.bias.exists()) walk.expect(weights.output.bias, spec.vocab, 0);
    for (size_t i = 0; i < spec.layers.size(); ++i)
      walk_layer(spec, spec.layers[i], weights.layers[i], walk);
    EXPECT_THAT(walk.misused(), testing::IsEmpty());
  }
}

}  // namespace
}  // namespace ingot
