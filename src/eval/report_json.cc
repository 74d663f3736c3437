// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "eval/report.h"

namespace ingot {
namespace {

Json to_json(const PerplexityEntry& entry) {
  return {{"text", entry.text},
          {"protocol", entry.protocol},
          {"context", entry.context},
          {"stride", entry.stride},
          {"perplexity", entry.result.perplexity},
          {"standard_error", entry.result.standard_error},
          {"lower", entry.result.lower},
          {"upper", entry.result.upper},
          {"mean_nll", entry.result.mean_nll},
          {"tokens", entry.result.tokens},
          {"windows", entry.result.windows}};
}

Json to_json(const KlEntry& entry) {
  const KlStats& stats = entry.stats;
  return {{"reference", entry.reference},
          {"text", entry.text},
          {"tokens", stats.tokens},
          {"mean", stats.mean_kl},
          {"mean_error", stats.mean_kl_error},
          {"median", stats.median_kl},
          {"p90", stats.kl_90},
          {"p95", stats.kl_95},
          {"p99", stats.kl_99},
          {"p99_9", stats.kl_999},
          {"max", stats.max_kl},
          {"top1_agreement", stats.top1_agreement},
          {"top1_agreement_error", stats.top1_agreement_error},
          {"mean_delta_p", stats.mean_delta_p},
          {"rms_delta_p", stats.rms_delta_p},
          {"rms_delta_p_error", stats.rms_delta_p_error},
          {"reference_perplexity", stats.reference_perplexity},
          {"perplexity_ratio", stats.perplexity_ratio},
          {"perplexity_ratio_error", stats.perplexity_ratio_error},
          {"histogram",
           {{"lowest", entry.histogram.lowest},
            {"ratio", entry.histogram.ratio},
            {"counts", entry.histogram.counts}}}};
}

Json to_json(const TaskMetric& metric) {
  return {{"value", metric.value}, {"lower", metric.lower}, {"upper", metric.upper}};
}

Json to_json(const TaskEntry& task) {
  Json json = {{"task", task.name}, {"items", task.items}, {"shots", task.shots}};
  json["metrics"] = Json::object();
  for (const TaskMetric& metric : task.metrics)
    json["metrics"][metric.name] = to_json(metric);
  if (!task.groups.empty()) {
    json["groups"] = Json::object();
    for (const auto& [name, metric] : task.groups)
      json["groups"][name] = to_json(metric);
  }
  json["seconds"] = task.seconds;
  return json;
}

Json to_json(const SensitivityMatrix& matrix) {
  Json rows = Json::array();
  for (const std::vector<double>& row : matrix.values) {
    Json values = Json::array();
    for (const double value : row)
      values.push_back(std::isfinite(value) ? Json(value) : Json());
    rows.push_back(std::move(values));
  }
  return {{"title", matrix.title}, {"columns", matrix.columns}, {"layers", std::move(rows)}};
}

Json to_json(const OutlierEntry& outlier) {
  return {{"tensor", outlier.tensor},
          {"layer", outlier.layer},
          {"largest", outlier.largest},
          {"typical", outlier.typical},
          {"channels", outlier.channels}};
}

Json to_json(const EvaluatedModel& model) {
  Json json = {{"model", model.name},
               {"bytes", model.bytes},
               {"parameters", model.parameters},
               {"bits_per_weight", model.bits_per_weight}};
  if (!model.failure.empty()) json["failure"] = model.failure;
  if (!model.perplexities.empty()) {
    json["perplexity"] = Json::array();
    for (const PerplexityEntry& entry : model.perplexities)
      json["perplexity"].push_back(to_json(entry));
  }
  if (model.kl) json["kl_divergence"] = to_json(*model.kl);
  if (!model.tasks.empty()) {
    json["tasks"] = Json::array();
    for (const TaskEntry& task : model.tasks)
      json["tasks"].push_back(to_json(task));
  }
  if (model.sensitivity) json["sensitivity"] = to_json(*model.sensitivity);
  if (!model.outliers.empty()) {
    json["outliers"] = Json::array();
    for (const OutlierEntry& outlier : model.outliers)
      json["outliers"].push_back(to_json(outlier));
  }
  json["seconds"] = model.seconds;
  return json;
}

Status write_file(const std::filesystem::path& path, std::string_view text) {
  INGOT_TRY(AtomicFile file, AtomicFile::create(path));
  INGOT_TRY(file.write(text));
  return file.commit();
}

}  // namespace

KlHistogram make_histogram(std::span<const float> kl) {
  constexpr size_t kBins = 20;  // to 100 nats
  KlHistogram histogram;
  histogram.counts.assign(kBins, 0);
  for (const float value : kl) {
    const double bin = value > 0 ? std::log(static_cast<double>(value) / histogram.lowest) /
                                       std::log(histogram.ratio)
                                 : 0;
    const double inside = std::clamp(bin, 0.0, static_cast<double>(kBins - 1));
    ++histogram.counts[static_cast<size_t>(inside)];
  }
  return histogram;
}

Json to_json(const EvalReport& report) {
  Json json = {{"title", report.title}};
  if (!report.created.empty()) json["created"] = report.created;
  if (!report.command.empty()) json["command"] = report.command;
  json["models"] = Json::array();
  for (const EvaluatedModel& model : report.models)
    json["models"].push_back(to_json(model));
  return json;
}

Status write_json(const EvalReport& report, const std::filesystem::path& path) {
  return write_file(path, dump_json(to_json(report), 2) + "\n");
}

Status write_html(const EvalReport& report, const std::filesystem::path& path) {
  return write_file(path, to_html(report));
}

}  // namespace ingot
