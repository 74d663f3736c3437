// SPDX-License-Identifier: Apache-2.0
// A bar on standard error for work that takes longer than a blink. Draws only on a terminal, only
// after 0.3 s, at most twenty times a second, and wipes itself when done.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace ingot {

// "Loading [#####.....]  50%  3 s left": at most `columns` wide.
std::string render_bar(std::string_view label, double fraction, double elapsed_seconds,
                       int columns);
// "3 s", "2 min 5 s", "1 h 2 min".
std::string format_duration(double seconds);

// Single thread.
class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar() { finish(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(double fraction);  // from 0 to 1
  void set_label(std::string label) { label_ = std::move(label); }
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  bool is_shown_ = false;
  bool can_draw_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_draw_ = start_;
};

}  // namespace ingot
