// SPDX-License-Identifier: Apache-2.0
// AWQ and SmoothQuant: weights get scaled columns, and 1 / s goes into what makes their inputs: a
// norm's weights, or the rows of the linear layer before (v before o, up before down).
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/float_types.h"
#include "calibrate/hessian.h"
#include "calibrate/input_stats.h"
#include "compress/layer_work.h"
#include "quant/scaling.h"

namespace ingot {
namespace {

constexpr size_t kKeptInputs = 512;  // rows of an input that are kept for SmoothQuant

float rounded(float value, Layout layout) {
  if (layout == Layout::kF16) return to_float(to_half(value));
  if (layout == Layout::kBF16) return to_float(to_bfloat16(value));
  return value;
}

struct SiteStats {
  std::optional<Hessian> hessian;
  InputStats columns;
  std::vector<float> kept;      // some rows
  std::vector<float> products;  // the Hessian, taken
};

class ScaledLayer {
 public:
  ScaledLayer(const LayerWork& work, TensorOverlay& overlay)
      : work_(work),
        overlay_(overlay),
        spec_(work.plan.spec.layers[work.layer]),
        sources_(work.plan.weights.layers[work.layer]) {}

  Status run() {
    INGOT_TRY(gather());
    for (const ModulePlan* module : work_.modules) {
      INGOT_TRY(weights_[module->module.tensor],
                read_module(*work_.checkpoint, work_.plan, module->module, work_.walk.exec()));
    }
    for (const std::string& tensor : foldable_tensors(work_.plan, work_.layer)) {
      if (find_entry(*work_.checkpoint, work_.plan, tensor) == nullptr) continue;
      INGOT_TRY(plain_[tensor], read_floats(*work_.checkpoint, work_.plan, tensor));
    }
    // Folds into a norm first: those into rows then divide what is scaled already.
    INGOT_TRY(scale_by_norm(LinearInput::kMixerIn, spec_.has_mixer_norm, sources_.mixer_norm));
    INGOT_TRY(scale_by_rows(LinearInput::kMixerInner, sources_.v));
    INGOT_TRY(scale_by_norm(LinearInput::kFfnIn, spec_.has_ffn_norm, sources_.ffn_norm));
    if (std::get<DenseFfnSpec>(spec_.ffn).is_gated)
      INGOT_TRY(scale_by_rows(LinearInput::kFfnInner, sources_.up));
    return write();
  }

 private:
  Status gather() {
    for (size_t i = 0; i < kLinearInputs; ++i) {
      const int64_t cols = work_.walk.columns(static_cast<LinearInput>(i));
      sites_[i].hessian.emplace(cols);
      sites_[i].columns = InputStats(cols);
      scales_[i].assign(static_cast<size_t>(cols), 1.0F);
    }
    Status status = Status::ok();
    INGOT_TRY(work_.walk.visit(
        {}, LinearInput::kFfnInner, [&](LinearInput input, std::span<const float> x) {
          SiteStats& site = sites_[static_cast<size_t>(input)];
          site.columns.add(x);
          keep_rows(site, x);
          if (status.is_ok())
            status = site.hessian->add(x, work_.walk.exec(), work_.walk.targets());
        }));
    INGOT_TRY(status);
    for (SiteStats& site : sites_)
      site.products = site.hessian->take();
    return Status::ok();
  }

  // Evenly from each pass; the first rows of samples must not be all that is seen.
  void keep_rows(SiteStats& site, std::span<const float> x) const {
    const auto cols = static_cast<size_t>(site.columns.cols());
    const size_t rows = x.size() / cols;
    const size_t step = std::max<size_t>(1, static_cast<size_t>(work_.walk.tokens()) / kKeptInputs);
    for (size_t row = step / 2; row < rows; row += step)
      site.kept.insert(site.kept.end(), x.begin() + static_cast<int64_t>(row * cols),
                       x.begin() + static_cast<int64_t>((row + 1) * cols));
  }

  std::vector<const ModulePlan*> readers(LinearInput input) const {
    std::vector<const ModulePlan*> result;
    for (const ModulePlan* module : work_.modules) {
      if (module->module.input == input) result.push_back(module);
    }
    return result;
  }

