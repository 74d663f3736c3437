// SPDX-License-Identifier: Apache-2.0
#include "server/otlp.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "server/otlp_json.h"
#include "server/request_span.h"

namespace ingot {
namespace {

using namespace std::chrono_literals;

// A collector of one connection after the other, that never looks at what it is sent.
class Collector {
 public:
  explicit Collector(bool answers) : answers_(answers) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    (void)::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    ::listen(listener_, 16);
    socklen_t size = sizeof(address);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ::ntohs(address.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  ~Collector() {
    thread_.request_stop();
    ::shutdown(listener_, SHUT_RDWR);
    ::close(listener_);
  }
  std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }

 private:
  void run(const std::stop_token& stop) const {
    while (!stop.stop_requested()) {
      const int client = ::accept(listener_, nullptr, nullptr);
      if (client < 0) return;
      std::array<char, 65536> buffer{};
      const ssize_t size = ::recv(client, buffer.data(), buffer.size(), 0);
      constexpr std::string_view kReply = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
      while (!answers_ && !stop.stop_requested())
        std::this_thread::sleep_for(1ms);
      if (size > 0) ::send(client, kReply.data(), kReply.size(), MSG_NOSIGNAL);
      ::close(client);
    }
  }
  const bool answers_;
  int listener_ = -1;
  int port_ = 0;
  std::jthread thread_;
};

ExchangeRecord some_record() {
  ExchangeRecord record;
  record.id = "r1";
  record.trace = {.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736",
                  .parent_id = "00f067aa0ba902b7",
                  .span_id = "b7ad6b7169203331",
                  .state = "a=1",
                  .is_sampled = true};
  record.status = 200;
  record.time = 2s;
  record.report = RequestReport{.model = "m", .prompt_tokens = 12, .max_tokens = 7};
  return record;
}

TEST(OtlpJson, IsWhatCollectorsRead) {
  const std::chrono::system_clock::time_point end(1'700'000'000s);
  const Span span = span_of(some_record(), "POST", "/v1/completions", end);
  const Result<Json> json = parse_json(otlp_json(std::span(&span, 1), "1.2"), "otlp");
  ASSERT_TRUE(json.is_ok());
  const Json& resource = (*json)["resourceSpans"][0];
  EXPECT_EQ(resource["resource"]["attributes"][0]["value"]["stringValue"], "ingot");
  const Json& one = resource["scopeSpans"][0]["spans"][0];
  EXPECT_EQ(one["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(one["spanId"], "b7ad6b7169203331");
  EXPECT_EQ(one["parentSpanId"], "00f067aa0ba902b7");
  EXPECT_EQ(one["traceState"], "a=1");
  EXPECT_EQ(one["startTimeUnixNano"], "1699999998000000000");
  EXPECT_EQ(one["endTimeUnixNano"], "1700000000000000000");
  EXPECT_EQ(one["status"], Json::object());
  bool has_tokens = false;
  for (const Json& attribute : one["attributes"]) {
    if (attribute["key"] == "gen_ai.usage.prompt_tokens")
      has_tokens = attribute["value"]["intValue"] == "12";  // Protobuf's JSON
  }
  EXPECT_TRUE(has_tokens);
}

TEST(OtlpEndpoint, IsAUrl) {
  const auto endpoint = parse_endpoint("https://[::1]:4318/v1/traces?x=1", "--flag");
  ASSERT_TRUE(endpoint.is_ok());
  EXPECT_TRUE(endpoint->is_tls);
  EXPECT_EQ(endpoint->host, "::1");
  EXPECT_EQ(endpoint->port, "4318");
  EXPECT_EQ(endpoint->target, "/v1/traces?x=1");
  EXPECT_EQ(parse_endpoint("http://collector", "--flag")->port, "80");
  EXPECT_EQ(parse_endpoint("http://collector", "--flag")->target, "/");
  for (const char* url : {"", "collector:4318", "ftp://x", "http://", "http://a:0", "http://a:b",
                          "http://a:70000", "http://u:p@a", "http://a/ b", "http://a/\r\nx: y"}) {
    const auto refused = parse_endpoint(url, "--flag");
    ASSERT_FALSE(refused.is_ok()) << url;
    EXPECT_THAT(refused.status().message(), testing::HasSubstr("--flag")) << url;
  }
}

TEST(OtlpExporter, SendsWhatItTakes) {
  const Collector collector(true);
  OtlpOptions options{.url = collector.url(), .version = "1"};
  options.period = 5ms;
  auto exporter = OtlpExporter::start(options);
  ASSERT_TRUE(exporter.is_ok());
  for (int i = 0; i < 10; ++i)
    (*exporter)->take(span_of(some_record(), "GET", "/", {}));
  while ((*exporter)->counts().exported < 10)
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ((*exporter)->counts().dropped, 0);
}

TEST(OtlpExporter, DropsRatherThanWaits) {
  const Collector silent(false);
  OtlpOptions options{.url = silent.url(), .version = "1"};
  options.queue = 8;
  options.batch = 4;
  options.time_at_the_end = 50ms;
  auto exporter = OtlpExporter::start(options);
  ASSERT_TRUE(exporter.is_ok());
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i)
    (*exporter)->take(span_of(some_record(), "GET", "/", {}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
  EXPECT_GE((*exporter)->counts().dropped, 1000 - 2 * 8);
  *exporter = nullptr;
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

}  // namespace
}  // namespace ingot
