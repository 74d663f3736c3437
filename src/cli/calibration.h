// SPDX-License-Identifier: Apache-2.0
// Calibration for the commands that need it: samples of a text, and importance matrices.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "calibrate/importance.h"
#include "formats/checkpoint.h"

namespace ingot {

struct CalibrationFlags {
  std::string file;  // empty: the built-in mix
  int64_t samples = 128;
  int64_t length = 512;
  int64_t own_samples = 0;  // besides: windows that the model writes itself
};
std::string calibration_name(const CalibrationFlags& flags);

Result<std::vector<std::vector<TokenId>>> calibration_samples(const std::string& model,
                                                              const CalibrationFlags& flags,
                                                              int threads = 0);
// Runs the model over the samples, with a bar. Names are those of the checkpoint's modules.
Result<ImportanceMatrix> measure_importance(std::shared_ptr<const Checkpoint> checkpoint,
                                            std::vector<std::vector<TokenId>> samples,
                                            const CalibrationFlags& flags, int threads);

}  // namespace ingot
