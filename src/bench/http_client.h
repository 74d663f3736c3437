// SPDX-License-Identifier: Apache-2.0
// Hundreds of HTTP/1.1 requests to one server at once, on the caller's thread: connections are kept
// alive and used again, and everything that arrives is stamped the moment it was read. Asio stays
// behind this header.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "bench/bench_clock.h"
#include "bench/http_response.h"
#include "bench/url.h"

namespace ingot {

using HttpFields = std::vector<std::pair<std::string, std::string>>;

struct HttpCall {
  std::string method = "GET";
  std::string target = {};
  HttpFields headers = {};
  std::string body = {};
};

// Hears of one request, from within HttpClient::run().
class HttpListener {
 public:
  virtual ~HttpListener() = default;
  virtual void on_head(const HttpResponseHead& head, BenchClock::time_point time) = 0;
  virtual void on_body(std::string_view bytes, BenchClock::time_point time) = 0;
  // Once, and last: ok when the response came whole, whatever its status. May send the next.
  virtual void on_end(const Status& status, BenchClock::time_point time) = 0;
};

struct HttpClientOptions {
  double timeout_seconds = 600;  // of a request, from being sent to its last byte
  bool is_insecure = false;      // accepts any certificate
  HttpFields headers = {};       // of all requests
  // Asked ten times a second while run() works; true ends everything as cancelled. May be empty.
  std::function<bool()> should_stop = {};
};

// A whole answer, for what is asked before and between measurements.
struct HttpReply {
  HttpResponseHead head = {};
  std::string body = {};
};

// Single thread.
class HttpClient {
 public:
  // Looks the host up; connects to nothing yet.
  static Result<std::unique_ptr<HttpClient>> create(const Url& url, HttpClientOptions options);
  ~HttpClient();

  // When it was sent: everything that follows, connecting included, is the server's time.
  BenchClock::time_point send(const HttpCall& call, std::shared_ptr<HttpListener> listener);
  void at(BenchClock::time_point time, std::function<void()> action);
  // Until every request has ended and every action is done. After cancel() it returns soon.
  void run();
  // Every request ends as kCancelled, every action that waits is forgotten.
  void cancel();
  bool was_stopped() const;  // by should_stop

  // send() and run() for one request.
  Result<HttpReply> fetch(const HttpCall& call);

  class State;
  explicit HttpClient(std::unique_ptr<State> state);

 private:
  std::unique_ptr<State> state_;
};

}  // namespace ingot
