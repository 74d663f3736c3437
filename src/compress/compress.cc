// SPDX-License-Identifier: Apache-2.0
#include "compress/compress.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/pattern.h"
#include "compress/checkpoint_output.h"
#include "compress/layer_work.h"
#include "compress/quantization_json.h"
#include "model/module_name.h"

namespace ingot {
namespace {

constexpr double kCopyShare = 0.02;  // of the work, for the bar

struct CompiledRule {
  Pattern pattern;
  const ModuleRule* rule;
};

Result<std::vector<CompiledRule>> compile(const std::vector<ModuleRule>& rules) {
  std::vector<CompiledRule> compiled;
  for (const ModuleRule& rule : rules) {
    INGOT_TRY(Pattern pattern, Pattern::parse(".*(?:" + rule.pattern + ")"));
    compiled.push_back({std::move(pattern), &rule});
  }
  return compiled;
}

class Compressor {
 public:
  Compressor(std::shared_ptr<const Checkpoint> input, const std::filesystem::path& folder,
             const CompressOptions& options)
      : input_(std::move(input)), folder_(folder), options_(options), pool_(options.threads) {}

  Result<CompressReport> run() {
    INGOT_TRY(check());
    INGOT_TRY(plan_, plan_model(*input_));
    INGOT_TRY(plan_modules());
    INGOT_TRY(const std::string config, make_config());
    INGOT_TRY(CheckpointOutput output,
              CheckpointOutput::create(folder_, input_, plan_, modules_, changed_tensors(), config,
                                       options_));
    report_.was_resumed = output.was_resumed();
    report_.bytes = output.size_bytes();
    INGOT_TRY(output.copy_plain(
        [&](double fraction) { tell("copying what stays", kCopyShare * fraction); }));
    if (options_.calibrates()) {
      INGOT_TRY(calibrate(output));
    } else {
      INGOT_TRY(round_all(output));
    }
    tell("finishing", 1);
    INGOT_TRY(output.commit());
    return report_;
  }

 private:
  Status check() const {
    if (input_->gguf_metadata() != nullptr) {
      return Status::invalid_argument(
          "{}: this method writes safetensors and reads them; turn the GGUF file into them first: "
          "ingot convert {} -o FOLDER --to safetensors",
          input_->name(), input_->name());
    }
    if (options_.calibrates() && options_.samples.empty())
      return Status::invalid_argument("this method needs calibration samples; give --calibration");
    return Status::ok();
  }

  void tell(std::string_view what, double fraction) const {
    if (options_.progress) options_.progress(what, fraction);
  }

  Status plan_modules() {
    INGOT_TRY(const std::vector<CompiledRule> rules, compile(options_.rules));
    for (size_t layer = 0; layer < plan_.spec.layers.size(); ++layer) {
      INGOT_TRY(const std::vector<LayerModule> modules, layer_modules(*input_, plan_, layer));
      for (const LayerModule& module : modules) {
        ModulePlan planned{module, false, options_.format};
        std::string why;
        for (const CompiledRule& rule : rules) {
          if (!rule.pattern.matches(module.name)) continue;
          if (rule.rule->keeps) why = "as asked";
          if (rule.rule->bits) planned.format.affine.bits = *rule.rule->bits;
          if (rule.rule->group_columns)
            planned.format.affine.group_columns = *rule.rule->group_columns;
        }
        if (why.empty()) why = planned.format.misfit(module.rows, module.cols);
        planned.keeps = !why.empty();
        const int64_t count = module.rows * module.cols;
        report_.was_quantized =
            report_.was_quantized || (!planned.keeps && is_quantized(*input_, plan_, module));
        if (planned.keeps) {
          report_.kept_weights += count;
          report_.kept.push_back(module.name + ": " + why);
        } else {
          report_.quantized_weights += count;
          bits_ +=
              planned.format.bits_per_weight(module.rows, module.cols) * static_cast<double>(count);
        }
        modules_.push_back(std::move(planned));
      }
    }
    if (report_.quantized_weights == 0) {
      return Status::invalid_argument("nothing is left to quantize: {}",
                                      report_.kept.empty() ? "no layers" : report_.kept.front());
    }
    report_.bits_per_weight = bits_ / static_cast<double>(report_.quantized_weights);
    return Status::ok();
  }

  // What AWQ and SmoothQuant write themselves.
  std::vector<std::string> changed_tensors() const {
    std::vector<std::string> names;
    if (options_.method != CompressMethod::kAwq && options_.method != CompressMethod::kSmoothQuant)
      return names;
    for (size_t layer = 0; layer < plan_.spec.layers.size(); ++layer) {
      for (std::string& name : foldable_tensors(plan_, layer))
        names.push_back(std::move(name));
    }
    for (const ModulePlan& module : modules_) {
      if (module.keeps) names.push_back(module.module.tensor);
    }
    return names;
  }

