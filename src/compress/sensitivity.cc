// SPDX-License-Identifier: Apache-2.0
#include "compress/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "compress/compress_gguf.h"
#include "compress/gguf_types.h"
#include "compress/layer_modules.h"
#include "model/logit_row.h"
#include "model/module_name.h"
#include "quant/mixture.h"
#include "quant/quantize_rows.h"

namespace ingot {
namespace {

constexpr int64_t kSampleRows = 256;  // of a matrix, evenly spread: enough to compare types

// The reference's answers, and how far others are from them.
class Reference {
 public:
  Reference(LayerWalk& walk, size_t vocab) : walk_(walk), vocab_(vocab), own_(walk.targets()) {}

  Status keep(std::span<const float> states) {
    rows_.resize(static_cast<size_t>(walk_.tokens()) * vocab_);
    return visit({}, states, [&](int64_t row) {
      float* kept = rows_.data() + static_cast<size_t>(row) * vocab_;
      for (size_t i = 0; i < vocab_; ++i)
        kept[i] = static_cast<float>(own_.logprob(static_cast<TokenId>(i)));
    });
  }

  Result<double> divergence(const TensorOverlay& overlay, std::span<const float> states) {
    double sum = 0;
    INGOT_TRY(visit(overlay, states, [&](int64_t row) {
      const float* kept = rows_.data() + static_cast<size_t>(row) * vocab_;
      double kl = 0;
      for (size_t i = 0; i < vocab_; ++i) {
        const auto log_p = static_cast<double>(kept[i]);
        kl += std::exp(log_p) * (log_p - own_.logprob(static_cast<TokenId>(i)));
      }
      sum += kl;
    }));
    return sum / static_cast<double>(walk_.tokens());
  }

 private:
  // Calls on_row(row) with the row's logits in own_.
  template <class OnRow>
  Status visit(const TensorOverlay& overlay, std::span<const float> states, OnRow&& on_row) {
    bool is_finite = true;
    INGOT_TRY(walk_.visit_logits(overlay, states, [&](int64_t row, std::span<const float> logits) {
      is_finite = is_finite && own_.start(logits);
      if (is_finite) on_row(row);
    }));
    if (is_finite) return Status::ok();
    return Status::internal("the model gave logits that are not finite");
  }

  LayerWalk& walk_;
  size_t vocab_;
  LogitRow own_;
  std::vector<float> rows_;  // log-probabilities, [tokens][vocab]
};

// What remains of values in a type.
std::vector<float> through(Layout layout, std::span<const float> values, int64_t cols,
                           std::span<const float> importance, const Exec& exec) {
  std::vector<float> result(values.size());
  const int64_t rows = std::ssize(values) / cols;
  const uint64_t row_bytes = storage_bytes(layout, static_cast<uint64_t>(cols)).value_or(0);
  const std::vector<float> weights = error_weights(importance, layout);
  exec.for_chunks(rows, 1, [&](int64_t begin, int64_t end) {
    const auto first = static_cast<size_t>(begin * cols);
    const auto count = static_cast<size_t>((end - begin) * cols);
    std::vector<std::byte> bytes(static_cast<size_t>(end - begin) * row_bytes);
    quantize_rows(layout, values.subspan(first, count), cols, weights, bytes);
    dequantize(layout, bytes, std::span(result).subspan(first, count));
  });
  return result;
}

double weighted_error(std::span<const float> a, std::span<const float> b,
                      std::span<const float> importance) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double error = static_cast<double>(a[i] - b[i]);
    sum += error * error *
           (importance.empty() ? 1.0 : static_cast<double>(importance[i % importance.size()]));
  }
  return sum;
}

class Measurement {
 public:
  Measurement(const GgufPlan& gguf, std::shared_ptr<const Checkpoint> input, const ModelPlan& plan,
              LayerWalk& walk, const ImportanceMatrix& importance,
              const SensitivityOptions& options)
      : gguf_(gguf),
        input_(std::move(input)),
        plan_(plan),
        walk_(walk),
        importance_(importance),
        options_(options),
        reference_(walk, static_cast<size_t>(plan.spec.vocab)) {}

  Result<SensitivityReport> run() {
    report_.probe = options_.probe;
    report_.tokens = walk_.tokens();
    INGOT_TRY(probe_layers());
    INGOT_TRY(reference_.keep(walk_.hidden()));
    INGOT_TRY(probe_ends());
    for (size_t i = 0; i < variants_.size(); ++i) {
      tell("comparing",
           0.8 + 0.15 * static_cast<double>(i) / static_cast<double>(variants_.size()));
      INGOT_TRY(kl_[names_[i]], reference_.divergence({}, variants_[i]));
    }
    INGOT_TRY(list_choices());
    return std::move(report_);
  }

