// SPDX-License-Identifier: Apache-2.0
#include "cli/calibration.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "api/text_side.h"
#include "calibrate/samples.h"
#include "cli/own_samples.h"
#include "cli/progress_bar.h"
#include "cli/read_input.h"

namespace ingot {

std::string calibration_name(const CalibrationFlags& flags) {
  const std::string text = flags.file.empty() ? "built-in mix" : flags.file;
  if (flags.own_samples == 0) return text;
  return fmt::format("{} and {} windows of the model's own", text, flags.own_samples);
}

Result<std::vector<std::vector<TokenId>>> calibration_samples(const std::string& model,
                                                              const CalibrationFlags& flags,
                                                              int threads) {
  INGOT_TRY(const TextSide text, load_text_side(model));
  if (text.tokenizer == nullptr) return text.tokenizer_status;
  std::vector<std::string> documents = {std::string(default_calibration_text())};
  if (!flags.file.empty()) {
    INGOT_TRY(const std::string content, read_text(flags.file));
    INGOT_TRY(documents, calibration_documents(content, flags.file));
  }
  INGOT_TRY(std::vector<std::vector<TokenId>> samples,
            make_samples(*text.tokenizer, documents, {flags.samples, flags.length}));
  if (flags.own_samples > 0) {
    INGOT_TRY(std::vector<std::vector<TokenId>> own,
              write_own_samples(model, flags.own_samples, flags.length, threads));
    std::ranges::move(own, std::back_inserter(samples));
  }
  return samples;
}

Result<ImportanceMatrix> measure_importance(std::shared_ptr<const Checkpoint> checkpoint,
                                            std::vector<std::vector<TokenId>> samples,
                                            const CalibrationFlags& flags, int threads) {
  INGOT_TRY(const ModelPlan plan, plan_model(*checkpoint));
  WalkOptions options;
  options.threads = threads;
  INGOT_TRY(LayerWalk walk,
            LayerWalk::create(std::move(checkpoint), plan, std::move(samples), options));
  ProgressBar bar("Measuring importance");
  INGOT_TRY(ImportanceMatrix matrix,
            gather_importance(walk, plan, [&](double fraction) { bar.update(fraction); }));
  matrix.chunk_size = flags.length;
  matrix.dataset = calibration_name(flags);
  return matrix;
}

}  // namespace ingot
