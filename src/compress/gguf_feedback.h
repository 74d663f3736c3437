// SPDX-License-Identifier: Apache-2.0
// Error feedback for GGUF files: walks the model over calibration samples and hands out, layer by
// layer, what quantize_rows_with_feedback needs of each tensor's inputs. Inputs are the original
// model's, so a layer's statistics take one pass and a resumed run needs nothing of an earlier one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "calibrate/layer_walk.h"
#include "convert/source_tensor.h"
#include "quant/feedback.h"

namespace ingot {

// The input that a tensor's columns are multiplied with; nothing for what is not a layer's matrix.
std::optional<LinearInput> input_of(const SourceTensor& tensor);

struct FeedbackWalk {
  // Whether a tensor is to be written with feedback: those of a layer are asked about first.
  std::function<bool(const SourceTensor& tensor)> wants;
  std::function<Status(const SourceTensor& tensor, const Feedback& feedback, const Exec& exec)>
      write;
  std::function<void(size_t layer, size_t layers)> progress;
};

// Calls `write` for every tensor that is wanted. Tensors of a layer whose statistics cannot be
// factored are not written; the notes say which.
Result<std::vector<std::string>> walk_with_feedback(const std::vector<SourceTensor>& tensors,
                                                    LayerWalk& walk, const FeedbackWalk& visitor);

}  // namespace ingot
