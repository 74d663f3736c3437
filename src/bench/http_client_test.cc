// SPDX-License-Identifier: Apache-2.0
// The client against real sockets: a server of a few lines that does as each test scripts.
#include "bench/http_client.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace ingot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kHello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

// One connection after the other; `serve` gets each.
class TinyServer {
 public:
  using Serve = std::function<void(int fd, int index)>;
  explicit TinyServer(Serve serve, std::string socket_path = "")
      : path_(std::move(socket_path)),
        fd_(::socket(path_.empty() ? AF_INET : AF_UNIX, SOCK_STREAM, 0)) {
    if (path_.empty()) {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      socklen_t size = sizeof(address);
      EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
      EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
      port_ = ntohs(address.sin_port);
    } else {
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
      EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    }
    EXPECT_EQ(::listen(fd_, 16), 0);
    thread_ = std::jthread([this, serve = std::move(serve)] {
      for (int index = 0;; ++index) {
        const int client = ::accept(fd_, nullptr, nullptr);
        if (client < 0) return;
        ++connections_;
        serve(client, index);
        ::close(client);
      }
    });
  }
  ~TinyServer() {
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    ::close(fd_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TinyServer(const TinyServer&) = delete;
  TinyServer& operator=(const TinyServer&) = delete;

  std::string url() const {
    return path_.empty() ? fmt::format("http://127.0.0.1:{}", port_) : "unix:" + path_;
  }
  int connections() const { return connections_; }

 private:
  std::string path_;
  int fd_;
  uint16_t port_ = 0;
  std::atomic<int> connections_ = 0;
  std::jthread thread_;
};

// A request without a body; empty when the client has left.
std::string read_request(int fd) {
  std::string text;
  char byte = 0;
  while (!text.ends_with("\r\n\r\n") && ::recv(fd, &byte, 1, 0) == 1)
    text += byte;
  return text;
}

void write_text(int fd, std::string_view text) {
  EXPECT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

std::unique_ptr<HttpClient> client_of(const std::string& url, HttpClientOptions options = {}) {
  auto client = HttpClient::create(*parse_url(url, "url"), std::move(options));
  EXPECT_TRUE(client.is_ok()) << client.status().message();
  return *std::move(client);
}

Result<HttpReply> get(HttpClient& client) {
  return client.fetch({.method = "GET", .target = "/x"});
}

TEST(HttpClient, UsesItsConnectionAgain) {
  std::string seen;
  TinyServer server([&](int fd, int) {
    for (std::string text = read_request(fd); !text.empty(); text = read_request(fd)) {
      seen = text;
      write_text(fd, kHello);
    }
  });
  {
    const auto client = client_of(server.url(), {.headers = {{"X-Test", "yes"}}});
    for (int i = 0; i < 5; ++i) {
      const auto reply = get(*client);
      ASSERT_TRUE(reply.is_ok()) << reply.status().message();
      EXPECT_EQ(reply->body, "hello");
    }
  }
  EXPECT_EQ(server.connections(), 1);
  EXPECT_THAT(seen, HasSubstr("GET /x HTTP/1.1\r\nHost: 127.0.0.1:"));
  EXPECT_THAT(seen, HasSubstr("X-Test: yes\r\n"));
}

TEST(HttpClient, ConnectsAgainWhenAKeptConnectionWasClosed) {
  TinyServer server([](int fd, int) {
    read_request(fd);
    write_text(fd, kHello);
  });
  const auto client = client_of(server.url());
  for (int i = 0; i < 3; ++i) {
    const auto reply = get(*client);
    ASSERT_TRUE(reply.is_ok()) << reply.status().message();
  }
  EXPECT_EQ(server.connections(), 3);
}

TEST(HttpClient, SpeaksOverUnixSockets) {
  TinyServer server(
      [](int fd, int) {
        read_request(fd);
        write_text(fd, kHello);
      },
      fmt::format("{}ingot-client-{}.sock", testing::TempDir(), ::getpid()));
  EXPECT_EQ(get(*client_of(server.url()))->body, "hello");
}

TEST(HttpClient, SaysThatNobodyListens) {
  const auto reply = get(*client_of("http://127.0.0.1:1"));
  ASSERT_FALSE(reply.is_ok());
  EXPECT_THAT(reply.status().message(), HasSubstr("127.0.0.1:1: Connection refused"));
  EXPECT_THAT(reply.status().message(), HasSubstr("is the server running?"));
  EXPECT_FALSE(get(*client_of("unix:/no/such/socket")).is_ok());
}

TEST(HttpClient, TellsHowAResponseWasCutOff) {
  TinyServer server([](int fd, int index) {
    read_request(fd);
    if (index == 1) write_text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello");
    if (index == 2) write_text(fd, "nonsense\r\n");
  });
  const auto client = client_of(server.url());
  EXPECT_THAT(get(*client).status().message(), HasSubstr("without a word"));
  EXPECT_THAT(get(*client).status().message(), HasSubstr("in the middle"));
  EXPECT_THAT(get(*client).status().message(), HasSubstr("does not speak HTTP"));
}

TEST(HttpClient, WaitsNoLongerThanAsked) {
  TinyServer server([](int fd, int) {
    read_request(fd);
    write_text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhe");
    read_request(fd);  // until the client leaves
  });
  const auto client = client_of(server.url(), {.timeout_seconds = 0.05});
  EXPECT_THAT(get(*client).status().message(), HasSubstr("within 0.05 s"));
}

TEST(HttpClient, StopsWhenAsked) {
  TinyServer server([](int fd, int) {
    read_request(fd);
    read_request(fd);
  });
  int looks = 0;
  const auto client = client_of(server.url(), {.should_stop = [&] { return ++looks > 1; }});
  client->at(BenchClock::now() + std::chrono::hours(1), [] { FAIL() << "forgotten"; });
  EXPECT_EQ(get(*client).status().code(), StatusCode::kCancelled);
  EXPECT_TRUE(client->was_stopped());
}

TEST(HttpClient, ActsAtTheTimesAsked) {
  const auto client = client_of("http://127.0.0.1:1");
  const BenchClock::time_point now = BenchClock::now();
  std::vector<int> order;
  client->at(now + std::chrono::milliseconds(2), [&] { order.push_back(2); });
  client->at(now + std::chrono::milliseconds(1), [&] { order.push_back(1); });
  client->run();
  EXPECT_THAT(order, ElementsAre(1, 2));
  EXPECT_GE(BenchClock::now() - now, std::chrono::milliseconds(2));
}

}  // namespace
}  // namespace ingot
