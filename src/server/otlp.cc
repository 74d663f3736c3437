// SPDX-License-Identifier: Apache-2.0
#include "server/otlp.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/log.h"
#include "server/otlp_json.h"

namespace ingot {
namespace {

using Clock = std::chrono::steady_clock;

// What OTLP calls retryable; everything else would be refused again.
bool is_worth_another_try(int status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

}  // namespace

Result<std::unique_ptr<OtlpExporter>> OtlpExporter::start(OtlpOptions options) {
  INGOT_TRY(HttpEndpoint endpoint, parse_endpoint(options.url, "--otlp-traces-endpoint"));
  if (endpoint.target == "/") endpoint.target = "/v1/traces";
  return std::unique_ptr<OtlpExporter>(new OtlpExporter(std::move(options), std::move(endpoint)));
}

OtlpExporter::OtlpExporter(OtlpOptions options, HttpEndpoint endpoint)
    : options_(std::move(options)),
      endpoint_(std::move(endpoint)),
      last_end_(Clock::time_point::max()),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

OtlpExporter::~OtlpExporter() = default;

void OtlpExporter::take(Span span) {
  {
    const std::scoped_lock lock(mutex_);
    if (queue_.size() >= options_.queue) {
      ++dropped_;
      return;
    }
    queue_.push_back(std::move(span));
    if (queue_.size() < options_.batch) return;  // it is found when the period is over
  }
  news_.notify_one();
}

std::vector<Span> OtlpExporter::next_batch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  news_.wait_for(lock, stop, options_.period, [&] { return queue_.size() >= options_.batch; });
  const auto size = static_cast<std::ptrdiff_t>(std::min(queue_.size(), options_.batch));
  std::vector<Span> spans(std::move_iterator(queue_.begin()),
                          std::move_iterator(queue_.begin() + size));
  queue_.erase(queue_.begin(), queue_.begin() + size);
  return spans;
}

void OtlpExporter::run(const std::stop_token& stop) {
  for (;;) {
    const std::vector<Span> spans = next_batch(stop);
    if (!spans.empty()) send(spans, stop);
    if (!stop.stop_requested()) continue;
    if (spans.empty() || Clock::now() > last_end_) break;
  }
  const std::scoped_lock lock(mutex_);
  dropped_ += static_cast<int64_t>(queue_.size());
}

void OtlpExporter::send(const std::vector<Span>& spans, const std::stop_token& stop) {
  const std::string body = otlp_json(spans, options_.version);
  std::mt19937 random(std::random_device{}());
  auto wait = options_.first_wait;
  Outcome outcome = Outcome::kTryAgain;
  for (int i = 0; i < options_.tries; ++i) {
    // A try that runs when we are told to stop ends; then comes one more, a short one.
    const bool is_last = stop.stop_requested();
    outcome = try_once(body, is_last ? std::stop_token() : stop);
    if (outcome != Outcome::kTryAgain || is_last) break;
    // Servers that fail together must not come back together.
    const std::chrono::milliseconds jitter(random() % static_cast<uint64_t>(wait.count() / 2 + 1));
    std::unique_lock lock(mutex_);
    news_.wait_for(lock, stop, wait / 2 + jitter, [] { return false; });
    wait = std::min(wait * 2, options_.longest_wait);
  }
  const auto count = static_cast<int64_t>(spans.size());
  (outcome == Outcome::kDone ? exported_ : dropped_) += count;
}

OtlpExporter::Outcome OtlpExporter::try_once(const std::string& body, const std::stop_token& stop) {
  const auto now = Clock::now();
  // Without a stop token we have been told to stop already.
  if (!stop.stop_possible() && last_end_ == Clock::time_point::max())
    last_end_ = now + options_.time_at_the_end;
  const Result<int> status = http_post({endpoint_, "application/json", body},
                                       std::min(now + options_.timeout, last_end_), stop);
  if (!status.is_ok()) {
    if (status.status().code() != StatusCode::kCancelled) complain(status.status().message());
    return Outcome::kTryAgain;
  }
  if (*status >= 200 && *status < 300) {
    has_complained_ = false;
    return Outcome::kDone;
  }
  complain(fmt::format("it answers with status {}", *status));
  return is_worth_another_try(*status) ? Outcome::kTryAgain : Outcome::kRefused;
}

// Once until it works again: a collector that is away must not fill the log.
void OtlpExporter::complain(const std::string& why) {
  if (std::exchange(has_complained_, true)) return;
  log_warning("traces cannot be sent to {}:{}: {}; they are kept for a while, then dropped",
              endpoint_.host, endpoint_.port, why);
}

}  // namespace ingot
