// SPDX-License-Identifier: Apache-2.0
#include "server/http_parser.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/verb.hpp>

namespace ingot {
namespace {

namespace http = boost::beast::http;

constexpr std::string_view kHeadEnd = "\r\n\r\n";

bool is_token_character(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kOthers.find(c) != std::string_view::npos;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// Lines, sizes and characters of a whole head: what a lenient parser would let through.
std::optional<HttpProblem> check_lines(std::string_view head, const HttpLimits& limits) {
  size_t lines = 0;
  while (!head.empty()) {
    const size_t end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    if (line.empty()) break;
    if (line.size() > limits.header_line_bytes) {
      return HttpProblem{431, fmt::format("a header line has {} bytes but may have {}", line.size(),
                                          limits.header_line_bytes)};
    }
    if (++lines > limits.headers + 1)
      return HttpProblem{431, fmt::format("there are more than {} headers", limits.headers)};
    for (const char c : line) {
      const auto byte = static_cast<unsigned char>(c);
      if ((byte < 0x20 && c != '\t') || byte == 0x7F)
        return HttpProblem{400, "a header has a control character"};
    }
    if (lines == 1) continue;
    // A line that begins with a space would continue the one before.
    const size_t colon = line.find(':');
    if (colon == 0 || colon == std::string_view::npos ||
        !std::ranges::all_of(line.substr(0, colon), is_token_character)) {
      return HttpProblem{400, "a header has no valid name"};
    }
  }
  return std::nullopt;
}

HttpProblem parser_problem(const boost::beast::error_code& error, const HttpLimits& limits) {
  if (error == http::error::body_limit) {
    return {413, fmt::format("the body is larger than {} bytes", limits.body_bytes)};
  }
  if (error == http::error::header_limit)
    return {431, fmt::format("the head is larger than {} bytes", limits.header_bytes)};
  if (error == http::error::bad_version) return {505, "only HTTP/1.1 and HTTP/1.0 are spoken here"};
  return {400, fmt::format("not valid HTTP: {}", error.message())};
}

}  // namespace

struct HttpParser::Impl {
  http::request_parser<http::string_body> parser;
};

HttpParser::HttpParser(const HttpLimits& limits) : limits_(limits), impl_(new Impl) {
  impl_->parser.header_limit(static_cast<uint32_t>(limits.header_bytes));
  impl_->parser.body_limit(limits.body_bytes);
  impl_->parser.eager(true);
}

HttpParser::~HttpParser() = default;

bool HttpParser::is_done() const {
  return has_head_ && impl_->parser.is_done();
}

size_t HttpParser::body_received() const {
  return impl_->parser.get().body().size();
}

std::optional<HttpProblem> HttpParser::push(std::string& input) {
  return has_head_ ? read_body(input) : read_head(input);
}

std::optional<HttpProblem> HttpParser::read_head(std::string& input) {
  // Empty lines before a request are allowed by the standard.
  size_t blank = 0;
  while (scanned_ == 0 && input.compare(blank, 2, "\r\n") == 0)
    blank += 2;
  input.erase(0, blank);
  const size_t from = scanned_ > kHeadEnd.size() ? scanned_ - kHeadEnd.size() : 0;
  const size_t end = input.find(kHeadEnd, from);
  const size_t size = end == std::string::npos ? input.size() : end + kHeadEnd.size();
  if (size > limits_.header_bytes) {
    return HttpProblem{431, fmt::format("the head is larger than {} bytes", limits_.header_bytes)};
  }
  if (end == std::string::npos) {
    // Nothing that speaks HTTP begins so: say it now instead of waiting for more.
    const bool may_be_blank = input == "\r";  // its line feed is still to come
    if (!input.empty() && !may_be_blank && !is_token_character(input.front()))
      return HttpProblem{400, "not valid HTTP: no method"};
    scanned_ = may_be_blank ? 0 : input.size();
    return std::nullopt;
  }
  if (auto problem = check_lines(std::string_view(input).substr(0, size), limits_)) return problem;
  // The head alone, so that the caller can look at it before any of the body is taken.
  impl_->parser.eager(false);
  boost::beast::error_code error;
  const size_t used = impl_->parser.put(boost::asio::buffer(input.data(), size), error);
  if (error && error != http::error::need_more) return parser_problem(error, limits_);
  if (!impl_->parser.is_header_done()) return HttpProblem{400, "not valid HTTP"};
  input.erase(0, used);
  impl_->parser.eager(true);
  has_head_ = true;
  return copy_head();
}

std::optional<HttpProblem> HttpParser::copy_head() {
  const auto& message = impl_->parser.get();
  request_.method = std::string(message.method_string());
  const std::string target(message.target());
  const size_t question = target.find('?');
  request_.path = target.substr(0, question);
  if (question != std::string::npos) request_.query = target.substr(question + 1);
  if (request_.path.empty() || request_.path.front() != '/')
    return HttpProblem{400, "the target is no path"};
  size_t hosts = 0;
  size_t lengths = 0;
  bool has_transfer = false;
  for (const auto& field : message) {
    std::string name = lower(field.name_string());
    if (name == "host") ++hosts;
    if (name == "content-length") {
      ++lengths;
      // "2, 2" may mean one length to a proxy and another to us.
      const std::string_view value(field.value().data(), field.value().size());
      if (!std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; }))
        return HttpProblem{400, "Content-Length is no number"};
    }
    if (name == "transfer-encoding") {
      // "gzip, chunked" would have to be unpacked; only the plain form is taken.
      if (has_transfer || lower(field.value()) != "chunked")
        return HttpProblem{501, "only Transfer-Encoding: chunked is understood"};
      has_transfer = true;
    }
    if (name == "content-encoding" && lower(field.value()) != "identity")
      return HttpProblem{415, "compressed bodies are not taken; send the body as it is"};
    if (name == "expect") expects_continue_ = lower(field.value()) == "100-continue";
    request_.headers.emplace_back(std::move(name), std::string(field.value()));
  }
  is_http10_ = message.version() == 10;
  if (message.version() != 10 && message.version() != 11)
    return HttpProblem{505, "only HTTP/1.1 and HTTP/1.0 are spoken here"};
  if (hosts > 1 || (hosts == 0 && !is_http10_))
    return HttpProblem{400, "there must be one Host header"};
  if (lengths > 1 || (lengths == 1 && has_transfer))
    return HttpProblem{400, "the length of the body is given twice"};
  if (has_transfer && is_http10_) return HttpProblem{400, "HTTP/1.0 has no chunked bodies"};
  keeps_alive_ = message.keep_alive();
  return std::nullopt;
}

std::optional<HttpProblem> HttpParser::read_body(std::string& input) {
  // The parser stops at each chunk's end; nothing taken and no error means that it needs more.
  size_t used = 0;
  while (used < input.size() && !impl_->parser.is_done()) {
    boost::beast::error_code error;
    const size_t taken =
        impl_->parser.put(boost::asio::buffer(input.data() + used, input.size() - used), error);
    if (error && error != http::error::need_more) return parser_problem(error, limits_);
    used += taken;
    if (taken == 0) break;
  }
  input.erase(0, used);
  return std::nullopt;
}

HttpRequest HttpParser::take() {
  request_.body = std::move(impl_->parser.get().body());
  return std::move(request_);
}

}  // namespace ingot
