// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_setting.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/cpu.h"
#include "model/kv_cache.h"

namespace ingot {

Result<MachinePeaks> measure_peaks(const Model& model, const Exec& exec) {
  if (model.is_all_on_device()) return measure_device(*model.device());
  return measure_machine(exec);
}

BenchSetting setting_of(const BenchSubject& subject) {
  const Model& model = *subject.model.model;
  const WeightCost cost = weight_cost(model);
  const double weight_bytes = cost.bytes + cost.head_bytes;
  BenchSetting setting;
  const bool is_on_gpu = model.is_all_on_device();
  Json machine = is_on_gpu ? device_json(*model.device(), subject.peaks)
                           : machine_json(subject.exec, subject.peaks);
  machine["kernels"] = is_on_gpu ? "cuda" : model.targets().to_string();
  setting.json.emplace_back("machine", std::move(machine));
  setting.json.emplace_back("model", Json{{"name", subject.model.name},
                                          {"architecture", model.spec().architecture},
                                          {"parameters", model.parameters()},
                                          {"weight_bytes", weight_bytes}});
  setting.json.emplace_back("kv_cache_dtype", std::string(to_string(subject.cache_type)));
  setting.line = fmt::format("{}\n{} ({}, {:.2f} B parameters, {:.2f} GB of matrices read a token)",
                             is_on_gpu ? model.device()->info().name : describe_cpu(),
                             subject.model.name, model.spec().architecture,
                             static_cast<double>(model.parameters()) * 1e-9, weight_bytes * 1e-9);
  if (!is_on_gpu) {
    setting.line += fmt::format("; threads {}, kernels {}", subject.exec.threads(),
                                model.targets().to_string());
  }
  setting.line += fmt::format("{} cache {}", is_on_gpu ? ";" : ",", to_string(subject.cache_type));
  return setting;
}

Result<KvCacheType> cache_type_of(const std::string& name, const ModelSpec& spec) {
  if (name == "auto") return default_cache_type(spec);
  return parse_kv_cache_type(name);
}

}  // namespace ingot
