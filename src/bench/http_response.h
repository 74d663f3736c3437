// SPDX-License-Identifier: Apache-2.0
// An HTTP/1.1 response out of bytes that may be cut anywhere: head, then the body without its
// chunks. Knows no sockets; the client feeds it what arrives.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace ingot {

struct HttpResponseHead {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers = {};  // names in lower case

  // The first of this (lower-case) name; empty where there is none.
  std::string_view header(std::string_view name) const;
  bool is_success() const { return status >= 200 && status < 300; }
};

// Single thread. After an error or the end only a new one helps.
class HttpResponseParser {
 public:
  struct Handler {
    std::function<void(const HttpResponseHead&)> on_head;
    std::function<void(std::string_view)> on_body;
  };
  // Takes what belongs to this response; bytes after its end are an error, as nothing was asked.
  Status push(std::string_view bytes, const Handler& handler);
  // The connection was closed. An error unless that ends the response.
  Status finish();

  bool has_begun() const { return has_begun_; }
  bool is_done() const { return state_ == State::kDone; }
  // Whether the connection can carry another request.
  bool keeps_alive() const { return is_done() && keeps_alive_; }

 private:
  enum class State : uint8_t {
    kHead,
    kSized,       // left_ bytes of body
    kUntilClose,  // neither size nor chunks
    kChunkSize,
    kChunk,  // left_ bytes of it
    kChunkEnd,
    kTrailer,
    kDone,
  };
  // A line without its end; nothing while it is not whole.
  Result<bool> take_line(std::string_view& bytes);
  Status take_head_line(const Handler& handler);
  Status begin_body(const Handler& handler);
  Status take_chunk_size();

  State state_ = State::kHead;
  bool has_begun_ = false;
  bool keeps_alive_ = true;
  HttpResponseHead head_;
  std::string line_;
  size_t head_bytes_ = 0;
  uint64_t left_ = 0;
};

}  // namespace ingot
