// SPDX-License-Identifier: Apache-2.0
// Prometheus' text format, version 0.0.4, written by hand: families with their help and type, the
// series of each, and histograms with cumulative buckets. What is counted lives in metrics*.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot {

inline constexpr std::string_view kPrometheusContentType =
    "text/plain; version=0.0.4; charset=utf-8";

// How often a value fell into which range. Whoever owns it sees to threads.
class Histogram {
 public:
  // `bounds` ascend, and outlive the histogram unless it is given them.
  explicit Histogram(std::span<const double> bounds)
      : bounds_(bounds), counts_(bounds.size() + 1) {}
  void add(double value);
  void add(const Histogram& other);  // of the same bounds

  std::span<const double> bounds() const { return bounds_; }
  std::span<const int64_t> counts() const { return counts_; }  // one more than bounds
  double sum() const { return sum_; }

 private:
  std::span<const double> bounds_;
  std::vector<int64_t> counts_;
  double sum_ = 0;
};

// 1, 2, 5, 10, 20, 50 ... as far as they are not above `largest`.
std::vector<double> one_two_five(int64_t largest);

using MetricLabel = std::pair<std::string_view, std::string_view>;
// a="1",b="2": values are escaped and valid UTF-8 afterwards; names are ours.
std::string format_labels(std::span<const MetricLabel> labels);
std::string format_labels(std::initializer_list<MetricLabel> labels);

// Single thread. family(), then its series.
class MetricText {
 public:
  enum class Type : uint8_t { kCounter, kGauge, kHistogram };
  void family(std::string_view name, Type type, std::string_view help);
  // Of the family named last. `labels` come from format_labels(), or are empty.
  void add(std::string_view labels, int64_t value);
  void add(std::string_view labels, double value);
  void add(std::string_view labels, std::span<const double> bounds, std::span<const int64_t> counts,
           double sum);
  void add(std::string_view labels, const Histogram& histogram) {
    add(labels, histogram.bounds(), histogram.counts(), histogram.sum());
  }
  // Families with one series.
  void gauge(std::string_view name, std::string_view help, std::string_view labels, double value);
  void counter(std::string_view name, std::string_view help, std::string_view labels,
               int64_t value);

  std::string take() { return std::move(text_); }

 private:
  void open_series(std::string_view suffix, std::string_view labels);

  std::string name_;
  std::string text_;
};

}  // namespace ingot
