// SPDX-License-Identifier: Apache-2.0
// Bodies as JSON schemas. Those of OpenAI's endpoints come from the table that reads them; of the
// others the fields that clients need are described, and what stands for one of OpenAI's fields
// takes its range from there.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/openai_field.h"
#include "api/openapi.h"
#include "base/limits.h"

namespace ingot {
namespace {

using Type = ValueShape::Type;

// Null is as good as absent, everywhere.
Json typed(const char* type) {
  return {{"type", {type, "null"}}};
}

Json texts_schema(int64_t most) {
  return {
      {"type", {"array", "null"}},
      {"items", {{"type", "string"}, {"minLength", 1}, {"maxLength", limits::kRequestStringBytes}}},
      {"maxItems", most}};
}

Json shape_schema(const ValueShape& shape) {
  Json schema = Json::object();
  switch (shape.type) {
    case Type::kAny:
      return schema;
    case Type::kBoolean:
      return typed("boolean");
    case Type::kInteger:
      schema = typed("integer");
      schema["minimum"] = shape.least;
      schema["maximum"] = shape.most;
      return schema;
    case Type::kNumber:
      schema = typed("number");
      schema["minimum"] = shape.low;
      schema["maximum"] = shape.high;
      return schema;
    case Type::kText:
      schema = typed("string");
      schema["maxLength"] = shape.most;
      return schema;
    case Type::kTexts:
      return texts_schema(shape.most);
    case Type::kTextOrTexts:
      return {{"anyOf",
               {{{"type", "string"}, {"minLength", 1}, {"maxLength", limits::kRequestStringBytes}},
                texts_schema(shape.most)}}};
    case Type::kIds:
      return {{"type", {"array", "null"}},
              {"items", {{"type", "integer"}, {"minimum", 0}}},
              {"maxItems", shape.most}};
    case Type::kList:
      schema = typed("array");
      schema["maxItems"] = shape.most;
      return schema;
    case Type::kObject:
      schema = typed("object");
      schema["maxProperties"] = shape.most;
      return schema;
  }
  return schema;
}

Json ids_schema() {
  return {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}}}, {"minItems", 1}};
}

Json messages_schema() {
  return {
      {"type", "array"},
      {"minItems", 1},
      {"maxItems", limits::kRequestMessages},
      {"items",
       {{"type", "object"},
        {"properties",
         {{"role",
           {{"type", "string"},
            {"enum", {"system", "developer", "user", "assistant", "tool", "function"}}}},
          {"content", {{"anyOf", {{{"type", "string"}}, {{"type", "array"}}, {{"type", "null"}}}}}},
          {"tool_calls", {{"type", {"array", "null"}}}},
          {"tool_call_id", {{"type", {"string", "null"}}}},
          {"name", {{"type", {"string", "null"}}}}}},
        {"required", {"role"}}}}};
}

Json tools_schema() {
  return {{"type", {"array", "null"}},
          {"maxItems", limits::kRequestTools},
          {"items",
           {{"type", "object"},
            {"properties",
             {{"type", {{"const", "function"}}},
              {"function",
               {{"type", "object"},
                {"properties",
                 {{"name", {{"type", "string"}}},
                  {"description", {{"type", {"string", "null"}}}},
                  {"parameters", {{"type", {"object", "null"}}}}}},
                {"required", {"name"}}}}}},
            {"required", {"type", "function"}}}}};
}

// Values of more than one form, by hand.
Json special_schema(std::string_view name) {
  if (name == "messages") return messages_schema();
  if (name == "tools") return tools_schema();
  if (name == "tool_choice") return {{"enum", {"none", "auto", nullptr}}};
  if (name == "truncation_side") return {{"enum", {"left", "right", nullptr}}};
  if (name == "reasoning_effort")
    return {{"enum", {"none", "minimal", "low", "medium", "high", "xhigh", "max", nullptr}}};
  if (name == "prompt") {
    return {{"anyOf",
             {{{"type", "string"}},
              {{"type", "array"},
               {"items", {{"type", "string"}}},
               {"minItems", 1},
               {"maxItems", limits::kRequestPrompts}},
              ids_schema(),
              {{"type", "array"},
               {"items", ids_schema()},
               {"minItems", 1},
               {"maxItems", limits::kRequestPrompts}}}}};
  }
  if (name == "response_format") {
    return {{"type", {"object", "null"}},
            {"properties", {{"type", {{"const", "text"}}}}},
            {"required", Json::array({"type"})}};
  }
  if (name == "stream_options") {
    return {{"type", {"object", "null"}},
            {"properties",
             {{"include_usage", {{"type", {"boolean", "null"}}}},
              {"continuous_usage_stats", {{"type", {"boolean", "null"}}}}}}};
  }
  return nullptr;
}

