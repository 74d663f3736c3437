// SPDX-License-Identifier: Apache-2.0
#include "server/http_server.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <csignal>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "server/connection.h"

namespace ingot {
namespace {

using Error = boost::system::error_code;
using std::chrono::milliseconds;
using Tcp = asio::ip::tcp;
using Local = asio::local::stream_protocol;

constexpr milliseconds kAcceptPause{100};     // when there are no more file descriptors
constexpr milliseconds kDrainCheck{20};       // how often we look whether all is done
constexpr milliseconds kInterruptTime{2000};  // for error events to reach their clients

Status listen_problem(const ListenOptions& options, const Error& error) {
  if (!options.unix_socket.empty())
    return Status::io("cannot listen on {}: {}", options.unix_socket, error.message());
  if (error == asio::error::address_in_use) {
    return Status::io("port {} of {} is in use; choose another with --port", options.port,
                      options.host);
  }
  return Status::io("cannot listen on {}:{}: {}", options.host, options.port, error.message());
}

// A socket file that a killed server left behind is in the way; a living one must not be taken
// away.
Status remove_stale_socket(asio::io_context& io, const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return Status::ok();
  if (!S_ISSOCK(info.st_mode))
    return Status::invalid_argument("{} exists and is no socket; choose another path", path);
  Local::socket probe(io);
  Error error;
  probe.connect(Local::endpoint(path), error);
  if (!error) return Status::io("another server listens on {}", path);
  ::unlink(path.c_str());
  return Status::ok();
}

}  // namespace

struct HttpServer::Impl {
  Impl(const ListenOptions& listen_options, const HttpLimits& limits, HttpService& service)
      : options(listen_options),
        workers(static_cast<size_t>(
            options.workers > 0
                ? options.workers
                : std::clamp<int>(static_cast<int>(std::thread::hardware_concurrency()), 1, 4))),
        host{.service = service, .limits = limits, .workers = workers},
        drain_timer(io) {}

  Status bind_tcp();
  Status bind_unix();
  Status load_tls();
  template <class Acceptor>
  Task<void> accept_all(Acceptor& acceptor);
  void start(std::unique_ptr<ByteStream> stream);
  void begin_drain(milliseconds limit);
  void check_drain();
  Task<void> tick_all(milliseconds period, std::function<void()> tick);

