// SPDX-License-Identifier: Apache-2.0
#include "bench/http_client.h"

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <set>

#include "base/limits.h"

namespace ingot {
namespace asio = boost::asio;
namespace {

using Problem = boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;  // TCP and Unix alike
using Endpoint = asio::generic::stream_protocol::endpoint;

constexpr size_t kReadBytes = size_t{16} << 10;
constexpr double kConnectSeconds = 10;
constexpr std::chrono::milliseconds kBetweenLooks{100};

BenchClock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<BenchClock::duration>(std::chrono::duration<double>(seconds));
}

std::string text_of(const HttpCall& call, const Url& url, const HttpFields& headers) {
  std::string text =
      fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", call.method, call.target, url.host_header());
  for (const HttpFields* fields : {&headers, &call.headers}) {
    for (const auto& [name, value] : *fields)
      text += fmt::format("{}: {}\r\n", name, value);
  }
  if (!call.body.empty()) text += fmt::format("Content-Length: {}\r\n", call.body.size());
  text += "\r\n";
  return text + call.body;
}

}  // namespace

class HttpConnection;

class HttpClient::State {
 public:
  State(Url its_url, HttpClientOptions its_options)
      : url(std::move(its_url)), options(std::move(its_options)) {}

  void send(std::string text, std::shared_ptr<HttpListener> listener, BenchClock::time_point sent,
            bool is_fresh);
  void look_up();  // throws as Asio does
  void cancel();
  void begin_work();
  void end_work();
  void look_around();

  const Url url;
  const HttpClientOptions options;
  asio::io_context context{1};
  asio::ssl::context tls{asio::ssl::context::tls_client};
  std::vector<Endpoint> endpoints;
  std::vector<std::shared_ptr<HttpConnection>>
      idle;  // the last one used last, so it is the freshest
  std::set<std::shared_ptr<HttpConnection>> busy;
  std::set<std::shared_ptr<asio::steady_timer>> timers;
  asio::steady_timer look{context};
  size_t work = 0;  // requests and actions that have not ended
  bool was_stopped = false;
};

