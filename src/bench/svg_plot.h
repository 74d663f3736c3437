// SPDX-License-Identifier: Apache-2.0
// Small plots as SVG, complete in themselves: no script, no font, no file beside them. Lines over a
// number, or horizontal bars over names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/text_table.h"

namespace ingot {

struct PlotSeries {
  std::string name;
  std::vector<double> x;  // lines only; ascending
  std::vector<double> y;  // one per x or per category; what is not finite is left out
};

struct Plot {
  enum class Kind { kLines, kBars };
  Kind kind = Kind::kLines;
  std::string title;
  std::string x_label;  // with the unit; of bars: what their length means
  std::string y_label;
  std::vector<std::string> categories;  // bars only
  std::vector<PlotSeries> series;
};

// 0, step, 2 step ... up to the first at or above `largest`: at most eight, with steps 1, 2 or 5
// times a power of ten. Two at least.
std::vector<double> axis_ticks(double largest);

// One image, the plots below each other.
std::string to_svg(std::span<const Plot> plots);
// A page with the image and the tables.
std::string to_html(std::string_view title, std::span<const Plot> plots,
                    std::span<const TextTable> tables);

}  // namespace ingot