 private:
  void tell(std::string_view what, double fraction) const {
    if (options_.progress) options_.progress(what, fraction);
  }

  std::span<const float> columns_of(const std::string& module, int64_t cols) const {
    const std::vector<float>* columns = importance_.find(module);
    return columns != nullptr && std::ssize(*columns) == cols ? std::span<const float>(*columns)
                                                              : std::span<const float>();
  }

  // States that have gone through one quantized matrix each, all the way behind the last layer.
  Status probe_layers() {
    const size_t layers = plan_.spec.layers.size();
    for (size_t layer = 0; layer < layers; ++layer) {
      tell(fmt::format("layer {} of {}", layer + 1, layers),
           0.8 * static_cast<double>(layer * layer) / static_cast<double>(layers * layers));
      INGOT_TRY(walk_.run_others({}, variants_));
      INGOT_TRY(const std::vector<LayerModule> modules, layer_modules(*input_, plan_, layer));
      for (const LayerModule& module : modules) {
        INGOT_TRY(const std::vector<float> weights,
                  read_module(*input_, plan_, module, walk_.exec()));
        const Layout layout = fit_layout(options_.probe, module.cols);
        TensorOverlay overlay;
        put_module(overlay, module, stored_shape(module),
                   through(layout, weights, module.cols, columns_of(module.name, module.cols),
                           walk_.exec()));
        std::vector<float> state(walk_.hidden().begin(), walk_.hidden().end());
        INGOT_TRY(walk_.run_others(overlay, std::span(&state, 1)));
        variants_.push_back(std::move(state));
        names_.push_back(module.name);
      }
      INGOT_TRY(walk_.advance({}));
    }
    return Status::ok();
  }

  // The head alone costs no pass. The table of embeddings, where it is no head, is looked up a row
  // at a time: its error is felt like a layer's, but a whole pass for it is not worth its bytes;
  // what its rows lose of themselves stands for it.
  Status probe_ends() {
    for (const TensorSource* source : {&plan_.weights.output.weight, &plan_.weights.embedding}) {
      if (!source->exists() || (source == &plan_.weights.embedding && !plan_.spec.ties_output))
        continue;
      const std::string& name = source->parts.front().name;
      const TensorEntry* entry = find_entry(*input_, plan_, name);
      if (entry == nullptr || entry->tensor.shape.rank() != 2) continue;
      INGOT_TRY(const std::vector<float> weights, read_floats(*input_, plan_, name));
      const auto cols = static_cast<int64_t>(entry->tensor.cols());
      TensorOverlay overlay;
      overlay.set(name, entry->tensor.shape,
                  through(fit_layout(options_.probe, cols), weights, cols, {}, walk_.exec()));
      INGOT_TRY(kl_[module_of(name)], reference_.divergence(overlay, walk_.hidden()));
    }
    return Status::ok();
  }

  Status list_choices() {
    std::map<std::string, int64_t> rows_of_module;  // a fused module may be several tensors
    for (const SourceTensor& tensor : gguf_.tensors)
      rows_of_module[tensor.hf_module] += tensor.shape.rank() >= 2 ? tensor.rows() : 0;
    for (const SourceTensor& tensor : gguf_.tensors) {
      if (!is_quantizable({tensor.name, tensor.shape, false})) continue;
      TensorSensitivity result;
      result.name = tensor.name;
      result.module = tensor.hf_module;
      result.layer = tensor.layer;
      const auto it = kl_.find(module_of(tensor.hf_module));
      const double share = static_cast<double>(tensor.rows()) /
                           static_cast<double>(rows_of_module[tensor.hf_module]);
      result.probe_kl = it == kl_.end() ? 0 : it->second * share;
      INGOT_TRY(add_choices(tensor, result));
      report_.tensors.push_back(std::move(result));
    }
    return Status::ok();
  }

