// SPDX-License-Identifier: Apache-2.0
#include "server/error_reply.h"

#include <nlohmann/json.hpp>

namespace ingot {
namespace {

std::string_view anthropic_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
    case 529:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

}  // namespace

std::string error_text(std::string_view path, const OpenAiError& error) {
  if (path.starts_with("/api/")) return dump_json(Json{{"error", error.message}});
  if (path.starts_with("/v1/messages")) {
    return dump_json(Json{
        {"type", "error"},
        {"error",
         {{"type", std::string(anthropic_type(error.http_status))}, {"message", error.message}}}});
  }
  return dump_json(error_body(error));
}

std::unique_ptr<ReplySource> error_reply(std::string_view path, const OpenAiError& error,
                                         HttpHeaders headers) {
  return std::make_unique<WholeReply>(
      HttpHead{.status = error.http_status, .headers = std::move(headers)},
      error_text(path, error));
}

std::unique_ptr<ReplySource> json_reply(const Json& body, int status) {
  return std::make_unique<WholeReply>(HttpHead{.status = status}, dump_json(body));
}

}  // namespace ingot
