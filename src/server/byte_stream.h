// SPDX-License-Identifier: Apache-2.0
// A connected socket, whatever it is made of: TCP, TLS over TCP, or a Unix socket. Connections are
// written against this, so that they are compiled once.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "server/asio.h"

namespace boost::asio::ssl {
class context;
}

namespace ingot {

// I/O thread only. At most one read and one write at a time.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // TLS agrees on its keys; others have nothing to do. False: the peer speaks something else.
  virtual Task<bool> handshake() = 0;
  // Bytes read; 0: the peer sends no more; below 0: the connection is broken.
  virtual Task<std::ptrdiff_t> read_some(std::span<char> out) = 0;
  // Bytes written, at least one; below 0: broken.
  virtual Task<std::ptrdiff_t> write_some(std::string_view bytes) = 0;
  // Without waiting: 0 when the peer has not read enough to take more. Sockets that cannot tell say
  // 0.
  virtual std::ptrdiff_t try_write(std::string_view bytes) = 0;
  // No more bytes from us; the peer still may send.
  virtual Task<void> finish_writing() = 0;
  // Ends everything at once; waiting reads and writes fail.
  virtual void close() = 0;
  // Returns when the peer has gone altogether, or we have closed; for after it sends no more.
  virtual Task<void> await_end() = 0;
  // Whether the peer has gone altogether, not merely stopped sending.
  virtual bool is_broken() const = 0;
};

std::unique_ptr<ByteStream> make_stream(asio::ip::tcp::socket socket, size_t send_buffer);
std::unique_ptr<ByteStream> make_stream(asio::local::stream_protocol::socket socket,
                                        size_t send_buffer);
std::unique_ptr<ByteStream> make_tls_stream(asio::ip::tcp::socket socket, size_t send_buffer,
                                            asio::ssl::context& context);

}  // namespace ingot
