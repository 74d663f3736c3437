// SPDX-License-Identifier: Apache-2.0
#include "compress/gguf_feedback.h"

#include <algorithm>
#include <array>

#include "calibrate/hessian.h"

namespace ingot {
namespace {

// The text is never the one that the model will read: believing two thirds of what it says about
// how columns go together loses little on such text and gains on others (docs/quantization.md).
constexpr FeedbackOptions kFeedback{.damping = 0.01, .shrinkage = 0.5};

using Wanted = std::array<std::vector<const SourceTensor*>, kLinearInputs>;

Wanted wanted_of(const std::vector<SourceTensor>& tensors, const LayerWalk& walk,
                 const FeedbackWalk& visitor) {
  Wanted wanted;
  for (const SourceTensor& tensor : tensors) {
    const std::optional<LinearInput> input = input_of(tensor);
    if (!input || tensor.layer != static_cast<int>(walk.layer())) continue;
    if (tensor.shape.rank() != 2 || tensor.cols() != walk.columns(*input)) continue;
    if (visitor.wants(tensor)) wanted[static_cast<size_t>(*input)].push_back(&tensor);
  }
  return wanted;
}

}  // namespace

std::optional<LinearInput> input_of(const SourceTensor& tensor) {
  switch (tensor.kind) {
    case TensorKind::kQ:
    case TensorKind::kK:
    case TensorKind::kV:
    case TensorKind::kQkv:
      return LinearInput::kMixerIn;
    case TensorKind::kO:
      return LinearInput::kMixerInner;
    case TensorKind::kGate:
    case TensorKind::kUp:
    case TensorKind::kGateUp:
      return LinearInput::kFfnIn;
    case TensorKind::kDown:
      return LinearInput::kFfnInner;
    default:
      return std::nullopt;
  }
}

Result<std::vector<std::string>> walk_with_feedback(const std::vector<SourceTensor>& tensors,
                                                    LayerWalk& walk, const FeedbackWalk& visitor) {
  std::vector<std::string> notes;
  const size_t layers = walk.layers();
  for (size_t layer = 0; layer < layers; ++layer) {
    if (visitor.progress) visitor.progress(layer, layers);
    const Wanted wanted = wanted_of(tensors, walk, visitor);
    std::array<std::optional<Hessian>, kLinearInputs> hessians;
    for (size_t i = 0; i < kLinearInputs; ++i) {
      if (!wanted[i].empty()) hessians[i].emplace(walk.columns(static_cast<LinearInput>(i)));
    }
    Status added = Status::ok();
    INGOT_TRY(walk.advance({}, [&](LinearInput input, std::span<const float> x) {
      std::optional<Hessian>& hessian = hessians[static_cast<size_t>(input)];
      if (hessian && added.is_ok()) added = hessian->add(x, walk.exec(), walk.targets());
    }));
    INGOT_TRY(added);
    for (size_t i = 0; i < kLinearInputs; ++i) {
      if (!hessians[i]) continue;
      const int64_t cols = hessians[i]->cols();
      const Result<Feedback> feedback =
          factor_hessian(hessians[i]->take(), cols, kFeedback, walk.exec(), walk.targets());
      hessians[i].reset();
      if (!feedback.is_ok()) {
        notes.push_back(fmt::format("{} and others of its input are rounded without feedback: {}",
                                    wanted[i].front()->name, feedback.status().message()));
        continue;
      }
      for (const SourceTensor* tensor : wanted[i]) {
        INGOT_TRY(visitor.write(*tensor, *feedback, walk.exec()));
      }
    }
  }
  return notes;
}

}  // namespace ingot
