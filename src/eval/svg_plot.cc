// SPDX-License-Identifier: Apache-2.0
#include "eval/svg_plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace ingot {
namespace {

// A stretch of numbers onto a stretch of pixels.
struct Axis {
  double low = 0, high = 1;
  double from = 0, to = 1;
  bool is_log = false;
  double at(double value) const {
    const auto bend = [&](double v) { return is_log ? std::log10(v) : v; };
    return from + (bend(value) - bend(low)) / (bend(high) - bend(low)) * (to - from);
  }
};

std::string number(double value) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  return size >= 1e5 || size < 1e-3 ? fmt::format("{:.0e}", value) : fmt::format("{:.6g}", value);
}

// Round numbers, about five of them; powers of ten (and their halves where few) on a log axis.
std::vector<double> ticks(const Axis& axis) {
  std::vector<double> found;
  if (axis.is_log) {
    const bool is_short = axis.high / axis.low < 100;
    for (double power = std::floor(std::log10(axis.low)); power <= std::ceil(std::log10(axis.high));
         ++power) {
      for (const double factor : {1.0, 2.0, 5.0}) {
        const double value = std::pow(10.0, power) * factor;
        if ((factor == 1.0 || is_short) && value >= axis.low * 0.999 && value <= axis.high * 1.001)
          found.push_back(value);
      }
    }
    return found;
  }
  const double rough = (axis.high - axis.low) / 5;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double step = power * (rough / power < 1.5   ? 1
                               : rough / power < 3.5 ? 2
                               : rough / power < 7.5 ? 5
                                                     : 10);
  for (double value = std::ceil(axis.low / step) * step; value <= axis.high + step * 1e-6;
       value += step)
    found.push_back(std::abs(value) < step * 1e-6 ? 0 : value);
  return found;
}

Axis fit(double low, double high, double from, double to, bool is_log) {
  Axis axis{low, high, from, to, is_log};
  if (is_log) {
    axis.low = low / 1.5;
    axis.high = high * 1.5;
  } else {
    const double room = high > low ? (high - low) * 0.12 : std::max(std::abs(high) * 0.1, 1e-9);
    axis.low = low >= 0 ? std::max(0.0, low - room) : low - room;
    axis.high = high + room;
  }
  return axis;
}

std::string open_svg(double width, double height, std::string_view name) {
  return fmt::format(
      R"(<svg viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" role="img" aria-label="{2}">)"
      "\n",
      width, height, escape_html(name));
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text,
                    std::string_view style = "tick") {
  return fmt::format(R"(<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)"
                     "\n",
                     style, x, y, anchor, escape_html(text));
}

std::string line_at(double x1, double y1, double x2, double y2, std::string_view style) {
  return fmt::format(R"(<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)"
                     "\n",
                     style, x1, y1, x2, y2);
}

// Where labels have gone, so that the next one does not lie on them: above its point, below it, or
// as far away as it takes.
class LabelPlaces {
 public:
  double take(double x, double y, bool is_left, size_t characters) {
    const double width = 7 * static_cast<double>(characters) + 8;
    const double from = is_left ? x - width : x;
    double at = y - 9;
    for (const double offset : {-9.0, 20.0, -23.0, 34.0, -37.0, 48.0}) {
      at = y + offset;
      if (std::ranges::none_of(taken_, [&](const Box& box) {
            return from < box.to && from + width > box.from && std::abs(at - box.y) < 13;
          }))
        break;
    }
    taken_.push_back({from, from + width, at});
    return at;
  }

 private:
  struct Box {
    double from, to, y;
  };
  std::vector<Box> taken_;
};

std::string shortened(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  size_t end = most - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u)
    --end;
  return std::string(text.substr(0, end)) + "\u2026";
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') escaped += c;
    }
  }
  return escaped;
}

