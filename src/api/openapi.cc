// SPDX-License-Identifier: Apache-2.0
#include "api/openapi.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace ingot {
namespace {

Json reference(std::string_view name) {
  return {{"$ref", fmt::format("#/components/schemas/{}", name)}};
}

Json content(std::string_view type, Json schema) {
  return {{std::string(type), {{"schema", std::move(schema)}}}};
}

std::string_view error_name(ApiProtocol protocol) {
  switch (protocol) {
    case ApiProtocol::kAnthropic:
      return "AnthropicError";
    case ApiProtocol::kOllama:
      return "OllamaError";
    default:
      return "Error";
  }
}

Json error_schemas() {
  const Json text_or_null = {{"type", {"string", "null"}}};
  return {{"Error",
           {{"type", "object"},
            {"required", Json::array({"error"})},
            {"properties",
             {{"error",
               {{"type", "object"},
                {"required", {"message", "type", "param", "code"}},
                {"properties",
                 {{"message", {{"type", "string"}}},
                  {"type", {{"type", "string"}}},
                  {"param", text_or_null},
                  {"code", text_or_null}}}}}}}}},
          {"AnthropicError",
           {{"type", "object"},
            {"required", {"type", "error"}},
            {"properties",
             {{"type", {{"const", "error"}}},
              {"error",
               {{"type", "object"},
                {"required", {"type", "message"}},
                {"properties",
                 {{"type", {{"type", "string"}}}, {"message", {{"type", "string"}}}}}}}}}}},
          {"OllamaError",
           {{"type", "object"},
            {"required", Json::array({"error"})},
            {"properties", {{"error", {{"type", "string"}}}}}}}};
}

struct ErrorReply {
  const char* status;
  const char* description;
};
constexpr std::array kAlways = std::to_array<ErrorReply>({
    {"401", "The key is missing or wrong."},
    {"500", "The server failed."},
});
constexpr std::array kWithBody = std::to_array<ErrorReply>({
    {"400", "The request is wrong; `param` names the field."},
    {"404", "There is no such model."},
    {"413", "The body is too large."},
    {"429", "Too many requests wait; see Retry-After."},
    {"503", "The server shuts down or was interrupted."},
    {"504", "The request ran out of time."},
});

Json responses_of(const ApiRoute& route) {
  std::string_view type = "application/json";
  if (route.path == "/metrics") type = "text/plain";
  Json whole = content(type, Json::object());
  if (!route.streamed.empty()) whole.update(content(route.streamed, {{"type", "string"}}));
  Json responses = {{"200", {{"description", "As asked."}, {"content", std::move(whole)}}}};
  const auto add = [&](const ErrorReply& error) {
    responses[error.status] = {
        {"description", error.description},
        {"content", content("application/json", reference(error_name(route.protocol)))}};
  };
  if (route.is_public) {
    responses["503"] = {{"description", "No."}};
    return responses;
  }
  std::ranges::for_each(kAlways, add);
  if (route.path.find('{') != std::string_view::npos) add(kWithBody[1]);
  if (route.body != ApiBody::kNone) std::ranges::for_each(kWithBody, add);
  return responses;
}

Json operation(const ApiRoute& route) {
  Json operation = {{"summary", route.summary}};
  if (const size_t begin = route.path.find('{'); begin != std::string_view::npos) {
    const std::string_view name = route.path.substr(begin + 1, route.path.find('}') - begin - 1);
    operation["parameters"] = Json::array(
        {{{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}}});
  }
  if (route.body != ApiBody::kNone) {
    operation["requestBody"] = {
        {"required", true},
        {"content", content("application/json", reference(body_name(route.body)))}};
  }
  if (route.is_public) operation["security"] = Json::array();
  operation["responses"] = responses_of(route);
  return operation;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return result;
}

}  // namespace

Json openapi_document(std::string_view version) {
  Json paths = Json::object();
  Json schemas = error_schemas();
  for (const ApiRoute& route : api_routes()) {
    paths[std::string(route.path)][lower(route.method)] = operation(route);
    if (route.body != ApiBody::kNone)
      schemas[std::string(body_name(route.body))] = body_schema(route.body);
  }
  return {
      {"openapi", "3.1.0"},
      {"info", {{"title", "ingot"}, {"version", version}}},
      {"paths", std::move(paths)},
      {"components",
       {{"schemas", std::move(schemas)},
        {"securitySchemes",
         {{"bearer", {{"type", "http"}, {"scheme", "bearer"}}},
          {"x-api-key", {{"type", "apiKey"}, {"in", "header"}, {"name", "x-api-key"}}}}}}},
      {"security",
       Json::array({{{"bearer", Json::array()}}, {{"x-api-key", Json::array()}}, Json::object()})}};
}

}  // namespace ingot