  // Finds the scales of an input and applies them to the weights that read it.
  Status apply_scales(LinearInput input, const ConstrainScales& constrain) {
    const auto at = static_cast<size_t>(input);
    ScaleProblem problem;
    problem.cols = work_.walk.columns(input);
    problem.hessian = sites_[at].products;
    const std::vector<float> magnitudes = sites_[at].columns.mean_magnitudes();
    problem.magnitudes = magnitudes;
    problem.largest = sites_[at].columns.largest();
    problem.inputs = sites_[at].kept;
    const std::vector<const ModulePlan*> modules = readers(input);
    const ModulePlan* quantized = nullptr;
    for (const ModulePlan* module : modules) {
      if (module->keeps) continue;
      problem.weights.emplace_back(weights_[module->module.tensor]);
      quantized = module;
    }
    if (quantized == nullptr) return Status::ok();
    const Exec exec = work_.walk.exec();
    INGOT_TRY(const ScaleChoice choice,
              work_.options.method == CompressMethod::kAwq
                  ? search_awq_scales(problem, quantized->format.affine, constrain, exec,
                                      work_.walk.targets())
                  : search_smooth_scales(problem, constrain, exec, work_.walk.targets()));
    scales_[at] = choice.scales;
    for (const ModulePlan* module : modules)
      scale_columns(weights_[module->module.tensor], scales_[at]);
    return Status::ok();
  }

  Layout layout_of(const std::string& tensor) const {
    return find_entry(*work_.checkpoint, work_.plan, tensor)->tensor.layout;
  }

  Status scale_by_norm(LinearInput input, bool has_norm, const NormSource& source) {
    // Only where the norm feeds these linears and nothing else, with one weight a column.
    const bool is_shared = spec_.form == BlockForm::kParallel && !spec_.has_ffn_norm;
    if (!has_norm || is_shared || spec_.form == BlockForm::kPostResidual) return Status::ok();
    if (source.weight.parts.size() != 1 || !source.weight.parts[0].rows.empty())
      return Status::ok();
    const std::string& name = source.weight.parts[0].name;
    const auto it = plain_.find(name);
    if (it == plain_.end() || std::ssize(it->second) != work_.walk.columns(input))
      return Status::ok();
    std::vector<float>& stored = it->second;
    const float one = work_.plan.spec.norm.adds_one ? 1.0F : 0.0F;
    const Layout layout = layout_of(name);
    // The norm's weight is rounded when it is stored: the scale becomes what that amounts to, so
    // that nothing is lost by folding.
    INGOT_TRY(apply_scales(input, [&](std::vector<float>& scales) {
      for (size_t c = 0; c < scales.size(); ++c) {
        const float weight = stored[c] + one;
        const float kept = rounded(weight / scales[c] - one, layout) + one;
        scales[c] = kept != 0 && weight != 0 ? weight / kept : 1.0F;
      }
    }));
    const std::vector<float>& scales = scales_[static_cast<size_t>(input)];
    for (size_t c = 0; c < scales.size(); ++c)
      stored[c] = rounded((stored[c] + one) / scales[c] - one, layout);
    if (source.bias.exists()) {
      if (const auto bias = plain_.find(source.bias.parts[0].name); bias != plain_.end()) {
        for (size_t c = 0; c < scales.size(); ++c)
          bias->second[c] = rounded(bias->second[c] / scales[c], layout_of(bias->first));
      }
    }
    return Status::ok();
  }