std::string scatter_plot(const std::vector<PlotPoint>& all, std::string_view x_name,
                         std::string_view y_name, bool is_log_y) {
  std::vector<PlotPoint> points;
  for (const PlotPoint& point : all) {
    if (std::isfinite(point.x) && std::isfinite(point.y) && (!is_log_y || point.y > 0))
      points.push_back(point);
  }
  if (points.empty()) return "";
  std::ranges::sort(points, {}, [](const PlotPoint& point) { return std::pair(point.x, point.y); });
  double low = points[0].y;
  double high = points[0].y;
  for (const PlotPoint& point : points) {
    const double lower = point.lower.value_or(point.y);
    low = std::min(low, is_log_y && lower <= 0 ? point.y : lower);
    high = std::max(high, point.upper.value_or(point.y));
  }
  constexpr double kWidth = 640;
  constexpr double kHeight = 340;
  const Axis x = fit(points.front().x, points.back().x, 64, kWidth - 24, false);
  const Axis y = fit(low, high, kHeight - 44, 16, is_log_y);
  std::string svg = open_svg(kWidth, kHeight, fmt::format("{} against {}", y_name, x_name));
  for (const double tick : ticks(y)) {
    svg += line_at(x.from, y.at(tick), x.to, y.at(tick), "grid");
    svg += text_at(x.from - 8, y.at(tick) + 4, "end", number(tick));
  }
  for (const double tick : ticks(x))
    svg += text_at(x.at(tick), y.from + 18, "middle", number(tick));
  svg += line_at(x.from, y.from, x.to, y.from, "axis");
  svg += text_at((x.from + x.to) / 2, kHeight - 6, "middle", x_name, "name");
  svg += fmt::format(
      R"svg(<text class="name" transform="translate(14 {:.1f}) rotate(-90)" text-anchor="middle">{}</text>)svg"
      "\n",
      (y.from + y.to) / 2, escape_html(y_name));

  std::string path;
  double best = INFINITY;
  for (const PlotPoint& point : points) {
    if (point.y >= best) continue;
    best = point.y;
    path += fmt::format("{}{:.1f} {:.1f} ", path.empty() ? "M" : "L", x.at(point.x), y.at(point.y));
  }
  svg += fmt::format(R"(<path class="frontier" d="{}"/>)"
                     "\n",
                     path);
  LabelPlaces places;
  for (const PlotPoint& point : points) {
    const double px = x.at(point.x);
    const double py = y.at(point.y);
    svg += fmt::format(R"(<g><title>{}: {} {}, {} {}</title>)", escape_html(point.label), x_name,
                       number(point.x), y_name, number(point.y));
    if (point.lower && point.upper && (!is_log_y || *point.lower > 0))
      svg += line_at(px, y.at(*point.lower), px, y.at(*point.upper), "whisker");
    svg += fmt::format(R"(<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="5"/></g>)"
                       "\n",
                       px, py);
    const bool is_left = px > kWidth - 110;
    const std::string label = shortened(point.label, 24);
    svg += text_at(px + (is_left ? -4 : 4), places.take(px, py, is_left, label.size()),
                   is_left ? "end" : "start", label, "label");
  }
  return svg + "</svg>\n";
}

std::string bar_plot(const std::vector<PlotBar>& bars, std::optional<double> chance) {
  if (bars.empty()) return "";
  double most = 0;
  for (const PlotBar& bar : bars)
    most = std::max({most, bar.value, bar.upper});
  constexpr double kWidth = 640;
  constexpr double kRow = 26;
  const double height = kRow * static_cast<double>(bars.size()) + 34;
  const Axis x{0, most <= 1 ? 1 : most * 1.05, 180, kWidth - 70, false};
  std::string svg = open_svg(kWidth, height, "scores");
  for (const double tick : ticks(x)) {
    svg += line_at(x.at(tick), 6, x.at(tick), height - 24, "grid");
    svg += text_at(x.at(tick), height - 8, "middle", number(tick));
  }
  double y = 10;
  for (const PlotBar& bar : bars) {
    if (!std::isfinite(bar.value)) continue;
    svg += fmt::format(R"(<g><title>{}: {:.4f} ({:.4f} to {:.4f})</title>)", escape_html(bar.label),
                       bar.value, bar.lower, bar.upper);
    svg += fmt::format(
        R"(<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="16" rx="2"/>)", x.from, y,
        std::max(x.at(bar.value) - x.from, 1.0));
    svg += line_at(x.at(bar.lower), y + 8, x.at(bar.upper), y + 8, "whisker");
    svg += "</g>\n";
    svg += text_at(x.from - 8, y + 12, "end", shortened(bar.label, 26), "label");
    svg += text_at(kWidth - 6, y + 12, "end", fmt::format("{:.3f}", bar.value), "label");
    y += kRow;
  }
  if (chance) svg += line_at(x.at(*chance), 6, x.at(*chance), height - 24, "chance");
  svg += line_at(x.from, 6, x.from, height - 24, "axis");
  return svg + "</svg>\n";
}

