// SPDX-License-Identifier: Apache-2.0
#include "bench/url.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(Url, ReadsSchemeHostPortAndPath) {
  const Url plain = *parse_url("http://127.0.0.1:8080", "--base-url");
  EXPECT_EQ(plain.scheme, Url::Scheme::kHttp);
  EXPECT_EQ(plain.host, "127.0.0.1");
  EXPECT_EQ(plain.port, 8080);
  EXPECT_EQ(plain.path, "");
  EXPECT_EQ(plain.host_header(), "127.0.0.1:8080");

  const Url secure = *parse_url("https://example.org/a/b/?x=1#y", "--base-url");
  EXPECT_EQ(secure.scheme, Url::Scheme::kHttps);
  EXPECT_EQ(secure.port, 443);
  EXPECT_EQ(secure.path, "/a/b");
  EXPECT_EQ(secure.host_header(), "example.org");

  const Url bare = *parse_url("localhost:99", "--base-url");
  EXPECT_EQ(bare.host, "localhost");
  EXPECT_EQ(bare.port, 99);

  const Url six = *parse_url("http://[::1]:8000/", "--base-url");
  EXPECT_EQ(six.host, "::1");
  EXPECT_EQ(six.port, 8000);
  EXPECT_EQ(six.host_header(), "[::1]:8000");

  for (const char* text : {"unix:/run/ingot.sock", "unix:///run/ingot.sock"}) {
    const Url socket = *parse_url(text, "--base-url");
    EXPECT_EQ(socket.scheme, Url::Scheme::kUnix);
    EXPECT_EQ(socket.socket, "/run/ingot.sock");
    EXPECT_EQ(socket.host_header(), "localhost");
  }
}

TEST(Url, SaysVersionOnceHoweverTheBaseIsWritten) {
  EXPECT_EQ(parse_url("http://h", "u")->target("/v1/models"), "/v1/models");
  EXPECT_EQ(parse_url("http://h/v1", "u")->target("/v1/models"), "/v1/models");
  EXPECT_EQ(parse_url("http://h/v1/", "u")->target("/v1/models"), "/v1/models");
  EXPECT_EQ(parse_url("http://h/api/v1", "u")->target("/v1/models"), "/api/v1/models");
  EXPECT_EQ(parse_url("http://h/api", "u")->target("/v1/models"), "/api/v1/models");
}

TEST(Url, RefusesWhatIsNone) {
  for (const char* text :
       {"", "ftp://host", "http://", "http://:80", "http://host:0", "http://host:65536",
        "http://host:x", "http://host:", "http://ho st", "http://host/\r\nX: y", "http://[::1",
        "http://[::1]x", "http://user:word@host", "unix:"}) {
    const auto url = parse_url(text, "--base-url");
    ASSERT_FALSE(url.is_ok()) << text;
    EXPECT_TRUE(url.status().message().starts_with("--base-url: ")) << url.status().message();
  }
}

}  // namespace
}  // namespace ingot
