// SPDX-License-Identifier: Apache-2.0
#include "server/http_head.h"

#include <fmt/core.h>

#include <array>
#include <iterator>
#include <utility>

namespace ingot {
namespace {

constexpr std::array kReasons = std::to_array<std::pair<int, std::string_view>>({
    {200, "OK"},
    {204, "No Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {529, "Overloaded"},
});

void append_header(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  for (const char c : value) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) out += c;
  }
  out += "\r\n";
}

}  // namespace

std::string_view reason_phrase(int status) {
  for (const auto& [code, phrase] : kReasons) {
    if (code == status) return phrase;
  }
  return "Unknown";
}

std::string format_head(const HeadFormat& format) {
  std::string out = fmt::format("HTTP/1.1 {} {}\r\n", format.status, reason_phrase(format.status));
  if (!format.content_type.empty()) append_header(out, "content-type", format.content_type);
  if (format.is_chunked) {
    append_header(out, "transfer-encoding", "chunked");
  } else if (format.length && format.status != 204) {
    append_header(out, "content-length", std::to_string(*format.length));
  }
  for (const auto& [name, value] : format.headers)
    append_header(out, name, value);
  append_header(out, "connection", format.keeps_alive ? "keep-alive" : "close");
  out += "\r\n";
  return out;
}

}  // namespace ingot