  std::vector<FormatGroup> format_groups() const {
    std::vector<FormatGroup> groups = {{options_.format, {}}};
    for (const ModulePlan& module : modules_) {
      if (module.keeps) continue;
      const AffineOptions& affine = module.format.affine;
      auto it = std::ranges::find_if(groups, [&](const FormatGroup& group) {
        return group.format.affine.bits == affine.bits &&
               group.format.affine.group_columns == affine.group_columns;
      });
      if (it == groups.end()) it = groups.insert(it, {module.format, {}});
      it->modules.push_back(module.module.name);
    }
    return groups;
  }

  Result<std::string> make_config() const {
    INGOT_TRY(Json config, read_json_file(input_->folder() / "config.json"));
    std::vector<std::string> kept;
    for (const ModulePlan& module : modules_) {
      if (module.keeps) kept.push_back(module.module.name);
    }
    // A head that is the embedding has no tensor, yet readers make a linear of it.
    const TensorSource& head = plan_.weights.output.weight;
    kept.push_back(head.exists() ? module_of(head.parts.front().name) : "lm_head");
    config["quantization_config"] = quantization_json(options_, format_groups(), kept);
    return dump_json(config, 2) + "\n";
  }

  Status round_all(CheckpointOutput& output) {
    const Exec exec(pool_);
    for (size_t i = 0; i < modules_.size(); ++i) {
      const ModulePlan& module = modules_[i];
      tell(module.module.name, kCopyShare + (1 - kCopyShare) * static_cast<double>(i) /
                                                static_cast<double>(modules_.size()));
      if (module.keeps || output.is_done(module)) continue;
      INGOT_TRY(const std::vector<float> weights, read_module(*input_, plan_, module.module, exec));
      const QuantizedWeight result =
          module.format.round(weights, module.module.rows, module.module.cols, {}, 0, exec);
      INGOT_TRY(output.write(module, result.tensors));
    }
    return Status::ok();
  }

  std::vector<const ModulePlan*> modules_of(size_t layer) const {
    std::vector<const ModulePlan*> result;
    for (const ModulePlan& module : modules_) {
      if (module.module.layer == layer) result.push_back(&module);
    }
    return result;
  }

  Status calibrate(CheckpointOutput& output) {
    WalkOptions walk_options;
    walk_options.targets = options_.targets;
    walk_options.threads = options_.threads;
    INGOT_TRY(LayerWalk walk, LayerWalk::create(input_, plan_, options_.samples, walk_options));
    const size_t layers = plan_.spec.layers.size();
    for (size_t layer = 0; layer < layers; ++layer) {
      tell(
          fmt::format("layer {} of {}", layer + 1, layers),
          kCopyShare + (1 - kCopyShare) * static_cast<double>(layer) / static_cast<double>(layers));
      const std::vector<const ModulePlan*> modules = modules_of(layer);
      const bool is_done = std::ranges::all_of(modules, [&](const ModulePlan* module) {
        return module->keeps || output.is_done(*module);
      });
      const LayerWork work{input_, plan_, options_, layer, modules, walk, output};
      TensorOverlay overlay;
      if (is_done && output.was_resumed()) {
        INGOT_TRY(restore(work, overlay));
      } else if (options_.method == CompressMethod::kGptq) {
        INGOT_TRY(quantize_gptq_layer(work, overlay));
      } else if (options_.method == CompressMethod::kRtn) {
        INGOT_TRY(quantize_static_layer(work, overlay));
      } else {
        INGOT_TRY(quantize_scaled_layer(work, overlay));
      }
      // The last layer's outputs are nobody's inputs.
      if (layer + 1 < layers) INGOT_TRY(walk.advance(overlay));
    }
    return Status::ok();
  }

  // The layer as an earlier run left it.
  Status restore(const LayerWork& work, TensorOverlay& overlay) const {
    for (const ModulePlan* module : work.modules) {
      if (module->keeps) continue;
      INGOT_TRY(std::vector<float> values, work.output.read_back(*module));
      put_module(overlay, module->module, stored_shape(module->module), std::move(values));
    }
    for (const std::string& tensor : changed_tensors()) {
      const TensorEntry* entry = find_entry(*input_, plan_, tensor);
      const std::vector<std::string> own = foldable_tensors(plan_, work.layer);
      const bool is_own = std::ranges::find(own, tensor) != own.end() ||
                          std::ranges::any_of(work.modules, [&](const ModulePlan* module) {
                            return module->keeps && module->module.tensor == tensor;
                          });
      if (entry == nullptr || !is_own) continue;
      INGOT_TRY(std::vector<float> values, work.output.read_back(tensor));
      overlay.set(tensor, entry->tensor.shape, std::move(values));
    }
    return Status::ok();
  }

  std::shared_ptr<const Checkpoint> input_;
  const std::filesystem::path& folder_;
  const CompressOptions& options_;
  ThreadPool pool_;
  ModelPlan plan_;
  std::vector<ModulePlan> modules_;
  CompressReport report_;
  double bits_ = 0;
};

}  // namespace

Result<CompressReport> compress_safetensors(std::shared_ptr<const Checkpoint> input,
                                            const std::filesystem::path& folder,
                                            const CompressOptions& options) {
  return Compressor(std::move(input), folder, options).run();
}

}  // namespace ingot
