// SPDX-License-Identifier: Apache-2.0
#include "api/batch_line.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/json_values.h"
#include "base/json_reader.h"
#include "base/limits.h"

namespace ingot {
namespace {

constexpr std::string_view kIdPrefix = "batch_req_";

const Json* member_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::optional<OpenAiError> read_call(const Json& line, BatchRequest& request) {
  const auto fail = [](std::string param, std::string message, std::string code) {
    return OpenAiError{
        .message = std::move(message), .param = std::move(param), .code = std::move(code)};
  };
  const Json* method = member_of(line, "method");
  if (method == nullptr || *method != "POST")
    return fail("method", "method must be 'POST'", "invalid_method");
  const Json* url = member_of(line, "url");
  if (url != nullptr && *url == "/v1/completions") {
    request.endpoint = OpenAiEndpoint::kCompletions;
  } else if (url == nullptr || *url != "/v1/chat/completions") {
    return fail("url", "url must be '/v1/chat/completions' or '/v1/completions'", "invalid_url");
  }
  const Json* body = member_of(line, "body");
  if (body == nullptr || !body->is_object())
    return fail("body", "body must be an object", "invalid_body");
  request.body = *body;
  return std::nullopt;
}

}  // namespace

BatchLine parse_batch_line(const LineReader::Line& line) {
  if (line.is_too_long) {
    return BatchLineError{"line_too_long", fmt::format("line {} is longer than {} bytes",
                                                       line.number, limits::kRequestBytes)};
  }
  const Result<Json> json = parse_json(line.text, fmt::format("line {}", line.number));
  if (!json.is_ok()) return BatchLineError{"invalid_json_line", json.status().message()};
  const Json* id = json->is_object() ? member_of(*json, "custom_id") : nullptr;
  if (id == nullptr || !text_of(*id, limits::kRequestNameBytes).is_ok() || *id == "") {
    return BatchLineError{"missing_custom_id",
                          fmt::format("line {}: custom_id must be a string of 1 to {} bytes",
                                      line.number, limits::kRequestNameBytes)};
  }
  BatchRequest request;
  request.custom_id = id->get<std::string>();
  request.error = read_call(*json, request);
  return request;
}

std::string reply_line(uint64_t number, std::string_view custom_id, int http_status, Json body) {
  const Json line = {{"id", fmt::format("{}{}", kIdPrefix, number)},
                     {"custom_id", custom_id},
                     {"response",
                      {{"status_code", http_status},
                       {"request_id", fmt::format("req_{}", number)},
                       {"body", std::move(body)}}},
                     {"error", nullptr}};
  return dump_json(line) + "\n";
}

std::string error_line(uint64_t number, const BatchLineError& error) {
  const Json line = {{"id", fmt::format("{}{}", kIdPrefix, number)},
                     {"custom_id", nullptr},
                     {"response", nullptr},
                     {"error", {{"code", error.code}, {"message", error.message}}}};
  return dump_json(line) + "\n";
}

// Reads the line to its end, since a part of one must not count, but builds no tree of it.
std::optional<BatchAnswered> parse_answered(std::string_view line) {
  BatchAnswered answered;
  JsonReader reader(line, "output", limits::kJsonDepth + 2);
  const auto is_next = [&reader](JsonToken wanted) {
    const Result<JsonToken> token = reader.next();
    return token.is_ok() && *token == wanted;
  };
  if (!is_next(JsonToken::kBeginObject) || !is_next(JsonToken::kKey) || reader.text() != "id" ||
      !is_next(JsonToken::kString) || !reader.text().starts_with(kIdPrefix)) {
    return std::nullopt;
  }
  const std::string_view digits = reader.text().substr(kIdPrefix.size());
  const auto [end, problem] =
      std::from_chars(digits.data(), digits.data() + digits.size(), answered.number);
  if (problem != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (!is_next(JsonToken::kKey) || reader.text() != "custom_id") return std::nullopt;
  const Result<JsonToken> id = reader.next();
  if (!id.is_ok() || (*id != JsonToken::kString && *id != JsonToken::kNull)) return std::nullopt;
  if (*id == JsonToken::kString) answered.custom_id = reader.text();
  while (true) {
    const Result<JsonToken> token = reader.next();
    if (!token.is_ok()) return std::nullopt;
    if (*token == JsonToken::kEnd) return answered;
  }
}

}  // namespace ingot
