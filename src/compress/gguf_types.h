// SPDX-License-Identifier: Apache-2.0
// Which type each tensor of a GGUF file gets: by a mixture's rules, by what was asked for by name,
// or by a recipe that says it tensor by tensor.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/spec.h"
#include "tensor/tensor_view.h"

namespace ingot {

struct Mixture;

struct GgufTypeOptions {
  const Mixture* mixture = nullptr;  // null: all is said by the recipe
  std::optional<Layout> embedding;
  std::optional<Layout> output;
  std::vector<std::pair<std::string, Layout>>
      patterns;                                       // found in a name; the last that fits holds
  bool is_pure = false;                               // one type for all matrices
  std::map<std::string, Layout, std::less<>> recipe;  // by whole name; comes before all else
};

struct GgufTensor {
  std::string name;
  Shape shape;
  bool has_importance = false;
};

// One for each tensor. Types whose blocks do not fill a tensor's columns give way to similar ones.
Result<std::vector<Layout>> choose_types(std::span<const GgufTensor> tensors, const ModelSpec& spec,
                                         const GgufTypeOptions& options);
// general.file_type of such a file; a recipe's own mix counts as guessed.
uint32_t file_type_of(const GgufTypeOptions& options);
// A matrix that is multiplied with, or the embedding: what a mixture decides about.
bool is_quantizable(const GgufTensor& tensor);

}  // namespace ingot