// One connection, which carries one request at a time. Whatever it waits for holds it alive.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  explicit HttpConnection(HttpClient::State& client)
      : client_(client), socket_(client.context), deadline_(client.context) {
    if (client.url.scheme != Url::Scheme::kHttps) return;
    tls_.emplace(socket_, client.tls);
    if (client.options.is_insecure) return;
    tls_->set_verify_mode(asio::ssl::verify_peer);
    tls_->set_verify_callback(asio::ssl::host_name_verification(client.url.host));
  }

  void start(std::string text, std::shared_ptr<HttpListener> listener,
             BenchClock::time_point sent) {
    text_ = std::move(text);
    listener_ = std::move(listener);
    sent_ = sent;
    parser_ = {};
    was_used_ = is_connected_;
    failure_ = {};
    write_problem_ = {};
    if (is_connected_) {
      set_deadline(client_.options.timeout_seconds, "did not answer within");
      write();
    } else {
      connect();
    }
  }

  // Ends the request with this error.
  void abort(Status status) {
    failure_ = std::move(status);
    Problem ignored;
    socket_.close(ignored);
  }

 private:
  using Self = std::shared_ptr<HttpConnection>;

  Status problem_of(std::string_view doing, const Problem& problem) const {
    const Url& url = client_.url;
    const std::string where =
        url.scheme == Url::Scheme::kUnix ? url.socket : fmt::format("{}:{}", url.host, url.port);
    const bool is_nobody = problem == asio::error::connection_refused ||
                           problem == boost::system::errc::no_such_file_or_directory;
    return {StatusCode::kIo, fmt::format("{} {}: {}{}", doing, where, problem.message(),
                                         is_nobody ? "; is the server running?" : "")};
  }

  // Of what is left since the request was sent.
  void set_deadline(double seconds, const char* what) {
    deadline_.expires_at(sent_ + duration_of(seconds));
    deadline_.async_wait([self = shared_from_this(), seconds, what](const Problem& problem) {
      if (problem || self->listener_ == nullptr) return;
      self->abort(Status(StatusCode::kIo, fmt::format("the server {} {:g} s", what, seconds)));
    });
  }

  void connect() {
    set_deadline(std::min(kConnectSeconds, client_.options.timeout_seconds),
                 "did not accept a connection within");
    asio::async_connect(socket_, client_.endpoints,
                        [self = shared_from_this()](const Problem& problem, const Endpoint&) {
                          if (problem)
                            return self->finish(self->problem_of("cannot connect to", problem));
                          self->on_connected();
                        });
  }

  void on_connected() {
    Problem ignored;
    if (client_.url.scheme != Url::Scheme::kUnix)
      socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    if (!tls_) return on_ready();
    SSL_set_tlsext_host_name(tls_->native_handle(), client_.url.host.c_str());
    tls_->async_handshake(
        asio::ssl::stream_base::client, [self = shared_from_this()](const Problem& problem) {
          if (problem) {
            return self->finish(self->problem_of("cannot speak TLS with", problem));
          }
          self->on_ready();
        });
  }

  void on_ready() {
    is_connected_ = true;
    set_deadline(client_.options.timeout_seconds, "did not answer within");
    write();
  }

  template <class Function>
  void with_stream(Function&& function) {
    if (tls_) return function(*tls_);
    function(socket_);
  }

  void write() {
    with_stream([this](auto& stream) {
      asio::async_write(stream, asio::buffer(text_),
                        [self = shared_from_this()](const Problem& problem, size_t) {
                          // The server may have answered before it heard all (too large, say).
                          if (problem) self->write_problem_ = problem;
                          self->read();
                        });
    });
  }

  void read() {
    with_stream([this](auto& stream) {
      stream.async_read_some(asio::buffer(buffer_),
                             [self = shared_from_this()](const Problem& problem, size_t bytes) {
                               self->on_read(problem, bytes, BenchClock::now());
                             });
    });
  }

  void on_read(const Problem& problem, size_t bytes, BenchClock::time_point time) {
    if (!failure_.is_ok()) return finish(failure_);
    const bool is_end =
        problem == asio::error::eof || problem == asio::ssl::error::stream_truncated;
    if (problem && was_used_ && !parser_.has_begun()) return start_again();
    if (problem && !is_end) return finish(problem_of("lost the connection to", problem));
    Status status;
    if (is_end) {
      status = parser_.has_begun() || !write_problem_
                   ? parser_.finish()
                   : problem_of("cannot send to", write_problem_);
    } else {
      status = parser_.push({buffer_.data(), bytes},
                            {.on_head = [&](const auto& head) { listener_->on_head(head, time); },
                             .on_body = [&](auto body) { listener_->on_body(body, time); }});
    }
    if (!status.is_ok() || parser_.is_done()) return finish(status);
    read();
  }

  // The server had closed this connection while nobody used it.
  void start_again() {
    const Self self = shared_from_this();
    deadline_.cancel();
    client_.busy.erase(self);
    client_.send(std::move(text_), std::move(listener_), sent_, true);
    client_.end_work();
  }

  void finish(const Status& status) {
    const Self self = shared_from_this();
    const std::shared_ptr<HttpListener> listener = std::move(listener_);
    listener_ = nullptr;
    deadline_.cancel();
    client_.busy.erase(self);
    const Status outcome = failure_.is_ok() ? status : failure_;
    if (outcome.is_ok() && parser_.keeps_alive()) client_.idle.push_back(self);
    listener->on_end(outcome, BenchClock::now());
    client_.end_work();
  }

  HttpClient::State& client_;
  Socket socket_;
  std::optional<asio::ssl::stream<Socket&>> tls_;
  asio::steady_timer deadline_;
  std::array<char, kReadBytes> buffer_{};
  std::string text_;
  std::shared_ptr<HttpListener> listener_;
  BenchClock::time_point sent_;
  HttpResponseParser parser_;
  bool is_connected_ = false;
  bool was_used_ = false;  // by an earlier request
  Problem write_problem_;
  Status failure_;  // why we closed it
};