std::string histogram_plot(double lowest, double ratio, const std::vector<int64_t>& counts,
                           std::string_view x_name) {
  const int64_t most = counts.empty() ? 0 : *std::ranges::max_element(counts);
  if (most == 0) return "";
  constexpr double kWidth = 640;
  constexpr double kHeight = 220;
  const auto bins = static_cast<double>(counts.size());
  const double bin_width = (kWidth - 88) / bins;
  const Axis y{0, static_cast<double>(most) * 1.05, kHeight - 44, 12, false};
  std::string svg = open_svg(kWidth, kHeight, fmt::format("distribution of {}", x_name));
  for (const double tick : ticks(y)) {
    svg += line_at(64, y.at(tick), kWidth - 24, y.at(tick), "grid");
    svg += text_at(56, y.at(tick) + 4, "end", number(tick));
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    const double left = 64 + bin_width * static_cast<double>(i);
    const double begin = lowest * std::pow(ratio, static_cast<double>(i));
    const double top = y.at(static_cast<double>(counts[i]));
    svg += fmt::format(
        R"(<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{:.1e} to {:.1e}: {} tokens</title></rect>)"
        "\n",
        left + 1, top, bin_width - 2, y.from - top, begin, begin * ratio, counts[i]);
    if (i % 4 == 0) svg += text_at(left, y.from + 18, "middle", fmt::format("{:.0e}", begin));
  }
  svg += line_at(64, y.from, kWidth - 24, y.from, "axis");
  svg += text_at((64 + kWidth - 24) / 2, kHeight - 6, "middle", x_name, "name");
  return svg + "</svg>\n";
}

std::string heat_map(const std::vector<std::vector<double>>& values,
                     const std::vector<std::string>& columns, std::string_view row_name) {
  double low = INFINITY;
  double high = -INFINITY;
  for (const std::vector<double>& row : values) {
    for (const double value : row) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (values.empty() || columns.empty() || low > high) return "";
  const bool is_log = low > 0 && high / low > 100;
  const auto share = [&](double value) {
    if (high == low) return 1.0;
    return is_log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  };
  const double cell = std::clamp(540.0 / static_cast<double>(columns.size()), 18.0, 74.0);
  constexpr double kRow = 20;
  const double width = 72 + cell * static_cast<double>(columns.size()) + 8;
  const double height = 34 + kRow * static_cast<double>(values.size()) + 8;
  std::string svg = open_svg(width, height, "heat map");
  for (size_t column = 0; column < columns.size(); ++column)
    svg += text_at(72 + cell * (static_cast<double>(column) + 0.5), 22, "middle",
                   shortened(columns[column], static_cast<size_t>(cell / 6)));
  for (size_t row = 0; row < values.size(); ++row) {
    const double y = 30 + kRow * static_cast<double>(row);
    svg += text_at(64, y + 14, "end", fmt::format("{} {}", row_name, row));
    for (size_t column = 0; column < std::min(columns.size(), values[row].size()); ++column) {
      const double value = values[row][column];
      if (!std::isfinite(value)) continue;
      svg += fmt::format(
          R"(<rect class="cell" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" style="--heat:{:.0f}%"><title>{} {}, {}: {:.3g}</title></rect>)"
          "\n",
          72 + cell * static_cast<double>(column), y, cell - 2, kRow - 2, 6 + 94 * share(value),
          row_name, row, escape_html(columns[column]), value);
    }
  }
  return svg + "</svg>\n";
}

}  // namespace ingot
