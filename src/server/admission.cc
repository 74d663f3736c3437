// SPDX-License-Identifier: Apache-2.0
#include "server/admission.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ingot {
namespace {

constexpr int kLeastWait = 1, kMostWait = 60;  // seconds of Retry-After
constexpr double kSmoothing = 0.1;

}  // namespace

bool Admission::Permit::is_granted() const {
  const std::scoped_lock lock(admission_.mutex_);
  return is_granted_;
}

void Admission::Permit::notify(std::function<void()> wake) {
  {
    const std::scoped_lock lock(admission_.mutex_);
    if (!is_granted_) {
      wake_ = std::move(wake);
      return;
    }
  }
  if (wake) wake();
}

Admission::Admission(const AdmissionLimits& limits, const std::vector<KeyLimits>& keys)
    : limits_(limits) {
  for (const KeyLimits& key : keys) {
    lines_.push_back({.max_running = key.running > 0 ? key.running : limits.key_running,
                      .max_queued = key.queued > 0 ? key.queued : limits.key_queued,
                      .waiting = {}});
  }
  if (lines_.empty()) {
    lines_.push_back({.max_running = limits.running + limits.queued,
                      .max_queued = limits.running + limits.queued,
                      .waiting = {}});
  }
}

bool Admission::has_room(const Line& line) const {
  const auto in_line = line.running + static_cast<int64_t>(line.waiting.size());
  return running_ + queued_ < limits_.running + limits_.queued &&
         in_line < line.max_running + line.max_queued;
}

// The engine has a queue of its own, which knows about shared prefixes: what a line may run goes
// there at once.
bool Admission::may_start(const Line& line) const {
  return line.running < line.max_running;
}

std::unique_ptr<Admission::Permit> Admission::enter(std::optional<size_t> key) {
  const std::scoped_lock lock(mutex_);
  const size_t index = key.value_or(0);
  Line& line = lines_[index];
  if (!has_room(line)) return nullptr;
  std::unique_ptr<Permit> permit(new Permit(*this, index));
  if (line.waiting.empty() && may_start(line)) {
    permit->is_granted_ = true;
    ++line.running;
    ++running_;
  } else {
    line.waiting.push_back(permit.get());
    ++queued_;
  }
  return permit;
}

void Admission::leave(Permit& permit) {
  std::vector<std::function<void()>> woken;
  {
    const std::scoped_lock lock(mutex_);
    Line& line = lines_[permit.line_];
    if (permit.is_granted_) {
      --line.running;
      --running_;
      note_leaving();
    } else {
      std::erase(line.waiting, &permit);
      --queued_;
    }
    woken = grant_waiting();
  }
  for (const auto& wake : woken)
    wake();
}

std::vector<std::function<void()>> Admission::grant_waiting() {
  std::vector<std::function<void()>> woken;
  for (size_t i = 0; i < lines_.size() && queued_ > 0; ++i) {
    Line& line = lines_[(next_line_ + i) % lines_.size()];
    while (!line.waiting.empty() && may_start(line)) {
      Permit* const permit = line.waiting.front();
      line.waiting.pop_front();
      permit->is_granted_ = true;
      ++line.running;
      ++running_;
      --queued_;
      if (permit->wake_) woken.push_back(std::exchange(permit->wake_, {}));
    }
  }
  next_line_ = (next_line_ + 1) % lines_.size();
  return woken;
}

void Admission::note_leaving() {
  const auto now = std::chrono::steady_clock::now();
  const double gap = std::chrono::duration<double>(now - last_leave_).count();
  last_leave_ = now;
  const double rate = 1 / std::max(gap, 1e-3);
  leaving_rate_ = leaving_rate_ == 0 ? rate : (1 - kSmoothing) * leaving_rate_ + kSmoothing * rate;
}

bool Admission::is_full(std::optional<size_t> key) const {
  const std::scoped_lock lock(mutex_);
  if (!key) return running_ + queued_ >= limits_.running + limits_.queued;
  return !has_room(lines_[*key]);
}

int Admission::retry_after() const {
  const std::scoped_lock lock(mutex_);
  // About half of what waits has to leave before it is worth another try.
  const double work = static_cast<double>(queued_ + running_) / 2;
  const double seconds = leaving_rate_ > 0 ? work / leaving_rate_ : kLeastWait;
  return std::clamp(static_cast<int>(std::ceil(seconds)), kLeastWait, kMostWait);
}

int64_t Admission::running() const {
  const std::scoped_lock lock(mutex_);
  return running_;
}

int64_t Admission::queued() const {
  const std::scoped_lock lock(mutex_);
  return queued_;
}

}  // namespace ingot
