// SPDX-License-Identifier: Apache-2.0
#include "server/otlp_json.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace ingot {
namespace {

constexpr int kServer = 2;  // SPAN_KIND_SERVER
constexpr int kError = 2;   // STATUS_CODE_ERROR

// 64-bit integers are strings in Protobuf's JSON.
Json value_json(const Span::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return {{"stringValue", *text}};
  if (const auto* integer = std::get_if<int64_t>(&value))
    return {{"intValue", std::to_string(*integer)}};
  return {{"doubleValue", std::get<double>(value)}};
}

std::string nanoseconds(std::chrono::system_clock::time_point time) {
  return std::to_string(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

Json span_json(const Span& span) {
  Json attributes = Json::array();
  for (const auto& [name, value] : span.attributes)
    attributes.push_back({{"key", name}, {"value", value_json(value)}});
  Json json = {{"traceId", span.trace.trace_id},
               {"spanId", span.trace.span_id},
               {"name", span.name},
               {"kind", kServer},
               {"startTimeUnixNano", nanoseconds(span.begin)},
               {"endTimeUnixNano", nanoseconds(span.end)},
               {"attributes", std::move(attributes)},
               {"status", span.is_error ? Json{{"code", kError}} : Json::object()}};
  if (!span.trace.parent_id.empty()) json["parentSpanId"] = span.trace.parent_id;
  if (!span.trace.state.empty()) json["traceState"] = span.trace.state;
  return json;
}

}  // namespace

std::string otlp_json(std::span<const Span> spans, std::string_view version) {
  Json list = Json::array();
  for (const Span& span : spans)
    list.push_back(span_json(span));
  const auto attribute = [](std::string_view key, std::string_view value) {
    return Json{{"key", key}, {"value", {{"stringValue", value}}}};
  };
  Json scope = {{"scope", {{"name", "ingot"}, {"version", version}}}, {"spans", std::move(list)}};
  Json resource = {{"attributes", Json::array({attribute("service.name", "ingot"),
                                               attribute("service.version", version),
                                               attribute("telemetry.sdk.language", "cpp")})}};
  return dump_json({{"resourceSpans", Json::array({{{"resource", std::move(resource)},
                                                    {"scopeSpans", Json::array({scope})}}})}});
}

}  // namespace ingot
