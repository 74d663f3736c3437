// SPDX-License-Identifier: Apache-2.0
// One client: reads requests, asks the service, sends replies as their parts become ready, and
// notices at once when the client leaves. A client that reads slowly makes its own work rest.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/byte_stream.h"
#include "server/deadline.h"
#include "server/http_service.h"
#include "server/signal.h"

namespace boost::asio {
class thread_pool;
}

namespace ingot {

// What all connections of a server share; outlives them.
struct ConnectionHost {
  HttpService& service;
  HttpLimits limits;
  asio::thread_pool& workers;  // for requests that are not quick
  bool is_draining = false;    // replies ask clients to close
  size_t bodies_bytes = 0;     // of requests that are being read or parsed
};

// I/O thread only; held by its own coroutine until it ends.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(ConnectionHost& host, std::unique_ptr<ByteStream> stream,
             const asio::any_io_executor& executor);

  Task<void> run();
  // Closes now if it waits for a request, else after the reply.
  void drain();
  // What it is answering ends with an error.
  void interrupt();
  void close();
  bool is_answering() const { return is_answering_; }

 private:
  struct Exchange;

  Task<void> receive();
  Task<bool> serve_one(bool is_first);
  // False: there will be no request.
  Task<bool> await_first_byte(bool is_first);
  // Until the head or the whole request is there, or was refused. False: the client has gone.
  Task<bool> read_head(Exchange& exchange);
  Task<bool> read_body(Exchange& exchange);
  Task<bool> refuse(Exchange& exchange, const HttpProblem& problem);
  Task<bool> respond(Exchange& exchange, std::unique_ptr<ReplySource> source);
  Task<std::optional<ReplyPart>> next_part(ReplySource& source);
  Task<bool> send_part(Exchange& exchange, ReplyPart part);
  Task<bool> await_news(Exchange& exchange);
  Task<bool> write(std::string_view bytes);
  Task<void> probe();
  Task<void> linger();

  std::string head_text(const Exchange& exchange, const HttpHead& head,
                        std::optional<size_t> length) const;

  ConnectionHost& host_;
  std::unique_ptr<ByteStream> stream_;
  asio::any_io_executor executor_;
  Signal news_;  // bytes, the end of them, a source's wake, a deadline
  Signal room_;  // in the inbox
  Deadline deadline_;
  Deadline stall_;     // a write that takes long
  std::string inbox_;  // received, not yet taken
  ReplySource* source_ = nullptr;
  bool has_ended_ = false;    // the client sends no more
  bool is_broken_ = false;    // ... and reads no more
  bool is_late_ = false;      // deadline_ has passed
  bool closes_late_ = false;  // ... and then the connection closes: a write is waiting
  bool is_paused_ = false;
  bool is_answering_ = false;
  bool is_draining_ = false;
  bool is_interrupted_ = false;
};

}  // namespace ingot
