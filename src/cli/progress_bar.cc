// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_bar.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/environment.h"
#include "cli/output.h"

namespace ingot {
namespace {

constexpr std::chrono::milliseconds kPatience{300};
constexpr std::chrono::milliseconds kBetweenDraws{50};

int stderr_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

void write_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

std::string format_duration(double seconds) {
  const auto whole = static_cast<int64_t>(std::clamp(std::ceil(seconds), 0.0, 1e9));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string render_bar(std::string_view label, double fraction, double elapsed_seconds,
                       int columns) {
  fraction = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  std::string tail = fmt::format("] {:3.0f}%", fraction * 100);
  if (fraction > 0.02)
    tail += fmt::format("  {} left", format_duration(elapsed_seconds * (1 / fraction - 1)));
  const std::string head = fmt::format("{} [", label);
  const auto used = static_cast<int>(head.size() + tail.size());
  const int cells = std::min(40, columns - used - 1);
  if (cells < 5) return fmt::format("{} {:3.0f}%", label, fraction * 100);
  const auto full = static_cast<size_t>(std::floor(fraction * cells));
  return head + std::string(full, '#') + std::string(static_cast<size_t>(cells) - full, '.') + tail;
}

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)),
      can_draw_(is_terminal(STDERR_FILENO) && environment::has_cursor_movement()) {}

void ProgressBar::update(double fraction) {
  if (!can_draw_) return;
  const Clock::time_point now = Clock::now();
  if (now - start_ < kPatience || now - last_draw_ < kBetweenDraws) return;
  last_draw_ = now;
  is_shown_ = true;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  write_stderr("\r\x1b[K" + render_bar(label_, fraction, elapsed, stderr_columns()));
}

void ProgressBar::finish() {
  if (!is_shown_) return;
  is_shown_ = false;
  write_stderr("\r\x1b[K");
}

}  // namespace ingot
