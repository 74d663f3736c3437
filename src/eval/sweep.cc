// SPDX-License-Identifier: Apache-2.0
#include "eval/sweep.h"

#include <algorithm>

#include "base/log.h"
#include "eval/response_text.h"
#include "eval/tasks/task_file.h"

namespace ingot {
namespace {

constexpr size_t kMostRecipes = 256;

// Removes what a recipe made, whatever happens to it.
class Temporary {
 public:
  Temporary(std::filesystem::path path, bool is_kept) : path_(std::move(path)), is_kept_(is_kept) {}
  ~Temporary() {
    if (is_kept_) return;
    std::error_code problem;
    std::filesystem::remove_all(path_, problem);
    if (problem) log_warning("{}: cannot be deleted: {}", path_.string(), problem.message());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

 private:
  std::filesystem::path path_;
  bool is_kept_;
};

Result<EvaluatedModel> run_recipe(const std::string& recipe, const SweepOptions& options,
                                  const SweepHooks& hooks) {
  INGOT_TRY(const std::filesystem::path path, hooks.quantize(recipe));
  const Temporary file(path, options.keeps_files);
  INGOT_TRY(EvaluatedModel model, hooks.evaluate(path));
  model.name = recipe;
  return model;
}

}  // namespace

Result<std::vector<std::string>> parse_recipes(std::string_view list) {
  std::vector<std::string> recipes;
  for (const std::string_view part : split(list, ",")) {
    std::string recipe(trim(part));
    if (recipe.empty())
      return Status::invalid_argument("'{}' has an empty recipe; write q8_0,q4_k_m", list);
    if (std::ranges::find(recipes, recipe) != recipes.end())
      return Status::invalid_argument("the recipe '{}' is there twice", recipe);
    recipes.push_back(std::move(recipe));
    if (recipes.size() > kMostRecipes)
      return Status::invalid_argument("there are more than {} recipes", kMostRecipes);
  }
  return recipes;
}

Result<std::vector<EvaluatedModel>> run_sweep(const SweepOptions& options,
                                              const SweepHooks& hooks) {
  std::vector<EvaluatedModel> models;
  for (size_t i = 0; i < options.recipes.size(); ++i) {
    const std::string& recipe = options.recipes[i];
    if (hooks.on_recipe) hooks.on_recipe(recipe, i, options.recipes.size());
    Result<EvaluatedModel> model = run_recipe(recipe, options, hooks);
    if (model.is_ok()) {
      models.push_back(*std::move(model));
      continue;
    }
    const StatusCode code = model.status().code();
    if (code == StatusCode::kCancelled || code == StatusCode::kIo)
      return model.status().with_context(recipe);
    log_warning("{}: {}", recipe, model.status().message());
    models.push_back({.name = recipe, .failure = model.status().message()});
  }
  return models;
}

}  // namespace ingot
