// SPDX-License-Identifier: Apache-2.0
// Whether a checkpoint is whole and sound, tensor by tensor: every weight its architecture needs is
// there in the right shape, no value is NaN or infinite, the index and the shards agree; and how
// far it is from another model, whatever their containers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/checkpoint.h"

namespace ingot {

struct VerifiedTensor {
  std::string name;
  std::string type;
  std::string shape;
  std::string hash;
  bool is_finite = true;
  // Against the other model's tensor of this name.
  bool is_compared = false;
  bool is_identical = false;  // the same bytes
  double max_difference = 0;
  double max_value = 0;  // of the other's
};

struct VerifyReport {
  std::vector<VerifiedTensor> tensors;
  std::vector<std::string> problems;  // any: the model is not sound, or not equal to the other
  std::vector<std::string> notes;
};

struct VerifyOptions {
  std::function<std::string(std::span<const std::byte> bytes)> hash;  // of a tensor
  std::shared_ptr<const Checkpoint> against;                          // may be null
  double tolerance = 0;  // of the largest difference, relative to the largest value
  std::function<void(double fraction)> progress;
};

// An error only where the files cannot be read to the end; all else is in the report.
Result<VerifyReport> verify_model(std::shared_ptr<const Checkpoint> checkpoint,
                                  const VerifyOptions& options);

}  // namespace ingot
