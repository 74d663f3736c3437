// SPDX-License-Identifier: Apache-2.0
// Bytes from a stranger become an HttpRequest: HTTP/1.1 as the standard's strict form has it. What
// proxies disagree about (two lengths, folded lines, bare line feeds) is refused, so that nobody
// can smuggle a request. Knows no sockets.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/http_limits.h"
#include "server/http_message.h"

namespace ingot {

// Why a request was refused; the connection closes after the reply.
struct HttpProblem {
  int status = 400;
  std::string message = {};
};

// One request at a time. Single thread.
class HttpParser {
 public:
  explicit HttpParser(const HttpLimits& limits);
  ~HttpParser();
  HttpParser(const HttpParser&) = delete;
  HttpParser& operator=(const HttpParser&) = delete;

  // Takes what it can from the front of `input` and removes it. Bytes of a head stay until it is
  // whole. Returns when it needs more, when the head has just been completed, or when all is there.
  std::optional<HttpProblem> push(std::string& input);

  bool has_head() const { return has_head_; }
  bool is_done() const;
  // With the body so far; valid once has_head().
  HttpRequest& request() { return request_; }
  // Moves the body into the request; once is_done().
  HttpRequest take();

  bool keeps_alive() const { return keeps_alive_; }
  bool is_http10() const { return is_http10_; }
  bool expects_continue() const { return expects_continue_; }
  size_t body_received() const;

 private:
  std::optional<HttpProblem> read_head(std::string& input);
  std::optional<HttpProblem> read_body(std::string& input);
  std::optional<HttpProblem> copy_head();

  struct Impl;  // Beast's parser
  const HttpLimits limits_;
  std::unique_ptr<Impl> impl_;
  size_t scanned_ = 0;  // bytes of the head already searched for its end
  bool has_head_ = false;
  bool keeps_alive_ = false;
  bool is_http10_ = false;
  bool expects_continue_ = false;
  HttpRequest request_;
};

}  // namespace ingot
