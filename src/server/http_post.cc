// SPDX-License-Identifier: Apache-2.0
#include "server/http_post.h"

#include <fcntl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace ingot {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kReplyBytes = size_t{16} << 10;  // of its head; the rest is of no interest
constexpr std::chrono::milliseconds kStopCheck{50};

// What an operation waits for.
struct Wait {
  Clock::time_point deadline;
  const std::stop_token& stop;

  Status until(int descriptor, short events) const {
    for (;;) {
      if (stop.stop_requested()) return Status::cancelled("the server stops");
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      if (left.count() <= 0) return Status::io("no answer in time");
      pollfd poll{.fd = descriptor, .events = events, .revents = 0};
      const int ready = ::poll(&poll, 1, static_cast<int>(std::min(left, kStopCheck).count()));
      if (ready > 0) return Status::ok();
      if (ready < 0 && errno != EINTR) return Status::io("{}", std::strerror(errno));
    }
  }
};

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

Result<Socket> connect_to(const addrinfo& address, const Wait& wait) {
  Socket socket(::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                         address.ai_protocol));
  if (socket.get() < 0) return Status::io("{}", std::strerror(errno));
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0 && errno != EINPROGRESS)
    return Status::io("{}", std::strerror(errno));
  INGOT_TRY(wait.until(socket.get(), POLLOUT));
  int problem = 0;
  socklen_t size = sizeof(problem);
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &problem, &size);
  if (problem != 0) return Status::io("{}", std::strerror(problem));
  return socket;
}

Result<Socket> connect_to(const HttpEndpoint& endpoint, const Wait& wait) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int problem = ::getaddrinfo(endpoint.host.c_str(), endpoint.port.c_str(), &hints, &found);
  if (problem != 0) return Status::io("{}", ::gai_strerror(problem));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  Status status = Status::io("no address");
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    Result<Socket> socket = connect_to(*address, wait);
    if (socket.is_ok()) return socket;
    status = socket.status();
  }
  return status;
}

// Bytes over a connected socket, plain or with TLS.
class Wire {
 public:
  Wire(Socket socket, const Wait& wait) : socket_(std::move(socket)), wait_(wait) {}

  Status start_tls(const std::string& host) {
    context_.reset(::SSL_CTX_new(::TLS_client_method()));
    if (context_ == nullptr || ::SSL_CTX_set_default_verify_paths(context_.get()) != 1)
      return Status::internal("TLS is not to be had");
    ::SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    ::SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    tls_.reset(::SSL_new(context_.get()));
    if (tls_ == nullptr) return Status::internal("TLS is not to be had");
    ::SSL_set_fd(tls_.get(), socket_.get());
    // A certificate for an address names it as such; for a name, by name.
    if (::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(tls_.get()), host.c_str()) != 1) {
      ::SSL_set1_host(tls_.get(), host.c_str());
      ::SSL_set_tlsext_host_name(tls_.get(), host.c_str());
    }
    return repeat([&] { return ::SSL_connect(tls_.get()); }).status();
  }

  Status write(std::string_view bytes) {
    while (!bytes.empty()) {
      INGOT_TRY(const size_t written, write_some(bytes));
      bytes.remove_prefix(written);
    }
    return Status::ok();
  }

  // 0 at the end.
  Result<size_t> read(std::span<char> out) {
    if (tls_ == nullptr) {
      INGOT_TRY(wait_.until(socket_.get(), POLLIN));
      const ssize_t size = ::recv(socket_.get(), out.data(), out.size(), 0);
      if (size < 0) return Status::io("{}", std::strerror(errno));
      return static_cast<size_t>(size);
    }
    return repeat([&] { return ::SSL_read(tls_.get(), out.data(), static_cast<int>(out.size())); });
  }

 private:
  Result<size_t> write_some(std::string_view bytes) {
    constexpr size_t kMost = 1 << 20;
    const size_t size = std::min(bytes.size(), kMost);
    if (tls_ == nullptr) {
      INGOT_TRY(wait_.until(socket_.get(), POLLOUT));
      const ssize_t written = ::send(socket_.get(), bytes.data(), size, MSG_NOSIGNAL);
      if (written < 0) return Status::io("{}", std::strerror(errno));
      return static_cast<size_t>(written);
    }
    return repeat([&] { return ::SSL_write(tls_.get(), bytes.data(), static_cast<int>(size)); });
  }

  // TLS may have to read before it can write, and the other way round.
  template <class Operation>
  Result<size_t> repeat(const Operation& operation) {
    for (;;) {
      ::ERR_clear_error();
      const int done = operation();
      if (done > 0) return static_cast<size_t>(done);
      switch (::SSL_get_error(tls_.get(), done)) {
        case SSL_ERROR_WANT_READ: {
          INGOT_TRY(wait_.until(socket_.get(), POLLIN));
          break;
        }
        case SSL_ERROR_WANT_WRITE: {
          INGOT_TRY(wait_.until(socket_.get(), POLLOUT));
          break;
        }
        case SSL_ERROR_ZERO_RETURN:
          return size_t{0};
        default: {
          const long verified = ::SSL_get_verify_result(tls_.get());
          if (verified != X509_V_OK)
            return Status::io("its certificate is not good: {}",
                              ::X509_verify_cert_error_string(verified));
          return Status::io("TLS failed");
        }
      }
    }
  }

  Socket socket_;
  const Wait& wait_;
  std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context_{nullptr, &::SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&::SSL_free)> tls_{nullptr, &::SSL_free};
};