Json field_schema(const OpenAiField& field) {
  if (const auto* refused = std::get_if<RefusedField>(&field.target)) {
    Json allowed = Json::array();
    if (!refused->harmless.empty()) {
      const Result<Json> harmless = parse_json(refused->harmless, field.name);
      if (harmless.is_ok()) allowed.push_back(*harmless);
    }
    allowed.push_back(nullptr);
    return {{"enum", std::move(allowed)},
            {"description", fmt::format("Not supported: {}.", refused->reason)}};
  }
  if (field.name == "logprobs" && field.shape.type == Type::kAny) {
    return shape_schema({.type = Type::kInteger, .most = limits::kRequestLogprobs});
  }
  Json schema = special_schema(field.name);
  if (schema.is_null()) schema = shape_schema(field.shape);
  if (std::holds_alternative<QuietField>(field.target))
    schema["description"] = "Accepted; changes nothing.";
  return schema;
}

Json openai_schema(OpenAiEndpoint endpoint) {
  Json properties = Json::object();
  for (const OpenAiField& field : openai_fields()) {
    if (field.is_for(endpoint)) properties[std::string(field.name)] = field_schema(field);
  }
  const char* required = endpoint == OpenAiEndpoint::kChat ? "messages" : "prompt";
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", Json::array({required})},
          {"additionalProperties", true},
          {"description", "Unknown fields are ignored and named in the reply's `warnings`."}};
}

// A field of another protocol: like one of OpenAI's, or of a type of its own.
struct OtherField {
  ApiBody body;
  std::string_view name;
  std::string_view like;  // empty: `type`
  std::string_view type;  // of JSON; empty: anything
  bool is_required;
};

