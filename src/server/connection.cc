// SPDX-License-Identifier: Apache-2.0
#include "server/connection.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/asio/thread_pool.hpp>
#include <new>
#include <utility>

#include "server/http_head.h"

namespace ingot {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kReadBytes = size_t{8} * 1024;
constexpr size_t kMostUnread = size_t{64} * 1024;     // then the client has to wait
constexpr milliseconds kSlowWrite{100};               // then the sequence rests
constexpr milliseconds kLinger{1'000};                // for a refused client to read the reply
constexpr size_t kLingerBytes = size_t{1024} * 1024;  // of a refused body that are thrown away
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

struct Connection::Exchange {
  explicit Exchange(ConnectionHost& connection_host)
      : host(connection_host), parser(connection_host.limits) {}
  ~Exchange() { hold(0); }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // So many bytes of its body are in memory.
  void hold(size_t bytes) {
    host.bodies_bytes += bytes - held;
    held = bytes;
  }

  ConnectionHost& host;
  HttpParser parser;
  HttpRequest head;  // what is left when the request has been handed on: for logs and headers
  ExchangeRecord record;
  Clock::time_point start = Clock::now();
  bool keeps_alive = true;
  bool is_refused = false;  // and told so: no request for the service
  bool is_head_request = false;
  bool has_sent_head = false;
  bool is_chunked = false;
  size_t held = 0;
};

Connection::Connection(ConnectionHost& host, std::unique_ptr<ByteStream> stream,
                       const asio::any_io_executor& executor)
    : host_(host),
      stream_(std::move(stream)),
      executor_(executor),
      news_(executor),
      room_(executor),
      deadline_(executor,
                [this] {
                  is_late_ = true;
                  if (closes_late_) stream_->close();
                  news_.set();
                }),
      stall_(executor, [this] {
        if (source_ == nullptr || is_paused_) return;
        is_paused_ = true;
        source_->pause(true);
      }) {}

void Connection::drain() {
  is_draining_ = true;
  news_.set();
}

void Connection::interrupt() {
  is_interrupted_ = true;
  if (source_ != nullptr) source_->interrupt();
  news_.set();
}

void Connection::close() {
  stream_->close();
  has_ended_ = is_broken_ = true;
  news_.set();
  room_.set();
}

Task<void> Connection::run() {
  const auto self = shared_from_this();
  closes_late_ = true;
  deadline_.set(host_.limits.header_time);
  const bool is_agreed = co_await stream_->handshake();
  deadline_.clear();
  closes_late_ = false;
  if (is_agreed) {
    asio::co_spawn(
        executor_, [self]() { return self->receive(); }, asio::detached);
    bool is_first = true;
    while (co_await serve_one(is_first))
      is_first = false;
  }
  close();
}

// Reads all the time, also while a reply is made: that is how a leaving client is noticed.
Task<void> Connection::receive() {
  const auto self = shared_from_this();
  std::array<char, kReadBytes> buffer{};
  while (!has_ended_) {
    while (inbox_.size() >= kMostUnread && !has_ended_)
      co_await room_.wait();
    const std::ptrdiff_t bytes = co_await stream_->read_some(buffer);
    if (bytes > 0) {
      inbox_.append(buffer.data(), static_cast<size_t>(bytes));
    } else {
      has_ended_ = true;
      is_broken_ = is_broken_ || bytes < 0;
    }
    news_.set();
  }
  if (is_broken_) co_return;
  // It may still read; if it has gone altogether, our next bytes bring the news.
  co_await stream_->await_end();
  is_broken_ = true;
  news_.set();
}

Task<bool> Connection::await_first_byte(bool is_first) {
  deadline_.set(is_first ? host_.limits.header_time : host_.limits.keep_alive);
  is_late_ = false;
  while (inbox_.empty() && !has_ended_ && !is_late_ && !is_draining_)
    co_await news_.wait();
  deadline_.clear();
  co_return !inbox_.empty();
}

Task<bool> Connection::serve_one(bool is_first) {
  if (!co_await await_first_byte(is_first)) co_return false;
  is_answering_ = true;
  Exchange exchange(host_);
  bool goes_on = co_await read_head(exchange);
  if (goes_on && !exchange.is_refused) {
    HttpRequest& head = exchange.parser.request();
    std::unique_ptr<ReplySource> early = host_.service.check(head);
    exchange.head = {
        .method = head.method, .headers = head.headers, .id = head.id, .trace = head.trace};
    exchange.record.method = head.method;
    exchange.record.path = head.path;
    exchange.record.id = head.id;
    exchange.record.trace = head.trace;
    exchange.record.key_name = head.key_name;
    exchange.is_head_request = head.method == "HEAD";
    exchange.keeps_alive = exchange.parser.keeps_alive() && !is_draining_ && !host_.is_draining;
    if (early != nullptr) {
      // What is left of a refused body would be taken for the next request; a short one is here.
      if (!exchange.parser.is_done() && exchange.parser.push(inbox_)) exchange.keeps_alive = false;
      exchange.keeps_alive = exchange.keeps_alive && exchange.parser.is_done();
      goes_on = co_await respond(exchange, std::move(early));
    } else if ((goes_on = co_await read_body(exchange)) && !exchange.is_refused) {
      HttpRequest request = exchange.parser.take();
      exchange.record.bytes_in = request.body.size();
      HttpService& service = host_.service;
      std::unique_ptr<ReplySource> source;
      if (service.is_quick(request)) {
        source = service.handle(std::move(request));
      } else {
        source = co_await asio::co_spawn(
            host_.workers.get_executor(),
            [&service, &request]() -> Task<std::unique_ptr<ReplySource>> {
              co_return service.handle(std::move(request));
            },
            asio::use_awaitable);
      }
      exchange.hold(0);  // what is left of it belongs to the answer
      goes_on = co_await respond(exchange, std::move(source));
    }
  }
  exchange.record.time = Clock::now() - exchange.start;
  host_.service.finished(exchange.record);
  is_answering_ = false;
  if (goes_on && !exchange.keeps_alive) co_await linger();
  co_return goes_on&& exchange.keeps_alive && !is_draining_;
}

Task<bool> Connection::read_head(Exchange& exchange) {
  is_late_ = false;
  deadline_.set_at(exchange.start + host_.limits.header_time);
  for (;;) {
    if (const auto problem = exchange.parser.push(inbox_))
      co_return co_await refuse(exchange, *problem);
    room_.set();
    if (exchange.parser.has_head()) break;
    if (has_ended_ || is_interrupted_) co_return false;
    if (is_late_) {
      // Named: g++ 12 destroys a temporary in braces twice when it is part of a co_await.
      const HttpProblem late{408, "the head of the request took too long"};
      co_return co_await refuse(exchange, late);
    }
    co_await news_.wait();
  }
  deadline_.clear();
  co_return true;
}

Task<bool> Connection::read_body(Exchange& exchange) {
  if (exchange.parser.expects_continue() && !exchange.parser.is_done() && inbox_.empty()) {
    if (!co_await write(kContinue)) co_return false;
  }
  is_late_ = false;
  const auto start = Clock::now();
  for (;;) {
    if (const auto problem = exchange.parser.push(inbox_))
      co_return co_await refuse(exchange, *problem);
    room_.set();
    exchange.hold(exchange.parser.body_received());
    if (host_.bodies_bytes > host_.limits.all_bodies_bytes) {
      const HttpProblem crowd{429, "too many large requests at a time; try again in a moment"};
      co_return co_await refuse(exchange, crowd);
    }
    if (exchange.parser.is_done()) break;
    if (has_ended_ || is_interrupted_) co_return false;
    if (is_late_) {
      const HttpProblem late{408, "the body came too slowly"};
      co_return co_await refuse(exchange, late);
    }
    const auto earned = milliseconds(1000 * exchange.parser.body_received() /
                                     std::max<size_t>(host_.limits.body_bytes_per_second, 1));
    deadline_.set_at(start + host_.limits.body_grace + earned);
    co_await news_.wait();
  }
  deadline_.clear();
  co_return true;
}

Task<bool> Connection::refuse(Exchange& exchange, const HttpProblem& problem) {
  deadline_.clear();
  exchange.keeps_alive = false;
  exchange.is_refused = true;
  co_return co_await respond(exchange, host_.service.refuse(problem, exchange.record.path));
}

Task<std::optional<ReplyPart>> Connection::next_part(ReplySource& source) {
  if (source.is_light()) co_return source.next();
  co_return co_await asio::co_spawn(
      host_.workers.get_executor(),
      [&source]() -> Task<std::optional<ReplyPart>> { co_return source.next(); },
      asio::use_awaitable);
}

Task<bool> Connection::respond(Exchange& exchange, std::unique_ptr<ReplySource> source) {
  source_ = source.get();
  if (is_interrupted_) source->interrupt();
  source->notify([weak = weak_from_this(), executor = executor_] {
    asio::post(executor, [weak] {
      if (const auto self = weak.lock()) self->news_.set();
    });
  });
  bool is_sent = false;
  bool goes_on = true;
  while (goes_on && !is_sent) {
    std::optional<ReplyPart> part = co_await next_part(*source);
    if (part) {
      is_sent = part->is_last;
      goes_on = co_await send_part(exchange, *std::move(part));
    } else {
      goes_on = co_await await_news(exchange);
    }
  }
  exchange.record.report = source->report();
  source_ = nullptr;
  is_paused_ = false;
  if (!goes_on) {
    exchange.record.end =
        is_late_ && closes_late_ ? ExchangeRecord::End::kStalled : ExchangeRecord::End::kClientLeft;
  } else if (is_interrupted_) {
    exchange.record.end = ExchangeRecord::End::kInterrupted;
  }
  co_return goes_on;
}

Task<bool> Connection::await_news(Exchange& exchange) {
  co_await news_.wait();
  const bool may_probe = !exchange.has_sent_head && !exchange.parser.is_http10();
  if (has_ended_ && !is_broken_ && may_probe) co_await probe();
  co_return !is_broken_;
}

// The client sends no more. One that has gone altogether answers the next bytes with a reset, one
// that only closed its sending side reads on: an interim reply, which every client skips, tells.
// (Clients of HTTP/1.0 do not: they are taken for living.)
Task<void> Connection::probe() {
  static constexpr std::array kWaits = {2, 5, 10, 20, 40, 80};
  asio::steady_timer timer(executor_);
  bool has_asked = false;
  for (const int wait : kWaits) {
    is_broken_ = is_broken_ || stream_->is_broken();
    if (is_broken_) co_return;
    if (!std::exchange(has_asked, true) && !co_await write(kContinue)) co_return;
    timer.expires_after(milliseconds(wait));
    co_await timer.async_wait(kAwait);
  }
  is_broken_ = is_broken_ || stream_->is_broken();
}

Task<bool> Connection::send_part(Exchange& exchange, ReplyPart part) {
  std::string bytes;
  if (part.head) {
    exchange.record.status = part.head->status;
    exchange.has_sent_head = true;
    exchange.is_chunked = !part.is_last && !exchange.parser.is_http10();
    // A body without a length, for a client without chunks, ends with the connection.
    if (!part.is_last && !exchange.is_chunked) exchange.keeps_alive = false;
    exchange.record.bytes_out += part.bytes.size();
    bytes = head_text(exchange, *part.head,
                      part.is_last ? std::optional(part.bytes.size()) : std::nullopt);
    if (exchange.is_head_request) part.bytes.clear();
  } else {
    exchange.record.bytes_out += part.bytes.size();
  }
  if (exchange.is_chunked) {
    if (!part.bytes.empty())
      fmt::format_to(std::back_inserter(bytes), "{:x}\r\n{}\r\n", part.bytes.size(), part.bytes);
    if (part.is_last) bytes += "0\r\n\r\n";
  } else if (bytes.empty()) {
    bytes = std::move(part.bytes);
  } else {
    bytes += part.bytes;
  }
  co_return co_await write(bytes);
}

std::string Connection::head_text(const Exchange& exchange, const HttpHead& head,
                                  std::optional<size_t> length) const {
  HttpHeaders headers = head.headers;
  host_.service.decorate(exchange.head, headers);
  return format_head({.status = head.status,
                      .content_type = head.content_type,
                      .headers = headers,
                      .length = length,
                      .is_chunked = exchange.is_chunked,
                      .keeps_alive = exchange.keeps_alive});
}

Task<bool> Connection::write(std::string_view bytes) {
  while (!bytes.empty() && !is_broken_) {
    std::ptrdiff_t written = stream_->try_write(bytes);
    if (written == 0) {
      is_late_ = false;
      closes_late_ = true;
      deadline_.set(host_.limits.write_stall);
      stall_.set(kSlowWrite);
      written = co_await stream_->write_some(bytes);
      if (written > 0) {
        deadline_.clear();
        stall_.clear();
        closes_late_ = false;
      }
    }
    if (written < 0) is_broken_ = true;
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
  if (is_paused_ && source_ != nullptr && !is_broken_) {
    is_paused_ = false;
    source_->pause(false);
  }
  co_return !is_broken_;
}

// Closing with unread bytes would reset the connection, and the client would lose the reply.
Task<void> Connection::linger() {
  co_await stream_->finish_writing();
  is_late_ = false;
  deadline_.set(kLinger);
  size_t thrown_away = 0;
  while (!has_ended_ && !is_late_ && thrown_away < kLingerBytes) {
    thrown_away += inbox_.size();
    inbox_.clear();
    room_.set();
    co_await news_.wait();
  }
  deadline_.clear();
}

}  // namespace ingot
