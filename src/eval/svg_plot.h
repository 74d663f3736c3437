// SPDX-License-Identifier: Apache-2.0
// The few plots that reports need, as inline SVG. Colours are CSS variables of the page, so one
// drawing serves light and dark; every mark has a title that a pointer shows.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

std::string escape_html(std::string_view text);

struct PlotPoint {
  std::string label = {};
  double x = 0;
  double y = 0;
  std::optional<double> lower, upper;  // an error bar
};
// Points with labels, and a line through those that no other beats in both (small x, small y).
// `is_log_y` where values span decades; points that cannot be drawn so are left out.
std::string scatter_plot(const std::vector<PlotPoint>& points, std::string_view x_name,
                         std::string_view y_name, bool is_log_y);

struct PlotBar {
  std::string label = {};
  double value = 0;
  double lower = 0, upper = 0;
};
// Horizontal, from 0 to 1 (or the largest), with intervals; `chance` is a mark, if given.
std::string bar_plot(const std::vector<PlotBar>& bars, std::optional<double> chance);

// Counts in bins whose edges grow by a ratio.
std::string histogram_plot(double lowest, double ratio, const std::vector<int64_t>& counts,
                           std::string_view x_name);

// One cell per row and column, darker for larger; NaN is empty. The scale is logarithmic where all
// values are positive and span more than two decades.
std::string heat_map(const std::vector<std::vector<double>>& values,
                     const std::vector<std::string>& columns, std::string_view row_name);

}  // namespace ingot
