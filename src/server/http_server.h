// SPDX-License-Identifier: Apache-2.0
// Listens, accepts, and runs all connections on one thread, the I/O thread, which does nothing
// else: whatever takes time is done by workers or by the engine. So health is answered whatever
// happens.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "server/http_limits.h"
#include "server/http_service.h"

namespace ingot {

struct ListenOptions {
  std::string host = "127.0.0.1";
  int port = 8080;                       // 0: any free one
  std::string unix_socket;               // instead of host and port
  std::string tls_certificate, tls_key;  // PEM files; empty: no TLS
  int workers = 0;                       // 0: as many as the processor has, at most 4
};

// run() and its callbacks on one thread; stop() and drain() from any.
class HttpServer {
 public:
  // Binds; the message says what is in the way and what to do.
  static Result<std::unique_ptr<HttpServer>> listen(const ListenOptions& options,
                                                    const HttpLimits& limits, HttpService& service);
  ~HttpServer();

  // Serves until stopped. `on_signal` hears SIGINT, SIGTERM and SIGHUP on this thread; it may be
  // empty, and signals then keep their meaning.
  void run(std::function<void(int signal)> on_signal);
  // Lets what runs finish, for `limit` at most; then tells those clients and stops.
  void drain(std::chrono::milliseconds limit);
  void stop();
  // Calls `tick` on the I/O thread again and again, until run() returns. Before run().
  void every(std::chrono::milliseconds period, std::function<void()> tick);

  std::string url() const;  // "http://127.0.0.1:8080", or "unix:PATH"
  int port() const;
  size_t connections() const;  // I/O thread only

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ingot
