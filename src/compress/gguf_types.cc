// SPDX-License-Identifier: Apache-2.0
#include "compress/gguf_types.h"

#include <algorithm>

#include "base/pattern.h"
#include "quant/mixture.h"
#include "quant/quantize_rows.h"

namespace ingot {
namespace {

TensorRole role_of(const GgufTensor& tensor, const ModelSpec& spec, bool is_tied) {
  const NamedTensor named = named_tensor(tensor.name);
  TensorRole role;
  role.kind = named.kind;
  role.is_expert = named.is_expert;
  role.is_tied = is_tied;
  role.has_importance = tensor.has_importance;
  role.layer = named.layer.value_or(0);
  role.layers = static_cast<int>(spec.layers.size());
  if (!spec.layers.empty()) {
    const auto& attention = std::get<AttentionSpec>(spec.layers.front().mixer);
    role.heads = static_cast<int>(attention.heads);
    role.kv_heads = static_cast<int>(attention.kv_heads);
  }
  role.dims = static_cast<int>(tensor.shape.rank());
  role.cols = static_cast<int64_t>(tensor.shape.back());
  const auto elements = static_cast<int64_t>(tensor.shape.elements().value_or(0));
  role.rows = role.cols > 0 ? elements / role.cols : 0;
  return role;
}

}  // namespace

uint32_t file_type_of(const GgufTypeOptions& options) {
  constexpr uint32_t kGuessed = 1024;
  return options.mixture != nullptr ? options.mixture->file_type : kGuessed;
}

bool is_quantizable(const GgufTensor& tensor) {
  return tensor.shape.rank() >= 2 && named_tensor(tensor.name).kind != MatrixKind::kKept;
}

Result<std::vector<Layout>> choose_types(std::span<const GgufTensor> tensors, const ModelSpec& spec,
                                         const GgufTypeOptions& options) {
  const bool is_tied =
      std::ranges::find(tensors, "output.weight", &GgufTensor::name) == tensors.end();
  std::vector<std::pair<Pattern, Layout>> patterns;
  for (const auto& [text, layout] : options.patterns) {
    INGOT_TRY(Pattern pattern, Pattern::parse(".*(?:" + text + ")"));
    patterns.emplace_back(std::move(pattern), layout);
  }
  for (const auto& [name, layout] : options.recipe) {
    if (std::ranges::find(tensors, name, &GgufTensor::name) == tensors.end()) {
      return Status::invalid_argument("the recipe names '{}', which the model does not have", name);
    }
  }
  std::vector<Layout> layouts;
  for (const GgufTensor& tensor : tensors) {
    const auto cols = static_cast<int64_t>(tensor.shape.back());
    if (!is_quantizable(tensor)) {
      layouts.push_back(Layout::kF32);
      continue;
    }
    const TensorRole role = role_of(tensor, spec, is_tied);
    std::optional<Layout> asked;
    if (role.kind == MatrixKind::kEmbedding) asked = options.embedding;
    if (role.kind == MatrixKind::kOutput) asked = options.output;
    for (const auto& [pattern, layout] : patterns) {
      if (pattern.matches(tensor.name)) asked = layout;
    }
    if (const auto it = options.recipe.find(tensor.name); it != options.recipe.end())
      asked = it->second;
    if (asked) {
      layouts.push_back(fit_layout(*asked, cols));
    } else if (options.mixture == nullptr) {
      return Status::invalid_argument("the recipe does not say what '{}' becomes", tensor.name);
    } else if (options.is_pure) {
      layouts.push_back(fit_layout(options.mixture->base, cols));
    } else {
      layouts.push_back(choose(*options.mixture, role));
    }
  }
  for (size_t i = 0; i < layouts.size(); ++i) {
    const GgufTensor& tensor = tensors[i];
    const MatrixKind kind = named_tensor(tensor.name).kind;
    const bool is_looked_up = kind == MatrixKind::kEmbedding || kind == MatrixKind::kOutput;
    if (!needs_importance(layouts[i]) || tensor.has_importance || is_looked_up) continue;
    return Status::invalid_argument(
        "'{}' as {} needs an importance matrix: give --imatrix FILE or --calibration FILE",
        tensor.name, info(layouts[i]).name);
  }
  return layouts;
}

}  // namespace ingot
