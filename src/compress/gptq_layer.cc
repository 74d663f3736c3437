// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "calibrate/hessian.h"
#include "calibrate/input_stats.h"
#include "compress/layer_work.h"
#include "quant/gptq.h"

namespace ingot {
namespace {

constexpr LinearInput kInputs[] = {LinearInput::kMixerIn, LinearInput::kMixerInner,
                                   LinearInput::kFfnIn, LinearInput::kFfnInner};

Status quantize_module(const LayerWork& work, const ModulePlan& module, const Feedback& feedback,
                       TensorOverlay& overlay) {
  const Exec exec = work.walk.exec();
  INGOT_TRY(const std::vector<float> weights,
            read_module(*work.checkpoint, work.plan, module.module, exec));
  INGOT_TRY(const AffineCodes codes,
            quantize_gptq(weights, module.module.rows, feedback, module.format.affine, exec,
                          work.walk.targets()));
  QuantizedWeight result = module.format.pack(codes);
  INGOT_TRY(work.output.write(module, result.tensors));
  put_module(overlay, module.module, stored_shape(module.module), std::move(result.values));
  return Status::ok();
}

}  // namespace

Status quantize_gptq_layer(const LayerWork& work, TensorOverlay& overlay) {
  // In sequence: each input is gathered behind the weights before it as they will be.
  for (const LinearInput input : kInputs) {
    const bool has_modules = std::ranges::any_of(work.modules, [&](const ModulePlan* module) {
      return module->module.input == input && !module->keeps;
    });
    if (!has_modules) continue;
    Hessian hessian(work.walk.columns(input));
    Status added = Status::ok();
    const TensorOverlay original;
    INGOT_TRY(work.walk.visit(work.options.is_sequential ? overlay : original, input,
                              [&](LinearInput seen, std::span<const float> x) {
                                if (seen == input && added.is_ok())
                                  added = hessian.add(x, work.walk.exec(), work.walk.targets());
                              }));
    INGOT_TRY(added);
    const int64_t cols = hessian.cols();
    const FeedbackOptions options{work.options.damping, work.options.orders_columns};
    INGOT_TRY(const Feedback feedback,
              factor_hessian(hessian.take(), cols, options, work.walk.exec(), work.walk.targets()));
    for (const ModulePlan* module : work.modules) {
      if (module->module.input == input && !module->keeps)
        INGOT_TRY(quantize_module(work, *module, feedback, overlay));
    }
  }
  return Status::ok();
}

Status quantize_static_layer(const LayerWork& work, TensorOverlay& overlay) {
  float largest[kLinearInputs] = {};
  INGOT_TRY(work.walk.visit(overlay, LinearInput::kFfnInner,
                            [&](LinearInput input, std::span<const float> x) {
                              float& most = largest[static_cast<size_t>(input)];
                              for (const float value : x)
                                most = std::max(most, std::fabs(value));
                            }));
  for (const ModulePlan* module : work.modules) {
    if (module->keeps) continue;
    INGOT_TRY(const std::vector<float> weights,
              read_module(*work.checkpoint, work.plan, module->module, work.walk.exec()));
    const float scale = largest[static_cast<size_t>(module->module.input)] / 448;
    QuantizedWeight result = module->format.round(weights, module->module.rows, module->module.cols,
                                                  {}, scale, work.walk.exec());
    INGOT_TRY(work.output.write(*module, result.tensors));
    put_module(overlay, module->module, stored_shape(module->module), std::move(result.values));
  }
  return Status::ok();
}

}  // namespace ingot
