// SPDX-License-Identifier: Apache-2.0
// What an evaluation found, as plain data, and its three forms: a table for a terminal, JSON, and
// one HTML file with plots that needs nothing from outside. A list of models: with several (a
// sweep) the plots show quality against size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "eval/kl_divergence.h"
#include "eval/perplexity.h"

namespace ingot {

struct PerplexityEntry {
  std::string text = {};      // what was measured on, a file's name
  std::string protocol = {};  // "llama", "hf", "windows"
  int64_t context = 0;
  int64_t stride = 0;
  PerplexityResult result = {};
};

// How many rows have a divergence in [lowest * ratio^i, lowest * ratio^(i + 1)); the first and last
// take what lies beyond.
struct KlHistogram {
  double lowest = 1e-8;
  double ratio = 3.1622776601683795;  // two bins a decade
  std::vector<int64_t> counts = {};
};
KlHistogram make_histogram(std::span<const float> kl);

struct KlEntry {
  std::string reference = {};
  std::string text = {};
  KlStats stats = {};
  KlHistogram histogram = {};
};

// A share or a mean in [0, 1], with its interval of 95 %.
struct TaskMetric {
  std::string name = {};  // "acc", "acc_norm", "mc2", "exact_match", ...
  double value = 0;
  double lower = 0, upper = 0;
};

struct TaskEntry {
  std::string name = {};
  int64_t items = 0;
  int64_t shots = 0;
  std::vector<TaskMetric> metrics = {};  // the first is the one that plots show
  std::vector<std::pair<std::string, TaskMetric>> groups =
      {};  // subjects, kinds of instruction ...
  double seconds = 0;
};

// A number for each layer and kind of tensor: how much the output moves when it alone is quantized.
struct SensitivityMatrix {
  std::string title = {};                        // of the plot
  std::vector<std::string> columns = {};         // "attn_q", "ffn_down", ...
  std::vector<std::vector<double>> values = {};  // [layer][column]; NaN: none
};

struct OutlierEntry {
  std::string tensor = {};
  int64_t layer = 0;
  double largest = 0;                  // of the activations
  double typical = 0;                  // the median channel's largest
  std::vector<int64_t> channels = {};  // those far above, largest first
};

struct EvaluatedModel {
  std::string name = {};
  uint64_t bytes = 0;  // of the files
  double bits_per_weight = 0;
  int64_t parameters = 0;
  std::vector<PerplexityEntry> perplexities = {};
  std::optional<KlEntry> kl = {};
  std::vector<TaskEntry> tasks = {};
  std::optional<SensitivityMatrix> sensitivity = {};
  std::vector<OutlierEntry> outliers = {};
  double seconds = 0;
  std::string failure = {};  // why there is nothing else; a sweep goes on with the next
};

struct EvalReport {
  std::string title = "Evaluation";
  std::string created = {};  // a date, or empty
  std::string command = {};  // what was typed, or empty
  std::vector<EvaluatedModel> models = {};
};

Json to_json(const EvalReport& report);
std::string to_text(const EvalReport& report);
std::string to_html(const EvalReport& report);
// Complete or not at all (AtomicFile).
Status write_json(const EvalReport& report, const std::filesystem::path& path);
Status write_html(const EvalReport& report, const std::filesystem::path& path);

}  // namespace ingot
