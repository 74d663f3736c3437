// SPDX-License-Identifier: Apache-2.0
#include "server/byte_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <cerrno>
#include <utility>

namespace ingot {
namespace {

using Error = boost::system::error_code;

std::ptrdiff_t outcome(const Error& error, size_t bytes, bool is_end) {
  if (is_end) return 0;
  return error ? -1 : static_cast<std::ptrdiff_t>(bytes);
}

bool is_fd_broken(int fd) {
  pollfd poll_fd{fd, 0, 0};
  return ::poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
}

template <class Socket>
void set_send_buffer(Socket& socket, size_t bytes) {
  Error ignored;
  socket.set_option(asio::socket_base::send_buffer_size(static_cast<int>(bytes)), ignored);
}

template <class Socket>
class PlainStream final : public ByteStream {
 public:
  explicit PlainStream(Socket socket) : socket_(std::move(socket)) {}

  Task<bool> handshake() override { co_return true; }

  Task<std::ptrdiff_t> read_some(std::span<char> out) override {
    const auto [error, bytes] =
        co_await socket_.async_read_some(asio::buffer(out.data(), out.size()), kAwait);
    co_return outcome(error, bytes, error == asio::error::eof);
  }

  Task<std::ptrdiff_t> write_some(std::string_view bytes) override {
    const auto [error, written] =
        co_await socket_.async_write_some(asio::buffer(bytes.data(), bytes.size()), kAwait);
    co_return outcome(error, written, false);
  }

  std::ptrdiff_t try_write(std::string_view bytes) override {
    const ssize_t written =
        ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (written >= 0) return written;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
  }

  Task<void> finish_writing() override {
    Error ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    co_return;
  }

  void close() override {
    Error ignored;
    socket_.close(ignored);
  }

  Task<void> await_end() override { co_await socket_.async_wait(Socket::wait_error, kAwait); }

  bool is_broken() const override {
    return !socket_.is_open() || is_fd_broken(const_cast<Socket&>(socket_).native_handle());
  }

 private:
  Socket socket_;
};

class TlsStream final : public ByteStream {
 public:
  TlsStream(asio::ip::tcp::socket socket, asio::ssl::context& context)
      : stream_(std::move(socket), context) {}

  Task<bool> handshake() override {
    const auto [error] = co_await stream_.async_handshake(asio::ssl::stream_base::server, kAwait);
    co_return !error;
  }

  Task<std::ptrdiff_t> read_some(std::span<char> out) override {
    const auto [error, bytes] =
        co_await stream_.async_read_some(asio::buffer(out.data(), out.size()), kAwait);
    // Many clients leave without TLS's goodbye; requests have lengths, so nothing can be cut off.
    co_return outcome(error, bytes,
                      error == asio::error::eof || error == asio::ssl::error::stream_truncated);
  }

  Task<std::ptrdiff_t> write_some(std::string_view bytes) override {
    const auto [error, written] =
        co_await stream_.async_write_some(asio::buffer(bytes.data(), bytes.size()), kAwait);
    co_return outcome(error, written, false);
  }

  std::ptrdiff_t try_write(std::string_view /*bytes*/) override { return 0; }

  Task<void> finish_writing() override {
    co_await stream_.async_shutdown(kAwait);
    Error ignored;
    stream_.next_layer().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  }

  void close() override {
    Error ignored;
    stream_.next_layer().close(ignored);
  }

  Task<void> await_end() override {
    co_await stream_.next_layer().async_wait(asio::ip::tcp::socket::wait_error, kAwait);
  }

  bool is_broken() const override {
    auto& socket = const_cast<asio::ip::tcp::socket&>(stream_.next_layer());
    return !socket.is_open() || is_fd_broken(socket.native_handle());
  }

 private:
  asio::ssl::stream<asio::ip::tcp::socket> stream_;
};

}  // namespace

std::unique_ptr<ByteStream> make_stream(asio::ip::tcp::socket socket, size_t send_buffer) {
  Error ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  set_send_buffer(socket, send_buffer);
  return std::make_unique<PlainStream<asio::ip::tcp::socket>>(std::move(socket));
}

std::unique_ptr<ByteStream> make_stream(asio::local::stream_protocol::socket socket,
                                        size_t send_buffer) {
  set_send_buffer(socket, send_buffer);
  return std::make_unique<PlainStream<asio::local::stream_protocol::socket>>(std::move(socket));
}

std::unique_ptr<ByteStream> make_tls_stream(asio::ip::tcp::socket socket, size_t send_buffer,
                                            asio::ssl::context& context) {
  Error ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  set_send_buffer(socket, send_buffer);
  return std::make_unique<TlsStream>(std::move(socket), context);
}

}  // namespace ingot