void HttpClient::State::look_up() {
  if (url.scheme == Url::Scheme::kUnix) {
    endpoints.emplace_back(asio::local::stream_protocol::endpoint(url.socket));
    return;
  }
  asio::ip::tcp::resolver resolver(context);
  for (const auto& entry : resolver.resolve(url.host, std::to_string(url.port)))
    endpoints.emplace_back(entry.endpoint());
}

void HttpClient::State::send(std::string text, std::shared_ptr<HttpListener> listener,
                             BenchClock::time_point sent, bool is_fresh) {
  std::shared_ptr<HttpConnection> connection;
  if (is_fresh || idle.empty()) {
    connection = std::make_shared<HttpConnection>(*this);
  } else {
    connection = std::move(idle.back());
    idle.pop_back();
  }
  busy.insert(connection);
  begin_work();
  connection->start(std::move(text), std::move(listener), sent);
}

void HttpClient::State::begin_work() {
  if (++work == 1) look_around();
}

void HttpClient::State::end_work() {
  if (--work == 0) look.cancel();
}

void HttpClient::State::look_around() {
  if (!options.should_stop || work == 0) return;
  if (!was_stopped && options.should_stop()) {
    was_stopped = true;
    cancel();
  }
  look.expires_after(kBetweenLooks);
  look.async_wait([this](const Problem& problem) {
    if (!problem) look_around();
  });
}

void HttpClient::State::cancel() {
  for (const auto& timer : timers)
    timer->cancel();
  for (const auto& connection : busy)
    connection->abort(Status(StatusCode::kCancelled, "cancelled"));
}

Result<std::unique_ptr<HttpClient>> HttpClient::create(const Url& url, HttpClientOptions options) {
  Result<std::unique_ptr<State>> state = catching(StatusCode::kIo, [&] {
    auto made = std::make_unique<State>(url, std::move(options));
    if (url.scheme == Url::Scheme::kHttps) made->tls.set_default_verify_paths();
    made->look_up();
    return made;
  });
  if (!state.is_ok()) return state.status().with_context(url.host);
  return std::make_unique<HttpClient>(*std::move(state));
}

HttpClient::HttpClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpClient::~HttpClient() = default;

BenchClock::time_point HttpClient::send(const HttpCall& call,
                                        std::shared_ptr<HttpListener> listener) {
  std::string text = text_of(call, state_->url, state_->options.headers);
  const BenchClock::time_point sent = BenchClock::now();
  state_->send(std::move(text), std::move(listener), sent, false);
  return sent;
}

void HttpClient::at(BenchClock::time_point time, std::function<void()> action) {
  const auto timer = std::make_shared<asio::steady_timer>(state_->context, time);
  state_->timers.insert(timer);
  state_->begin_work();
  timer->async_wait([state = state_.get(), timer, action = std::move(action)](Problem problem) {
    state->timers.erase(timer);
    if (!problem) action();
    state->end_work();
  });
}

void HttpClient::run() {
  state_->context.restart();
  state_->context.run();
}

void HttpClient::cancel() {
  state_->cancel();
}

bool HttpClient::was_stopped() const {
  return state_->was_stopped;
}

namespace {

class WholeListener final : public HttpListener {
 public:
  void on_head(const HttpResponseHead& head, BenchClock::time_point) override { reply.head = head; }
  void on_body(std::string_view bytes, BenchClock::time_point) override {
    if (reply.body.size() + bytes.size() <= limits::kConfigBytes) reply.body += bytes;
  }
  void on_end(const Status& end, BenchClock::time_point) override { status = end; }

  HttpReply reply;
  Status status;
};

}  // namespace

Result<HttpReply> HttpClient::fetch(const HttpCall& call) {
  const auto listener = std::make_shared<WholeListener>();
  send(call, listener);
  run();
  INGOT_TRY(listener->status);
  return std::move(listener->reply);
}

}  // namespace ingot
