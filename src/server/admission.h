// SPDX-License-Identifier: Apache-2.0
// How much work may be in the house: a bounded number of requests in all and for each key. Above
// its share a key's requests wait in its own line, so one that floods delays only itself; above the
// bound they are refused at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace ingot {

struct AdmissionLimits {
  int64_t running = 64;     // that the engine takes at a time; the queue comes on top
  int64_t queued = 128;     // waiting, of all keys
  int64_t key_running = 8;  // of one key
  int64_t key_queued = 16;  // of one key
  bool has_keys = false;    // without keys there is one line with the bounds of all
};

// Thread-safe.
class Admission {
 public:
  // A request's place in the house; destroying it leaves. Outlived by the Admission.
  class Permit {
   public:
    ~Permit() { admission_.leave(*this); }
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;
    // Whether its turn has come.
    bool is_granted() const;
    // `wake` is called, once, when it has: maybe at once, from any thread.
    void notify(std::function<void()> wake);

   private:
    friend class Admission;
    Permit(Admission& admission, size_t line) : admission_(admission), line_(line) {}
    Admission& admission_;
    const size_t line_;
    bool is_granted_ = false;     // under the admission's mutex
    std::function<void()> wake_;  // under the admission's mutex
  };

  // One line for each key, or one in all. `running` and `queued` of a key replace the defaults
  // where they are not 0.
  struct KeyLimits {
    int64_t running = 0;
    int64_t queued = 0;
  };
  Admission(const AdmissionLimits& limits, const std::vector<KeyLimits>& keys);

  // Null when there is no room. `key` is an index into the keys; none without keys.
  std::unique_ptr<Permit> enter(std::optional<size_t> key);
  // Without a key: whether there is no room for anybody.
  bool is_full(std::optional<size_t> key) const;
  // Seconds after which another try may succeed: from how fast requests have left lately.
  int retry_after() const;

  int64_t running() const;
  int64_t queued() const;

 private:
  struct Line {
    int64_t max_running = 0;
    int64_t max_queued = 0;
    int64_t running = 0;
    std::deque<Permit*> waiting;
  };
  bool has_room(const Line& line) const;
  bool may_start(const Line& line) const;
  void leave(Permit& permit);
  // Grants what may start now; returns whom to wake, outside of the mutex.
  std::vector<std::function<void()>> grant_waiting();
  void note_leaving();

  const AdmissionLimits limits_;
  mutable std::mutex mutex_;
  std::vector<Line> lines_;
  size_t next_line_ = 0;  // lines take turns
  int64_t running_ = 0;
  int64_t queued_ = 0;
  double leaving_rate_ = 0;  // a second, smoothed
  std::chrono::steady_clock::time_point last_leave_;
};

}  // namespace ingot
