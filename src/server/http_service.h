// SPDX-License-Identifier: Apache-2.0
// What connections ask when a request has come: the seam between the wire and what is served.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/http_message.h"
#include "server/http_parser.h"
#include "server/reply_source.h"
#include "server/request_report.h"

namespace ingot {

// One request and how it ended, for logs and metrics.
struct ExchangeRecord {
  enum class End : uint8_t { kDone, kClientLeft, kStalled, kInterrupted };
  std::string method = {};
  std::string path = {};
  std::string id = {};
  TraceContext trace = {};
  std::string key_name = {};
  int status = 0;  // 0: nothing was sent
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  std::chrono::steady_clock::duration time{};
  End end = End::kDone;
  std::optional<RequestReport> report = {};  // of a request for text
};

// check(), is_quick(), decorate() and finished() are called on the I/O thread and must be short.
class HttpService {
 public:
  virtual ~HttpService() = default;
  // Sees the head before any of the body is read and completes it (id, trace, key). A reply ends
  // the exchange here; null lets it go on.
  virtual std::unique_ptr<ReplySource> check(HttpRequest& head) = 0;
  // Whether handle() is as quick as check(), so that it needs no other thread.
  virtual bool is_quick(const HttpRequest& request) const = 0;
  // Any thread, several at a time.
  virtual std::unique_ptr<ReplySource> handle(HttpRequest request) = 0;
  // The reply to bytes that are no request; `path` is empty where it is not known.
  virtual std::unique_ptr<ReplySource> refuse(const HttpProblem& problem,
                                              std::string_view path) = 0;
  // Headers that every reply to this request carries.
  virtual void decorate(const HttpRequest& request, HttpHeaders& headers) const = 0;
  virtual void finished(const ExchangeRecord& record) = 0;
};

}  // namespace ingot
