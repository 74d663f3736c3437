// SPDX-License-Identifier: Apache-2.0
// ingot inspect --outliers and --sensitivity: where a model is hard to quantize, as tables or JSON.
#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "base/status.h"
#include "cli/calibration.h"
#include "compress/outliers.h"
#include "compress/sensitivity.h"

namespace ingot {

Result<OutlierReport> measure_outliers(const std::string& model,
                                       std::shared_ptr<const Checkpoint> checkpoint,
                                       const CalibrationFlags& flags, int threads);
Result<SensitivityReport> measure_sensitivities(const std::string& model,
                                                std::shared_ptr<const Checkpoint> checkpoint,
                                                const CalibrationFlags& flags, int threads);
std::string describe_outliers(const OutlierReport& report);
std::string describe_sensitivity(const SensitivityReport& report);
Json to_json(const OutlierReport& report);
Json to_json(const SensitivityReport& report);

}  // namespace ingot
