// SPDX-License-Identifier: Apache-2.0
#include "compress/recipe.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/json.h"
#include "blocks/layout.h"
#include "quant/quantize_rows.h"

namespace ingot {
namespace {

constexpr const char* kVersionKey = "ingot_recipe";

uint64_t weights_of(const SensitivityReport& report) {
  uint64_t weights = 0;
  for (const TensorSensitivity& tensor : report.tensors) {
    const TypeChoice& any = tensor.choices.front();
    const LayoutInfo& facts = info(any.layout);
    weights += any.bytes / facts.block_bytes * facts.block_elements;
  }
  return weights;
}

}  // namespace

RecipeTypes recipe_types(const SensitivityReport& report, const Allocation& allocation) {
  RecipeTypes types;
  for (size_t i = 0; i < report.tensors.size(); ++i)
    types[report.tensors[i].name] = report.tensors[i].choices[allocation.chosen[i]].layout;
  return types;
}

Status write_recipe(const std::filesystem::path& path, const RecipeFacts& facts,
                    const SensitivityReport& report, const Allocation& allocation) {
  Json tensors = Json::object();
  Json losses = Json::object();
  for (size_t i = 0; i < report.tensors.size(); ++i) {
    const TensorSensitivity& tensor = report.tensors[i];
    const TypeChoice& choice = tensor.choices[allocation.chosen[i]];
    tensors[tensor.name] = info(choice.layout).name;
    Json& loss = losses[tensor.name];
    for (const TypeChoice& other : tensor.choices)
      loss[std::string(info(other.layout).name)] = other.loss;
  }
  const Json recipe = {{kVersionKey, 1},
                       {"model", facts.model},
                       {"calibration", facts.calibration},
                       {"calibration_tokens", report.tokens},
                       {"bits_per_weight", facts.bits_per_weight},
                       {"predicted_kl", facts.predicted_kl},
                       {"measured_kl", facts.measured_kl},
                       {"tensors", std::move(tensors)},
                       {"estimated_kl_by_type", std::move(losses)}};
  INGOT_TRY(AtomicFile file, AtomicFile::create(path));
  INGOT_TRY(file.write(dump_json(recipe, 1) + "\n"));
  return file.commit();
}

Result<RecipeTypes> read_recipe(const std::filesystem::path& path) {
  INGOT_TRY(const Json recipe, read_json_file(path));
  const auto tensors = recipe.is_object() ? recipe.find("tensors") : recipe.end();
  if (!recipe.is_object() || !recipe.contains(kVersionKey) || tensors == recipe.end() ||
      !tensors->is_object() || tensors->empty()) {
    return Status::invalid_data(
        "{}: not a recipe; it needs \"{}\" and \"tensors\" with a type for each name",
        path.string(), kVersionKey);
  }
  RecipeTypes types;
  for (const auto& [name, value] : tensors->items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    const std::optional<Layout> layout = layout_named(text);
    if (!value.is_string() || !layout || !can_quantize(*layout)) {
      return Status::invalid_data("{}: '{}' has the unknown type {}", path.string(), name, text);
    }
    types[name] = *layout;
  }
  return types;
}

uint64_t matrix_budget(const MixTarget& target, const GgufPlan& gguf,
                       const SensitivityReport& report) {
  if (target.bits_per_weight) {
    return static_cast<uint64_t>(*target.bits_per_weight / 8 *
                                 static_cast<double>(weights_of(report)));
  }
  if (!target.bytes) return 0;
  // What is no matrix stays F32; keys, names and padding take their part.
  uint64_t rest = 4096;
  for (const GgufKeyValues::KeyValue& value : gguf.values.entries())
    rest += value.key.size() + value.encoded.size() + 8;
  for (const SourceTensor& tensor : gguf.tensors) {
    rest += 128 + tensor.name.size();
    const bool is_matrix = std::ranges::find(report.tensors, tensor.name,
                                             &TensorSensitivity::name) != report.tensors.end();
    if (!is_matrix) rest += 4 * tensor.shape.elements().value_or(0);
  }
  return *target.bytes > rest ? *target.bytes - rest : 0;
}

}  // namespace ingot