std::string request_text(const HttpPost& post) {
  const HttpEndpoint& endpoint = post.endpoint;
  const bool is_v6 = endpoint.host.find(':') != std::string::npos;
  return fmt::format(
      "POST {} HTTP/1.1\r\nhost: {}{}{}:{}\r\nuser-agent: ingot\r\ncontent-type: {}\r\n"
      "content-length: {}\r\nconnection: close\r\n\r\n{}",
      endpoint.target, is_v6 ? "[" : "", endpoint.host, is_v6 ? "]" : "", endpoint.port,
      post.content_type, post.body.size(), post.body);
}

// "HTTP/1.1 200 ..." once it has come.
Result<int> read_status(Wire& wire) {
  std::string reply;
  std::array<char, 1024> buffer{};
  while (reply.find("\r\n\r\n") == std::string::npos && reply.size() < kReplyBytes) {
    INGOT_TRY(const size_t size, wire.read(buffer));
    if (size == 0) break;
    reply.append(buffer.data(), size);
  }
  constexpr size_t kStatusAt = 9;  // after "HTTP/1.1 "
  int status = 0;
  if (!reply.starts_with("HTTP/1.") || reply.size() < kStatusAt + 3 ||
      std::from_chars(&reply[kStatusAt], &reply[kStatusAt + 3], status).ec != std::errc())
    return Status::io("its answer is no HTTP");
  return status;
}

}  // namespace

Result<HttpEndpoint> parse_endpoint(std::string_view url, std::string_view field) {
  const auto fail = [&] {
    return Status::invalid_argument(
        "{} must be a URL such as http://localhost:4318/v1/traces, without user and password",
        field);
  };
  HttpEndpoint endpoint;
  if (url.starts_with("https://")) {
    endpoint.is_tls = true;
  } else if (!url.starts_with("http://")) {
    return fail();
  }
  url.remove_prefix(endpoint.is_tls ? 8 : 7);
  const bool is_clean =
      std::ranges::all_of(url, [](char c) { return c > 0x20 && c < 0x7F && c != '#'; });
  std::string_view authority = url.substr(0, url.find_first_of("/?"));
  endpoint.target = url.substr(authority.size());
  if (!is_clean || authority.find('@') != std::string_view::npos) return fail();
  if (!endpoint.target.starts_with('/')) endpoint.target.insert(0, "/");
  endpoint.port = endpoint.is_tls ? "443" : "80";
  const size_t bracket = authority.find(']');
  const size_t colon = authority.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
    const std::string_view port = authority.substr(colon + 1);
    int number = 0;
    const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (problem != std::errc() || end != port.data() + port.size() || number < 1 || number > 65535)
      return fail();
    endpoint.port = port;
    authority = authority.substr(0, colon);
  }
  if (authority.starts_with('[') && authority.ends_with(']'))
    authority = authority.substr(1, authority.size() - 2);
  if (authority.empty()) return fail();
  endpoint.host = authority;
  return endpoint;
}

Result<int> http_post(const HttpPost& post, std::chrono::steady_clock::time_point deadline,
                      const std::stop_token& stop) {
  const Wait wait{deadline, stop};
  INGOT_TRY(Socket socket, connect_to(post.endpoint, wait));
  Wire wire(std::move(socket), wait);
  if (post.endpoint.is_tls) {
    INGOT_TRY(wire.start_tls(post.endpoint.host));
  }
  INGOT_TRY(wire.write(request_text(post)));
  return read_status(wire);
}

}  // namespace ingot
