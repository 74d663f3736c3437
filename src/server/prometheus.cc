// SPDX-License-Identifier: Apache-2.0
#include "server/prometheus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/check.h"
#include "base/utf8.h"

namespace ingot {
namespace {

std::string_view name_of(MetricText::Type type) {
  switch (type) {
    case MetricText::Type::kCounter:
      return "counter";
    case MetricText::Type::kGauge:
      return "gauge";
    case MetricText::Type::kHistogram:
      return "histogram";
  }
  return "untyped";
}

void append_number(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
}

// Bounds as vLLM's client library spells them, because they are text to compare: 0.5, 1.0, 2e+06.
std::string bound_text(double bound) {
  if (bound >= 1e6) return fmt::format("{:g}", bound);
  const bool is_whole = std::floor(bound) == bound;
  return is_whole ? fmt::format("{:.1f}", bound) : fmt::format("{}", bound);
}

}  // namespace

void Histogram::add(double value) {
  const auto bound = std::ranges::lower_bound(bounds_, value);
  ++counts_[static_cast<size_t>(bound - bounds_.begin())];
  sum_ += value;
}

void Histogram::add(const Histogram& other) {
  INGOT_CHECK(counts_.size() == other.counts_.size());
  for (size_t i = 0; i < counts_.size(); ++i)
    counts_[i] += other.counts_[i];
  sum_ += other.sum_;
}

std::vector<double> one_two_five(int64_t largest) {
  std::vector<double> bounds;
  for (double power = 1;; power *= 10) {
    for (const double mantissa : {1.0, 2.0, 5.0}) {
      if (mantissa * power > static_cast<double>(largest)) return bounds;
      bounds.push_back(mantissa * power);
    }
  }
}

std::string format_labels(std::span<const MetricLabel> labels) {
  std::string out;
  for (const auto& [name, value] : labels) {
    if (!out.empty()) out += ',';
    out += name;
    out += "=\"";
    for (const char c : utf8::replace_invalid(value)) {
      if (c == '\n') {
        out += "\\n";
        continue;
      }
      if (c == '\\' || c == '"') out += '\\';
      out += c;
    }
    out += '"';
  }
  return out;
}

std::string format_labels(std::initializer_list<MetricLabel> labels) {
  return format_labels(std::span(labels.begin(), labels.size()));
}

void MetricText::family(std::string_view name, Type type, std::string_view help) {
  name_ = name;
  fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name,
                 name_of(type));
}

void MetricText::open_series(std::string_view suffix, std::string_view labels) {
  text_ += name_;
  text_ += suffix;
  if (!labels.empty()) fmt::format_to(std::back_inserter(text_), "{{{}}}", labels);
  text_ += ' ';
}

void MetricText::add(std::string_view labels, int64_t value) {
  open_series("", labels);
  fmt::format_to(std::back_inserter(text_), "{}\n", value);
}

void MetricText::add(std::string_view labels, double value) {
  open_series("", labels);
  append_number(text_, value);
  text_ += '\n';
}

void MetricText::add(std::string_view labels, std::span<const double> bounds,
                     std::span<const int64_t> counts, double sum) {
  INGOT_CHECK(counts.size() > bounds.size());
  const std::string_view comma = labels.empty() ? "" : ",";
  int64_t total = 0;
  for (size_t i = 0; i <= bounds.size(); ++i) {
    total += counts[i];
    const std::string bound = i < bounds.size() ? bound_text(bounds[i]) : "+Inf";
    fmt::format_to(std::back_inserter(text_), "{}_bucket{{{}{}le=\"{}\"}} {}\n", name_, labels,
                   comma, bound, total);
  }
  open_series("_sum", labels);
  append_number(text_, sum);
  text_ += '\n';
  open_series("_count", labels);
  fmt::format_to(std::back_inserter(text_), "{}\n", total);
}

void MetricText::gauge(std::string_view name, std::string_view help, std::string_view labels,
                       double value) {
  family(name, Type::kGauge, help);
  add(labels, value);
}

void MetricText::counter(std::string_view name, std::string_view help, std::string_view labels,
                         int64_t value) {
  family(name, Type::kCounter, help);
  add(labels, value);
}

}  // namespace ingot
