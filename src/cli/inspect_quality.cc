// SPDX-License-Identifier: Apache-2.0
#include "cli/inspect_quality.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/progress_bar.h"

namespace ingot {
namespace {

Result<LayerWalk> make_walk(const std::string& model,
                            const std::shared_ptr<const Checkpoint>& checkpoint,
                            const ModelPlan& plan, const CalibrationFlags& flags, int threads) {
  INGOT_TRY(std::vector<std::vector<TokenId>> samples, calibration_samples(model, flags));
  WalkOptions options;
  options.threads = threads;
  return LayerWalk::create(checkpoint, plan, std::move(samples), options);
}

std::vector<Layout> table_types() {
  return {Layout::kQ8_0, Layout::kQ6_K, Layout::kQ5_K, Layout::kQ4_K, Layout::kQ3_K, Layout::kQ2_K};
}

}  // namespace

Result<OutlierReport> measure_outliers(const std::string& model,
                                       std::shared_ptr<const Checkpoint> checkpoint,
                                       const CalibrationFlags& flags, int threads) {
  INGOT_TRY(const ModelPlan plan, plan_model(*checkpoint));
  INGOT_TRY(LayerWalk walk, make_walk(model, checkpoint, plan, flags, threads));
  ProgressBar bar("Looking for outliers");
  return find_outliers(checkpoint, plan, walk, [&](double fraction) { bar.update(fraction); });
}

Result<SensitivityReport> measure_sensitivities(const std::string& model,
                                                std::shared_ptr<const Checkpoint> checkpoint,
                                                const CalibrationFlags& flags, int threads) {
  INGOT_TRY(const ModelPlan plan, plan_model(*checkpoint));
  INGOT_TRY(const GgufPlan gguf, plan_gguf(checkpoint));
  INGOT_TRY(auto samples, calibration_samples(model, flags, threads));
  INGOT_TRY(const ImportanceMatrix importance,
            measure_importance(checkpoint, std::move(samples), flags, threads));
  INGOT_TRY(LayerWalk walk, make_walk(model, checkpoint, plan, flags, threads));
  ProgressBar bar("Measuring sensitivity");
  SensitivityOptions options;
  options.candidates = table_types();
  options.progress = [&](std::string_view what, double fraction) {
    bar.set_label(fmt::format("Measuring sensitivity, {}", what));
    bar.update(fraction);
  };
  return measure_sensitivity(gguf, checkpoint, plan, walk, importance, options);
}

std::string describe_outliers(const OutlierReport& report) {
  std::string text = fmt::format(
      "Inputs of linear layers on {} tokens: the largest |x|, the median of the columns' largest,\n"
      "columns beyond ten times that median, and the columns that stand out.\n"
      "{:>5}  {:<14} {:>9} {:>9} {:>8} {:>9}  {}\n",
      report.tokens, "layer", "input", "largest", "median", "outliers", "kurtosis",
      "column: largest");
  for (const InputOutliers& input : report.inputs) {
    std::string top;
    for (const OutlierColumn& column : input.top)
      top += fmt::format("{}{}: {:.1f}", top.empty() ? "" : ", ", column.column, column.largest);
    text += fmt::format("{:>5}  {:<14} {:>9.2f} {:>9.2f} {:>8} {:>9.1f}  {}\n", input.layer,
                        to_string(input.input), input.largest, input.median, input.outliers,
                        input.kurtosis, top);
  }
  text += fmt::format(
      "\nWeights: largest |w|, root mean square, and what rounding loses of them\n"
      "{:<44} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8}\n",
      "module", "largest", "rms", "Q8_0", "Q6_K", "Q4_K", "Q2_K");
  for (const WeightRange& weight : report.weights) {
    text += fmt::format("{:<44} {:>9.4f} {:>9.4f}", weight.name, weight.largest, weight.rms);
    for (const double error : weight.errors)
      text += fmt::format(" {:>7.3f}%", 100 * error);
    text += "\n";
  }
  return text;
}

std::string describe_sensitivity(const SensitivityReport& report) {
  std::vector<const TensorSensitivity*> order;
  for (const TensorSensitivity& tensor : report.tensors)
    order.push_back(&tensor);
  std::ranges::stable_sort(order, [](const TensorSensitivity* a, const TensorSensitivity* b) {
    return a->probe_kl > b->probe_kl;
  });
  std::string text = fmt::format(
      "KL divergence from the original on {} tokens with one matrix quantized: measured for {},\n"
      "estimated for the others from their errors. The most sensitive first.\n{:<36}",
      report.tokens, info(report.probe).name, "tensor");
  for (const Layout layout : table_types())
    text += fmt::format(" {:>9}", info(layout).name);
  text += "\n";
  for (const TensorSensitivity* tensor : order) {
    text += fmt::format("{:<36}", tensor->name);
    for (const Layout layout : table_types()) {
      const auto it = std::ranges::find(tensor->choices, layout, &TypeChoice::layout);
      text += it == tensor->choices.end() ? fmt::format(" {:>9}", "-")
                                          : fmt::format(" {:>9.2e}", it->loss);
    }
    text += "\n";
  }
  return text;
}

Json to_json(const OutlierReport& report) {
  Json inputs = Json::array();
  for (const InputOutliers& input : report.inputs) {
    Json top = Json::array();
    for (const OutlierColumn& column : input.top)
      top.push_back({{"column", column.column}, {"largest", column.largest}});
    inputs.push_back({{"layer", input.layer},
                      {"input", to_string(input.input)},
                      {"columns", input.cols},
                      {"largest", input.largest},
                      {"median", input.median},
                      {"outliers", input.outliers},
                      {"kurtosis", input.kurtosis},
                      {"top", std::move(top)}});
  }
  Json weights = Json::array();
  for (const WeightRange& weight : report.weights) {
    Json errors = Json::object();
    for (size_t i = 0; i < kErrorTypes.size(); ++i)
      errors[std::string(info(kErrorTypes[i]).name)] = weight.errors[i];
    weights.push_back({{"module", weight.name},
                       {"layer", weight.layer},
                       {"shape", {weight.rows, weight.cols}},
                       {"largest", weight.largest},
                       {"rms", weight.rms},
                       {"relative_error", std::move(errors)}});
  }
  return {
      {"tokens", report.tokens}, {"inputs", std::move(inputs)}, {"weights", std::move(weights)}};
}

Json to_json(const SensitivityReport& report) {
  Json tensors = Json::array();
  for (const TensorSensitivity& tensor : report.tensors) {
    Json losses = Json::object();
    for (const TypeChoice& choice : tensor.choices)
      losses[std::string(info(choice.layout).name)] = choice.loss;
    tensors.push_back({{"name", tensor.name},
                       {"module", tensor.module},
                       {"layer", tensor.layer},
                       {"measured_kl", tensor.probe_kl},
                       {"estimated_kl", std::move(losses)}});
  }
  return {{"tokens", report.tokens},
          {"measured_type", info(report.probe).name},
          {"tensors", std::move(tensors)}};
}

}  // namespace ingot
