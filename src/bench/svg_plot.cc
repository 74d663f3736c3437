// SPDX-License-Identifier: Apache-2.0
#include "bench/svg_plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace ingot {
namespace {

constexpr double kWidth = 720;
constexpr double kPlotHeight = 280;  // of lines
constexpr double kTop = 44;          // title and legend
constexpr double kBottom = 48;       // tick labels and axis label
constexpr double kLeft = 76;
constexpr double kRight = 24;
constexpr double kBar = 12;
constexpr double kBetweenGroups = 8;
constexpr double kCharacter = 6.6;  // of 11 px text, about

// Told apart also without colour vision.
constexpr std::array<const char*, 7> kColours = {"#0072b2", "#e69f00", "#009e73", "#d55e00",
                                                 "#cc79a7", "#56b4e9", "#444444"};

const char* colour(size_t index) {
  return kColours[index % kColours.size()];
}

struct Frame {
  double x, y, width, height;  // of the area inside the axes
};

std::string text_at(double x, double y, std::string_view anchor, std::string_view text,
                    std::string_view more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, xml_escaped(text));
}

std::string line_from(double x1, double y1, double x2, double y2, const char* stroke) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2,
      y2, stroke);
}

double largest_y(const Plot& plot) {
  double largest = 0;
  for (const PlotSeries& series : plot.series) {
    for (const double y : series.y)
      if (std::isfinite(y)) largest = std::max(largest, y);
  }
  return largest;
}

std::string heading(const Plot& plot, double y) {
  std::string svg = text_at(12, y + 16, "start", plot.title, " font-weight=\"bold\"");
  double x = 12;
  for (size_t i = 0; i < plot.series.size() && plot.series.size() > 1; ++i) {
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"10\" height=\"10\" fill=\"{}\"/>\n",
                       x, y + 24, colour(i));
    svg += text_at(x + 14, y + 33, "start", plot.series[i].name);
    x += 30 + kCharacter * static_cast<double>(plot.series[i].name.size());
  }
  return svg;
}

std::string draw_lines(const Plot& plot, double top) {
  const Frame frame{kLeft, top + kTop, kWidth - kLeft - kRight, kPlotHeight - kTop - kBottom};
  const std::vector<double> ticks = axis_ticks(largest_y(plot));
  std::set<double> positions;
  for (const PlotSeries& series : plot.series)
    positions.insert(series.x.begin(), series.x.end());
  const double first = positions.empty() ? 0 : *positions.begin();
  const double last = positions.empty() ? 1 : *positions.rbegin();
  const auto x_of = [&](double x) {
    return last > first ? frame.x + frame.width * (x - first) / (last - first)
                        : frame.x + frame.width / 2;
  };
  const auto y_of = [&](double y) { return frame.y + frame.height * (1 - y / ticks.back()); };

  std::string svg;
  for (const double tick : ticks) {
    svg += line_from(frame.x, y_of(tick), frame.x + frame.width, y_of(tick), "#ddd");
    svg += text_at(frame.x - 6, y_of(tick) + 4, "end", fmt::format("{:g}", tick));
  }
  double label_end = -1;
  for (const double position : positions) {
    const std::string label = fmt::format("{:g}", position);
    const double half = kCharacter * static_cast<double>(label.size()) / 2;
    svg += line_from(x_of(position), frame.y + frame.height, x_of(position),
                     frame.y + frame.height + 4, "#444");
    if (x_of(position) - half < label_end) continue;  // no room beside the one before
    svg += text_at(x_of(position), frame.y + frame.height + 17, "middle", label);
    label_end = x_of(position) + half + 6;
  }
  svg += line_from(frame.x, frame.y + frame.height, frame.x + frame.width, frame.y + frame.height,
                   "#444");
  for (size_t i = 0; i < plot.series.size(); ++i) {
    const PlotSeries& series = plot.series[i];
    std::string points;
    std::string dots;
    for (size_t at = 0; at < std::min(series.x.size(), series.y.size()); ++at) {
      if (!std::isfinite(series.y[at])) continue;
      const double x = x_of(series.x[at]);
      const double y = y_of(series.y[at]);
      points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", x, y);
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x, y,
                          colour(i));
    }
    svg +=
        fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n{}",
                    points, colour(i), dots);
  }
  svg += text_at(frame.x + frame.width / 2, frame.y + frame.height + 36, "middle", plot.x_label);
  const double middle = frame.y + frame.height / 2;
  svg += text_at(16, middle, "middle", plot.y_label,
                 fmt::format(" transform=\"rotate(-90 16 {:.1f})\"", middle));
  return heading(plot, top) + svg;
}