  Status add_choices(const SourceTensor& tensor, TensorSensitivity& result) {
    const int64_t rows = tensor.rows();
    const int64_t cols = tensor.cols();
    const int64_t wanted = std::min(rows, kSampleRows);
    std::vector<float> sample(static_cast<size_t>(wanted * cols));
    for (int64_t i = 0; i < wanted; ++i) {
      const int64_t row = i * rows / wanted;
      INGOT_TRY(tensor.read_rows(
          row, row + 1,
          std::span(sample).subspan(static_cast<size_t>(i * cols), static_cast<size_t>(cols))));
    }
    INGOT_TRY(const std::span<const float> importance, importance_of(&importance_, tensor));
    const auto error_of = [&](Layout layout) {
      return weighted_error(sample, through(layout, sample, cols, importance, walk_.exec()),
                            importance);
    };
    const double probe_error = error_of(fit_layout(options_.probe, cols));
    std::vector<Layout> seen;
    for (const Layout candidate : options_.candidates) {
      const Layout layout = fit_layout(candidate, cols);
      if (std::ranges::find(seen, layout) != seen.end()) continue;
      if (needs_importance(layout) && importance.empty()) continue;
      seen.push_back(layout);
      TypeChoice choice;
      choice.layout = layout;
      choice.bytes = storage_bytes(layout, tensor.shape.elements()).value_or(0);
      choice.loss = probe_error > 0 ? result.probe_kl * error_of(layout) / probe_error : 0;
      result.choices.push_back(choice);
    }
    if (result.choices.empty()) {
      return Status::invalid_argument("no type of the choice fits '{}'", tensor.name);
    }
    return Status::ok();
  }

  const GgufPlan& gguf_;
  std::shared_ptr<const Checkpoint> input_;
  const ModelPlan& plan_;
  LayerWalk& walk_;
  const ImportanceMatrix& importance_;
  const SensitivityOptions& options_;
  Reference reference_;
  std::vector<std::vector<float>> variants_;
  std::vector<std::string> names_;
  std::map<std::string, double> kl_;  // by module
  SensitivityReport report_;
};

}  // namespace

Result<SensitivityReport> measure_sensitivity(const GgufPlan& gguf,
                                              std::shared_ptr<const Checkpoint> input,
                                              const ModelPlan& plan, LayerWalk& walk,
                                              const ImportanceMatrix& importance,
                                              const SensitivityOptions& options) {
  return Measurement(gguf, std::move(input), plan, walk, importance, options).run();
}

Result<double> measure_divergence(const GgufPlan& gguf, std::shared_ptr<const Checkpoint> input,
                                  const ModelPlan& plan,
                                  const std::vector<std::vector<TokenId>>& samples,
                                  const WalkOptions& options, const ImportanceMatrix& importance,
                                  const std::map<std::string, Layout, std::less<>>& types) {
  INGOT_TRY(LayerWalk walk, LayerWalk::create(input, plan, samples, options));
  // By module: of several tensors of a fused module the first one's type stands for all.
  std::map<std::string, Layout> by_module;
  for (const SourceTensor& tensor : gguf.tensors) {
    if (const auto it = types.find(tensor.name); it != types.end())
      by_module.emplace(tensor.hf_module, it->second);
  }
  const auto encode = [&](const std::string& module, std::span<const float> weights, int64_t cols) {
    const auto it = by_module.find(module);
    const std::vector<float>* columns = importance.find(module);
    return it == by_module.end()
               ? std::vector<float>(weights.begin(), weights.end())
               : through(it->second, weights, cols,
                         columns == nullptr ? std::span<const float>() : *columns, walk.exec());
  };
  // Both models side by side: the walk's own states are the original's.
  TensorOverlay ends;
  for (const TensorSource* source : {&plan.weights.embedding, &plan.weights.output.weight}) {
    if (!source->exists()) continue;
    const std::string& name = source->parts.front().name;
    const TensorEntry* entry = find_entry(*input, plan, name);
    if (entry == nullptr || entry->tensor.shape.rank() != 2) continue;
    INGOT_TRY(const std::vector<float> weights, read_floats(*input, plan, name));
    const std::string module = module_of(name);
    ends.set(name, entry->tensor.shape,
             encode(module, weights, static_cast<int64_t>(entry->tensor.cols())));
  }
  INGOT_TRY(std::vector<float> states, walk.embed(ends));
  for (size_t layer = 0; layer < walk.layers(); ++layer) {
    TensorOverlay overlay;
    INGOT_TRY(const std::vector<LayerModule> modules, layer_modules(*input, plan, layer));
    for (const LayerModule& module : modules) {
      INGOT_TRY(const std::vector<float> weights, read_module(*input, plan, module, walk.exec()));
      put_module(overlay, module, stored_shape(module), encode(module.name, weights, module.cols));
    }
    INGOT_TRY(walk.run_others(overlay, std::span(&states, 1)));
    INGOT_TRY(walk.advance({}));
  }
  Reference reference(walk, static_cast<size_t>(plan.spec.vocab));
  INGOT_TRY(reference.keep(walk.hidden()));
  return reference.divergence(ends, states);
}

}  // namespace ingot