// clang-format off
constexpr std::array kOthers = std::to_array<OtherField>({
    {ApiBody::kEmbeddings, "model", "model", "", false},
    {ApiBody::kEmbeddings, "input", "prompt", "", true},
    {ApiBody::kEmbeddings, "encoding_format", "", "string", false},
    {ApiBody::kEmbeddings, "dimensions", "", "integer", false},
    {ApiBody::kEmbeddings, "user", "user", "", false},
    {ApiBody::kMessages, "model", "model", "", false},
    {ApiBody::kMessages, "messages", "", "array", true},
    {ApiBody::kMessages, "system", "", "", false},
    {ApiBody::kMessages, "max_tokens", "max_tokens", "", true},
    {ApiBody::kMessages, "stop_sequences", "stop", "", false},
    {ApiBody::kMessages, "stream", "stream", "", false},
    {ApiBody::kMessages, "temperature", "temperature", "", false},
    {ApiBody::kMessages, "top_p", "top_p", "", false},
    {ApiBody::kMessages, "top_k", "top_k", "", false},
    {ApiBody::kMessages, "tools", "", "array", false},
    {ApiBody::kMessages, "tool_choice", "", "object", false},
    {ApiBody::kMessages, "thinking", "", "object", false},
    {ApiBody::kMessages, "metadata", "", "object", false},
    {ApiBody::kCountTokens, "model", "model", "", false},
    {ApiBody::kCountTokens, "messages", "", "array", true},
    {ApiBody::kCountTokens, "system", "", "", false},
    {ApiBody::kCountTokens, "tools", "", "array", false},
    {ApiBody::kOllamaChat, "model", "model", "", true},
    {ApiBody::kOllamaChat, "messages", "", "array", false},
    {ApiBody::kOllamaChat, "tools", "tools", "", false},
    {ApiBody::kOllamaChat, "stream", "stream", "", false},
    {ApiBody::kOllamaChat, "options", "", "object", false},
    {ApiBody::kOllamaChat, "think", "", "", false},
    {ApiBody::kOllamaGenerate, "model", "model", "", true},
    {ApiBody::kOllamaGenerate, "prompt", "", "string", false},
    {ApiBody::kOllamaGenerate, "system", "", "string", false},
    {ApiBody::kOllamaGenerate, "raw", "", "boolean", false},
    {ApiBody::kOllamaGenerate, "stream", "stream", "", false},
    {ApiBody::kOllamaGenerate, "options", "", "object", false},
    {ApiBody::kOllamaGenerate, "think", "", "", false},
    {ApiBody::kOllamaEmbed, "model", "model", "", true},
    {ApiBody::kOllamaEmbed, "input", "", "", true},
    {ApiBody::kOllamaEmbed, "truncate", "", "boolean", false},
    {ApiBody::kOllamaEmbed, "dimensions", "", "integer", false},
    {ApiBody::kOllamaEmbeddings, "model", "model", "", true},
    {ApiBody::kOllamaEmbeddings, "prompt", "", "string", true},
    {ApiBody::kOllamaShow, "model", "model", "", true},
    {ApiBody::kTokenize, "prompt", "", "string", false},
    {ApiBody::kTokenize, "messages", "messages", "", false},
    {ApiBody::kTokenize, "content", "", "string", false},
    {ApiBody::kTokenize, "add_special_tokens", "", "boolean", false},
    {ApiBody::kTokenize, "return_token_strs", "", "boolean", false},
    {ApiBody::kTokenize, "with_pieces", "", "boolean", false},
    {ApiBody::kDetokenize, "tokens", "stop_token_ids", "", true},
    {ApiBody::kApplyTemplate, "messages", "messages", "", true},
    {ApiBody::kApplyTemplate, "tools", "tools", "", false},
    {ApiBody::kApplyTemplate, "chat_template_kwargs", "chat_template_kwargs", "", false},
});
// clang-format on

Json other_schema(ApiBody body) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const OtherField& field : kOthers) {
    if (field.body != body) continue;
    const std::string name(field.name);
    const std::span<const OpenAiField> fields = openai_fields();
    const auto like = std::ranges::find_if(
        fields, [&](const OpenAiField& known) { return known.name == field.like; });
    if (like != fields.end()) {
      properties[name] = field_schema(*like);
    } else {
      properties[name] =
          field.type.empty() ? Json::object() : typed(std::string(field.type).c_str());
    }
    if (field.name == "tokens") properties[name] = ids_schema();
    if (field.is_required) required.push_back(name);
  }
  Json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = true;
  return schema;
}

}  // namespace

Json body_schema(ApiBody body) {
  if (body == ApiBody::kChat) return openai_schema(OpenAiEndpoint::kChat);
  if (body == ApiBody::kCompletions) return openai_schema(OpenAiEndpoint::kCompletions);
  return other_schema(body);
}

std::string_view body_name(ApiBody body) {
  switch (body) {
    case ApiBody::kNone:
      return "";
    case ApiBody::kChat:
      return "ChatRequest";
    case ApiBody::kCompletions:
      return "CompletionRequest";
    case ApiBody::kEmbeddings:
      return "EmbeddingsRequest";
    case ApiBody::kMessages:
      return "MessagesRequest";
    case ApiBody::kCountTokens:
      return "CountTokensRequest";
    case ApiBody::kOllamaChat:
      return "OllamaChatRequest";
    case ApiBody::kOllamaGenerate:
      return "OllamaGenerateRequest";
    case ApiBody::kOllamaEmbed:
      return "OllamaEmbedRequest";
    case ApiBody::kOllamaEmbeddings:
      return "OllamaEmbeddingsRequest";
    case ApiBody::kOllamaShow:
      return "OllamaShowRequest";
    case ApiBody::kTokenize:
      return "TokenizeRequest";
    case ApiBody::kDetokenize:
      return "DetokenizeRequest";
    case ApiBody::kApplyTemplate:
      return "ApplyTemplateRequest";
  }
  return "";
}

}  // namespace ingot