double group_height(const Plot& plot) {
  return kBar * static_cast<double>(plot.series.size()) + kBetweenGroups;
}

std::string draw_bars(const Plot& plot, double top) {
  size_t longest = 0;
  for (const std::string& category : plot.categories)
    longest = std::max(longest, category.size());
  const double left = std::min(kWidth / 2, 20 + kCharacter * static_cast<double>(longest));
  const Frame frame{left, top + kTop, kWidth - left - 60,
                    group_height(plot) * static_cast<double>(plot.categories.size())};
  const std::vector<double> ticks = axis_ticks(largest_y(plot));
  const auto length_of = [&](double y) { return frame.width * y / ticks.back(); };

  std::string svg;
  for (const double tick : ticks) {
    const double x = frame.x + length_of(tick);
    svg += line_from(x, frame.y, x, frame.y + frame.height, "#ddd");
    svg += text_at(x, frame.y + frame.height + 17, "middle", fmt::format("{:g}", tick));
  }
  for (size_t row = 0; row < plot.categories.size(); ++row) {
    const double y = frame.y + group_height(plot) * static_cast<double>(row) + kBetweenGroups / 2;
    const double middle = y + (group_height(plot) - kBetweenGroups) / 2;
    svg += text_at(frame.x - 6, middle + 4, "end", plot.categories[row]);
    for (size_t i = 0; i < plot.series.size(); ++i) {
      if (row >= plot.series[i].y.size() || !std::isfinite(plot.series[i].y[row])) continue;
      const double value = std::max(plot.series[i].y[row], 0.0);
      const double bar_y = y + kBar * static_cast<double>(i);
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n",
          frame.x, bar_y, length_of(value), kBar - 1, colour(i));
      svg += text_at(frame.x + length_of(value) + 4, bar_y + kBar - 3, "start",
                     fmt::format("{:.3g}", value));
    }
  }
  svg += line_from(frame.x, frame.y, frame.x, frame.y + frame.height, "#444");
  svg += text_at(frame.x + frame.width / 2, frame.y + frame.height + 36, "middle", plot.x_label);
  return heading(plot, top) + svg;
}

double height_of(const Plot& plot) {
  if (plot.kind == Plot::Kind::kLines) return kPlotHeight;
  return kTop + kBottom + group_height(plot) * static_cast<double>(plot.categories.size());
}

}  // namespace

std::vector<double> axis_ticks(double largest) {
  if (!std::isfinite(largest) || largest <= 0) return {0, 1};
  double step = std::pow(10.0, std::floor(std::log10(largest / 6)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (largest / (step * factor) > 6) continue;
    step *= factor;
    break;
  }
  std::vector<double> ticks = {0, step};
  while (ticks.back() < largest * (1 - 1e-9))
    ticks.push_back(step * static_cast<double>(ticks.size()));
  return ticks;
}

std::string to_svg(std::span<const Plot> plots) {
  double height = 0;
  std::string body;
  for (const Plot& plot : plots) {
    body += plot.kind == Plot::Kind::kLines ? draw_lines(plot, height) : draw_bars(plot, height);
    height += height_of(plot) + 12;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"11\" fill=\"#222\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{2}</svg>\n",
      kWidth, std::max(height, 1.0), body);
}

std::string to_html(std::string_view title, std::span<const Plot> plots,
                    std::span<const TextTable> tables) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<title>{0}</title>\n"
      "<style>body{{font-family:sans-serif;margin:2em;color:#222}}"
      "table{{border-collapse:collapse;margin:1em 0}}caption{{text-align:left;font-weight:bold}}"
      "td,th{{padding:2px 10px;text-align:right;border-bottom:1px solid #ddd}}"
      "td:first-child,th:first-child{{text-align:left}}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
      xml_escaped(title));
  page += to_svg(plots);
  for (const TextTable& table : tables)
    page += table.to_html();
  return page + "</body>\n</html>\n";
}

}  // namespace ingot
