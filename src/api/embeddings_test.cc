// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/embeddings_reply.h"
#include "api/embeddings_request.h"

namespace ingot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr EmbeddingsEndpoint kOpenAi = EmbeddingsEndpoint::kOpenAi;
constexpr EmbeddingsLimits kModel = {.vocab = 100, .dimensions = 4};

EmbeddingsRequest parsed(const std::string& body, EmbeddingsEndpoint endpoint = kOpenAi) {
  auto result = parse_embeddings_text(endpoint, body, kModel);
  if (const auto* error = std::get_if<OpenAiError>(&result)) {
    ADD_FAILURE() << body << ": " << error->message;
    return {};
  }
  return std::get<EmbeddingsRequest>(std::move(result));
}

std::string refusal(const std::string& body, std::string_view param,
                    EmbeddingsEndpoint endpoint = kOpenAi) {
  auto result = parse_embeddings_text(endpoint, body, kModel);
  const auto* error = std::get_if<OpenAiError>(&result);
  if (error == nullptr) {
    ADD_FAILURE() << body << " was taken";
    return "";
  }
  EXPECT_EQ(error->param, param);
  EXPECT_EQ(error->http_status, 400);
  EXPECT_TRUE(error->message.starts_with(param)) << error->message;
  return error->message;
}

TEST(Embeddings, TakesTheFourFormsOfInput) {
  EXPECT_THAT(parsed(R"({"model":"m","input":"a"})").texts, ElementsAre("a"));
  EXPECT_THAT(parsed(R"({"input":["a","b"]})").texts, ElementsAre("a", "b"));
  EXPECT_THAT(parsed(R"({"input":[1,99]})").ids, ElementsAre(ElementsAre(1, 99)));
  EXPECT_THAT(parsed(R"({"input":[[1],[2,3]]})").ids,
              ElementsAre(ElementsAre(1), ElementsAre(2, 3)));
}

TEST(Embeddings, TellsClientsOfAnotherVocabularyWhatToDo) {
  EXPECT_THAT(refusal(R"({"input":[[1],[100]]})", "input"), HasSubstr("tiktoken"));
  EXPECT_THAT(refusal(R"({"input":[-1]})", "input"), HasSubstr("vocabulary [0, 100)"));
}

TEST(Embeddings, RefusesByName) {
  refusal(R"({"input":""})", "input");
  refusal(R"({"input":[]})", "input");
  refusal(R"({"input":[[]]})", "input");
  refusal(R"({"input":["a",1]})", "input");
  refusal(R"({"input":["a",[1]]})", "input");
  refusal(R"({"input":{"a":1}})", "input");
  refusal(R"({})", "input");
  refusal(R"({"input":"a","dimensions":5})", "dimensions");
  refusal(R"({"input":"a","dimensions":0})", "dimensions");
  refusal(R"({"input":"a","encoding_format":"hex"})", "encoding_format");
  refusal(R"({"input":"a","user":5})", "user");
  std::string many = R"("a")";
  for (size_t i = 0; i < limits::kEmbeddingInputs; ++i)
    many += R"(,"a")";
  EXPECT_THAT(refusal(fmt::format(R"({{"input":[{}]}})", many), "input"), HasSubstr("2048"));
}

TEST(Embeddings, OllamaHasItsOwnFields) {
  const EmbeddingsRequest request =
      parsed(R"({"model":"m","input":"a","truncate":false,"options":{"num_ctx":1},
                 "keep_alive":"5m","dimensions":2})",
             EmbeddingsEndpoint::kOllama);
  EXPECT_FALSE(request.truncates);
  EXPECT_EQ(request.dimensions, 2);
  EXPECT_TRUE(parsed(R"({"input":"a"})", EmbeddingsEndpoint::kOllama).truncates);
  EXPECT_THAT(parsed(R"({"prompt":"a"})", EmbeddingsEndpoint::kOllamaOne).texts, ElementsAre("a"));
  refusal(R"({"input":[1]})", "input", EmbeddingsEndpoint::kOllama);
  refusal(R"({"input":"a"})", "prompt", EmbeddingsEndpoint::kOllamaOne);
}

TEST(Embeddings, UnknownFieldsBecomeWarnings) {
  EXPECT_THAT(parsed(R"({"input":"a","colour":1})").warnings,
              ElementsAre("the unknown field 'colour' is ignored"));
}

TEST(Embeddings, VectorsAreCutThenScaledToLengthOne) {
  EXPECT_THAT(unit_vector(std::vector<float>{3, 4, 12}, 0),
              ElementsAre(3.0F / 13, 4.0F / 13, 12.0F / 13));
  EXPECT_THAT(unit_vector(std::vector<float>{3, 4, 12}, 2), ElementsAre(0.6F, 0.8F));
  EXPECT_THAT(unit_vector(std::vector<float>{0, 0}, 0), ElementsAre(0, 0));
}

TEST(Embeddings, Base64PadsToFour) {
  const auto encoded = [](std::string_view text) { return base64(std::as_bytes(std::span(text))); };
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("\xFF\xFE\xFD\xFC"), "//79/A==");
}

TEST(Embeddings, TheReplyHasTheShapeThatClientsRead) {
  const EmbeddingsResult result = {.vectors = {{0, 2}, {1, 0}}, .prompt_tokens = 5, .seconds = 0.5};
  EXPECT_EQ(dump_json(embeddings_reply({}, result, "m")),
            R"({"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.0,1.0]},)"
            R"({"object":"embedding","index":1,"embedding":[1.0,0.0]}],"model":"m",)"
            R"("usage":{"prompt_tokens":5,"total_tokens":5}})");
  const Json packed = embeddings_reply({.is_base64 = true}, result, "m");
  EXPECT_EQ(packed["data"][0]["embedding"], "AAAAAAAAgD8=");  // 0.0F, 1.0F
  EXPECT_EQ(dump_json(embeddings_reply({.endpoint = EmbeddingsEndpoint::kOllama}, result, "m")),
            R"({"model":"m","embeddings":[[0.0,1.0],[1.0,0.0]],"total_duration":500000000,)"
            R"("load_duration":0,"prompt_eval_count":5})");
  EXPECT_EQ(dump_json(embeddings_reply({.endpoint = EmbeddingsEndpoint::kOllamaOne}, result, "m")),
            R"({"embedding":[0.0,1.0]})");
}

}  // namespace
}  // namespace ingot