  // The columns of `input` come from rows of one linear layer: for o from v, where one head of v
  // serves several of o.
  Status scale_by_rows(LinearInput input, const LinearSource& source) {
    if (source.weight.parts.size() != 1 || !source.weight.parts[0].rows.empty())
      return Status::ok();
    const std::string& name = source.weight.parts[0].name;
    const auto it = weights_.find(name);
    const auto module = std::ranges::find_if(work_.modules, [&](const ModulePlan* candidate) {
      return candidate->module.tensor == name;
    });
    if (it == weights_.end() || module == work_.modules.end() || (*module)->keeps)
      return Status::ok();
    const auto& attention = std::get<AttentionSpec>(spec_.mixer);
    const bool is_value = input == LinearInput::kMixerInner;
    const auto dim = static_cast<size_t>(is_value ? attention.value_dim : 1);
    const auto share = static_cast<size_t>(is_value ? attention.heads / attention.kv_heads : 1);
    const auto row_of = [&](size_t column) { return column / (dim * share) * dim + column % dim; };
    const auto rows = static_cast<size_t>((*module)->module.rows);
    const auto columns = static_cast<size_t>(work_.walk.columns(input));
    if (rows * share != columns || (is_value && attention.clip_qkv != 0)) return Status::ok();
    std::vector<float> by_row(rows);
    INGOT_TRY(apply_scales(input, [&](std::vector<float>& scales) {
      std::ranges::fill(by_row, 0.0F);
      for (size_t c = 0; c < columns; ++c)
        by_row[row_of(c)] += std::log(scales[c]) / static_cast<float>(share);
      for (size_t c = 0; c < columns; ++c)
        scales[c] = std::exp(by_row[row_of(c)]);
    }));
    const std::vector<float>& scales = scales_[static_cast<size_t>(input)];
    for (size_t c = 0; c < columns; ++c)
      by_row[row_of(c)] = scales[c];
    std::vector<float>& weights = it->second;
    const size_t cols = weights.size() / rows;
    for (size_t at = 0; at < weights.size(); ++at)
      weights[at] /= by_row[at / cols];
    if (source.bias.exists()) {
      if (const auto bias = plain_.find(source.bias.parts[0].name); bias != plain_.end()) {
        for (size_t r = 0; r < rows; ++r)
          bias->second[r] = rounded(bias->second[r] / by_row[r], layout_of(bias->first));
      }
    }
    return Status::ok();
  }

  Status write() {
    for (const ModulePlan* module : work_.modules) {
      const LayerModule& facts = module->module;
      std::vector<float>& weights = weights_[facts.tensor];
      if (module->keeps) {
        const Layout layout = layout_of(facts.tensor);
        for (float& weight : weights)
          weight = rounded(weight, layout);
        put_module(overlay_, facts, stored_shape(facts), weights);
        const TensorEntry* entry = overlay_.find(facts.tensor);
        INGOT_TRY(work_.output.write_floats(
            facts.tensor, {reinterpret_cast<const float*>(entry->tensor.bytes.data()),
                           entry->tensor.bytes.size() / sizeof(float)}));
        continue;
      }
      const auto at = static_cast<size_t>(facts.input);
      const std::vector<float>& scales = scales_[at];
      std::vector<float> importance(scales.size());
      for (size_t c = 0; c < scales.size(); ++c)
        importance[c] = sites_[at].products[c * (scales.size() + 1)] / (scales[c] * scales[c]);
      QuantizedWeight result =
          module->format.round(weights, facts.rows, facts.cols, importance, 0, work_.walk.exec());
      INGOT_TRY(work_.output.write(*module, result.tensors));
      put_module(overlay_, facts, stored_shape(facts), std::move(result.values));
    }
    for (auto& [tensor, values] : plain_) {
      INGOT_TRY(work_.output.write_floats(tensor, values));
      const TensorEntry* entry = find_entry(*work_.checkpoint, work_.plan, tensor);
      overlay_.set(tensor, entry->tensor.shape, std::move(values));
    }
    return Status::ok();
  }

  const LayerWork& work_;
  TensorOverlay& overlay_;
  const LayerSpec& spec_;
  const LayerSources& sources_;
  std::array<SiteStats, kLinearInputs> sites_;
  std::array<std::vector<float>, kLinearInputs> scales_;
  std::map<std::string, std::vector<float>> weights_;  // by tensor, as they are to be quantized
  std::map<std::string, std::vector<float>> plain_;    // norms and biases
};

}  // namespace

std::vector<std::string> foldable_tensors(const ModelPlan& plan, size_t layer) {
  const LayerSources& from = plan.weights.layers[layer];
  std::vector<std::string> names;
  for (const TensorSource* source :
       {&from.mixer_norm.weight, &from.mixer_norm.bias, &from.ffn_norm.weight, &from.ffn_norm.bias,
        &from.v.bias, &from.up.bias}) {
    for (const TensorPart& part : source->parts) {
      if (part.rows.empty() && std::ranges::find(names, part.name) == names.end())
        names.push_back(part.name);
    }
  }
  return names;
}

Status quantize_scaled_layer(const LayerWork& work, TensorOverlay& overlay) {
  return ScaledLayer(work, overlay).run();
}

}  // namespace ingot