  ListenOptions options;
  asio::io_context io{1};
  asio::thread_pool workers;
  ConnectionHost host;
  std::vector<Tcp::acceptor> tcp;
  std::optional<Local::acceptor> unix_acceptor;
  std::optional<asio::ssl::context> tls;
  std::unordered_map<Connection*, std::weak_ptr<Connection>> connections;
  asio::steady_timer drain_timer;
  std::optional<std::chrono::steady_clock::time_point> drain_end;
  bool is_interrupting = false;
};

Status HttpServer::Impl::bind_tcp() {
  Error error;
  Tcp::resolver resolver(io);
  const auto found =
      resolver.resolve(options.host, std::to_string(options.port), Tcp::resolver::passive, error);
  if (error) {
    return Status::invalid_argument("{} is no address of this machine: {}", options.host,
                                    error.message());
  }
  for (const auto& entry : found) {
    Tcp::acceptor acceptor(io);
    Tcp::endpoint endpoint = entry.endpoint();
    if (!tcp.empty()) endpoint.port(tcp.front().local_endpoint().port());
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (!error && endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (!error) {
      tcp.push_back(std::move(acceptor));
    } else if (tcp.empty() && error != asio::error::address_family_not_supported) {
      return listen_problem(options, error);
    }
  }
  return tcp.empty() ? listen_problem(options, error) : Status::ok();
}

Status HttpServer::Impl::bind_unix() {
  if (options.unix_socket.size() >= sizeof(sockaddr_un::sun_path)) {
    return Status::invalid_argument("the path {} is too long for a socket: {} bytes at most",
                                    options.unix_socket, sizeof(sockaddr_un::sun_path) - 1);
  }
  INGOT_TRY(remove_stale_socket(io, options.unix_socket));
  Error error;
  unix_acceptor.emplace(io);
  unix_acceptor->open(Local(), error);
  // Only this user may connect, until the operator says otherwise with chmod.
  const mode_t old_mask = ::umask(0177);
  if (!error) unix_acceptor->bind(Local::endpoint(options.unix_socket), error);
  ::umask(old_mask);
  if (!error) unix_acceptor->listen(asio::socket_base::max_listen_connections, error);
  return error ? listen_problem(options, error) : Status::ok();
}

Status HttpServer::Impl::load_tls() {
  if (options.tls_certificate.empty() != options.tls_key.empty())
    return Status::invalid_argument("TLS needs both --ssl-certfile and --ssl-keyfile");
  if (options.tls_certificate.empty()) return Status::ok();
  Error error;
  tls.emplace(asio::ssl::context::tls_server);
  tls->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                       asio::ssl::context::no_tlsv1_1,
                   error);
  if (!error) tls->use_certificate_chain_file(options.tls_certificate, error);
  if (error)
    return Status::invalid_argument("{}: no certificate: {}", options.tls_certificate,
                                    error.message());
  tls->use_private_key_file(options.tls_key, asio::ssl::context::pem, error);
  if (error) {
    return Status::invalid_argument("{}: not the certificate's key: {}", options.tls_key,
                                    error.message());
  }
  return Status::ok();
}

void HttpServer::Impl::start(std::unique_ptr<ByteStream> stream) {
  auto connection = std::make_shared<Connection>(host, std::move(stream), io.get_executor());
  Connection* const key = connection.get();
  connections.emplace(key, connection);
  asio::co_spawn(
      io, [connection]() { return connection->run(); },
      [this, key](const std::exception_ptr& problem) {
        // Out of memory in the middle of a request ends that connection, not the server.
        if (problem) {
          if (const auto broken = connections[key].lock()) broken->close();
        }
        connections.erase(key);
      });
}

template <class Acceptor>
Task<void> HttpServer::Impl::accept_all(Acceptor& acceptor) {
  asio::steady_timer pause(io);
  while (acceptor.is_open()) {
    auto [error, socket] = co_await acceptor.async_accept(kAwait);
    if (error == asio::error::operation_aborted) co_return;
    if (error) {  // no more file descriptors
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(kAwait);
      continue;
    }
    // Too many already: this one and the backlog are served when others have left.
    while (connections.size() >= host.limits.connections) {
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(kAwait);
    }
    const size_t buffer = host.limits.send_buffer_bytes;
    if constexpr (std::is_same_v<Acceptor, Tcp::acceptor>) {
      start(tls ? make_tls_stream(std::move(socket), buffer, *tls)
                : make_stream(std::move(socket), buffer));
    } else {
      start(make_stream(std::move(socket), buffer));
    }
  }
}

void HttpServer::Impl::begin_drain(milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  if (drain_end) {  // it is under way: sooner, if that was asked for
    drain_end = std::min(*drain_end, end);
    return;
  }
  drain_end = end;
  host.is_draining = true;
  for (const auto& [key, weak] : connections) {
    if (const auto connection = weak.lock()) connection->drain();
  }
  check_drain();
}

void HttpServer::Impl::check_drain() {
  const bool is_busy = std::ranges::any_of(connections, [](const auto& entry) {
    const auto connection = entry.second.lock();
    return connection != nullptr && connection->is_answering();
  });
  const auto now = std::chrono::steady_clock::now();
  if (!is_busy || now > *drain_end + kInterruptTime) return io.stop();
  if (now > *drain_end && !std::exchange(is_interrupting, true)) {
    for (const auto& [key, weak] : connections) {
      if (const auto connection = weak.lock()) connection->interrupt();
    }
  }
  drain_timer.expires_after(kDrainCheck);
  drain_timer.async_wait([this](const Error& error) {
    if (!error) check_drain();
  });
}

Task<void> HttpServer::Impl::tick_all(milliseconds period, std::function<void()> tick) {
  asio::steady_timer timer(io);
  for (;;) {
    timer.expires_after(period);
    const auto [error] = co_await timer.async_wait(kAwait);
    if (error) co_return;
    tick();
  }
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() {
  impl_->workers.stop();
  impl_->workers.join();
  if (impl_->unix_acceptor) ::unlink(impl_->options.unix_socket.c_str());
}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const ListenOptions& options,
                                                       const HttpLimits& limits,
                                                       HttpService& service) {
  auto impl = std::make_unique<Impl>(options, limits, service);
  INGOT_TRY(impl->load_tls());
  INGOT_TRY(options.unix_socket.empty() ? impl->bind_tcp() : impl->bind_unix());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

void HttpServer::every(milliseconds period, std::function<void()> tick) {
  asio::co_spawn(impl_->io, impl_->tick_all(period, std::move(tick)), asio::detached);
}

void HttpServer::run(std::function<void(int signal)> on_signal) {
  for (Tcp::acceptor& acceptor : impl_->tcp)
    asio::co_spawn(impl_->io, impl_->accept_all(acceptor), asio::detached);
  if (impl_->unix_acceptor)
    asio::co_spawn(impl_->io, impl_->accept_all(*impl_->unix_acceptor), asio::detached);
  asio::signal_set signals(impl_->io);
  std::function<void()> await_signal = [&] {
    signals.async_wait([&](const Error& error, int signal) {
      if (error) return;
      on_signal(signal);
      await_signal();
    });
  };
  if (on_signal) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
      signals.add(signal);
    await_signal();
  }
  impl_->io.run();
  // Connections that are left are destroyed with what they hold: their requests are cancelled.
}

void HttpServer::drain(milliseconds limit) {
  asio::post(impl_->io, [this, limit] { impl_->begin_drain(limit); });
}

void HttpServer::stop() {
  impl_->io.stop();
}

std::string HttpServer::url() const {
  if (impl_->unix_acceptor) return "unix:" + impl_->options.unix_socket;
  const auto endpoint = impl_->tcp.front().local_endpoint();
  const std::string host = endpoint.address().is_v6()
                               ? fmt::format("[{}]", endpoint.address().to_string())
                               : endpoint.address().to_string();
  return fmt::format("{}://{}:{}", impl_->tls ? "https" : "http", host, endpoint.port());
}

int HttpServer::port() const {
  return impl_->tcp.empty() ? 0 : impl_->tcp.front().local_endpoint().port();
}

size_t HttpServer::connections() const {
  return impl_->connections.size();
}

}  // namespace ingot
