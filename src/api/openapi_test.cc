// SPDX-License-Identifier: Apache-2.0
#include "api/openapi.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "api/openai_request.h"
#include "base/limits.h"

namespace ingot {
namespace {

TEST(OpenApi, DescribesEveryRoute) {
  const Json document = openapi_document("1.2.3");
  EXPECT_EQ(document["openapi"], "3.1.0");
  EXPECT_EQ(document["info"]["version"], "1.2.3");
  size_t operations = 0;
  for (const auto& [path, methods] : document["paths"].items())
    operations += methods.size();
  EXPECT_EQ(operations, api_routes().size());
  for (const char* path :
       {"/v1/chat/completions", "/v1/completions", "/v1/models", "/v1/embeddings", "/tokenize",
        "/detokenize", "/v1/messages", "/api/chat", "/api/generate", "/api/tags", "/api/show",
        "/api/version", "/health", "/livez", "/readyz", "/metrics", "/version", "/openapi.json"})
    EXPECT_TRUE(document["paths"].contains(path)) << path;
  EXPECT_EQ(document["paths"]["/livez"]["get"]["security"], Json::array());
  EXPECT_FALSE(document["paths"]["/v1/models"]["get"].contains("security"));
}

void collect_references(const Json& value, std::set<std::string>& found) {
  if (value.is_object() && value.contains("$ref")) found.insert(value["$ref"].get<std::string>());
  if (!value.is_structured()) return;
  for (const Json& inner : value)
    collect_references(inner, found);
}

TEST(OpenApi, EveryReferenceLeadsSomewhere) {
  const Json document = openapi_document("1");
  std::set<std::string> references;
  collect_references(document, references);
  EXPECT_GT(references.size(), 10U);
  for (const std::string& reference : references)
    EXPECT_TRUE(document.contains(Json::json_pointer(reference.substr(1)))) << reference;
}

TEST(OpenApi, BodiesHaveTheRangesOfTheTable) {
  const Json chat = body_schema(ApiBody::kChat);
  EXPECT_EQ(chat["required"], Json::array({"messages"}));
  EXPECT_EQ(chat["properties"]["n"]["maximum"], limits::kRequestAnswers);
  EXPECT_EQ(chat["properties"]["top_p"]["maximum"], 1.0);
  EXPECT_EQ(chat["properties"]["max_tokens"]["minimum"], 1);
  EXPECT_EQ(chat["properties"]["logprobs"]["type"], Json::array({"boolean", "null"}));
  EXPECT_EQ(chat["properties"]["modalities"]["enum"],
            Json::array({Json::array({"text"}), nullptr}));
  const Json completion = body_schema(ApiBody::kCompletions);
  EXPECT_EQ(completion["properties"]["max_tokens"]["minimum"], 0);
  EXPECT_EQ(completion["properties"]["logprobs"]["maximum"], limits::kRequestLogprobs);
  EXPECT_FALSE(completion["properties"].contains("messages"));
  EXPECT_EQ(body_schema(ApiBody::kMessages)["properties"]["temperature"]["maximum"],
            chat["properties"]["temperature"]["maximum"]);
}

// What the document says of numbers is what the parser does.
TEST(OpenApi, TheParserHoldsToTheRanges) {
  const OpenAiParser parser({.sampling = {}, .tokenizer = nullptr, .vocab = 100});
  const Json schema = body_schema(ApiBody::kChat);
  size_t checked = 0;
  for (const auto& [name, field] : schema["properties"].items()) {
    if (!field.contains("minimum")) continue;
    if (name == "truncate_prompt_tokens" || name == "min_tokens" || name == "top_logprobs" ||
        name == "best_of" || name == "seed")
      continue;  // other fields bear on them, or there is nothing outside
    const auto takes = [&, key = name](const Json& value) {
      const Json body = {{"messages", Json::array({{{"role", "user"}, {"content", "x"}}})},
                         {key, value}};
      return std::holds_alternative<OpenAiRequest>(parser.parse(OpenAiEndpoint::kChat, body));
    };
    EXPECT_TRUE(takes(field["minimum"])) << name;
    if (name != "dry_multiplier") {  // needs a tokenizer
      EXPECT_TRUE(takes(field["maximum"])) << name;
    }
    if (field["minimum"].is_number_integer()) {
      EXPECT_FALSE(takes(field["minimum"].get<int64_t>() - 1)) << name;
      EXPECT_FALSE(takes(field["maximum"].get<int64_t>() + 1)) << name;
    } else {
      EXPECT_FALSE(takes(field["minimum"].get<double>() - 1)) << name;
      EXPECT_FALSE(takes(field["maximum"].get<double>() * 2 + 1)) << name;
    }
    ++checked;
  }
  EXPECT_GT(checked, 25U);
}

}  // namespace
}  // namespace ingot
