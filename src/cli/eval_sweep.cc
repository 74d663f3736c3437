// SPDX-License-Identifier: Apache-2.0
#include "cli/eval_sweep.h"

#include <fmt/core.h>

#include <cstdio>

#include "cli/quantize_job.h"
#include "eval/sweep.h"

namespace ingot {

Result<std::filesystem::path> quantize_for_sweep(const ModelFlags& model, const SweepFlags& sweep,
                                                 const std::string& recipe,
                                                 const std::filesystem::path& folder) {
  INGOT_TRY(QuantizeJob job, job_of_recipe(recipe));
  job.model = model.model;
  job.flags.calibration = sweep.calibration.file;
  job.flags.samples = sweep.calibration.samples;
  job.flags.sequence_length = sweep.calibration.length;
  job.threads = model.threads;
  job.overwrites = true;
  const std::filesystem::path path = folder / job.output;
  job.output = path.string();
  INGOT_TRY(run_quantize(job));
  return path;
}

Result<std::vector<EvaluatedModel>> run_eval_sweep(const SweepFlags& sweep, const ModelFlags& model,
                                                   EvalRequest request) {
  SweepOptions options{.keeps_files = sweep.keeps_files};
  INGOT_TRY(options.recipes, parse_recipes(sweep.recipes));
  std::error_code problem;
  const std::filesystem::path folder = sweep.folder.empty()
                                           ? std::filesystem::temp_directory_path(problem)
                                           : std::filesystem::path(sweep.folder);
  if (problem || !std::filesystem::is_directory(folder, problem))
    return Status::not_found("{}: is no folder for the sweep's files", folder.string());

  INGOT_TRY(LoadedModel original, load_model(model));
  const auto reference = std::make_shared<const LoadedModel>(std::move(original));
  std::vector<EvaluatedModel> models;
  INGOT_TRY(models.emplace_back(), evaluate(*reference, request));
  if (!request.texts.empty() && request.reference_file == nullptr) {
    request.reference_model = reference;
    request.reference_name = model.model;
  }
  request.save_reference.clear();

  SweepHooks hooks;
  hooks.quantize = [&](const std::string& recipe) {
    return quantize_for_sweep(model, sweep, recipe, folder);
  };
  hooks.evaluate = [&](const std::filesystem::path& path) -> Result<EvaluatedModel> {
    ModelFlags flags = model;
    flags.model = path.string();
    INGOT_TRY(const LoadedModel quantized, load_model(flags));
    return evaluate(quantized, request);
  };
  hooks.on_recipe = [](const std::string& recipe, size_t done, size_t all) {
    fmt::print(stderr, "{} ({} of {})\n", recipe, done + 1, all);
  };
  INGOT_TRY(std::vector<EvaluatedModel> made, run_sweep(options, hooks));
  std::ranges::move(made, std::back_inserter(models));
  return models;
}

}  // namespace ingot
