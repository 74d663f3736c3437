// SPDX-License-Identifier: Apache-2.0
#include "api/ollama_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ingot {
namespace {

using testing::HasSubstr;
using testing::Not;

const OllamaModel& default_model() {
  static const OllamaModel kDefault = [] {
    ModelOptions options;
    options.checks_tensors = false;
    return ollama_model(load_model("default", options).value(), "default", 512, {});
  }();
  return kDefault;
}

class OllamaModels : public testing::Test {
  void SetUp() override {
    if (default_model_bytes().empty()) GTEST_SKIP() << "no model is embedded";
  }
};

TEST_F(OllamaModels, AreListedWithTheirDetails) {
  const Json entry = ollama_tags(std::span(&default_model(), 1))["models"][0];
  EXPECT_EQ(entry["name"], "default:latest");
  EXPECT_EQ(entry["model"], "default:latest");
  EXPECT_EQ(entry["modified_at"], "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(entry["size"], default_model_bytes().size());
  EXPECT_EQ(entry["digest"].get<std::string>().size(), 64U);
  EXPECT_EQ(entry["details"]["format"], "gguf");
  EXPECT_THAT(entry["details"]["parameter_size"].get<std::string>(), HasSubstr("M"));
}

TEST_F(OllamaModels, RunForEver) {
  const Json entry = ollama_ps(std::span(&default_model(), 1))["models"][0];
  EXPECT_EQ(entry["context_length"], 512);
  EXPECT_EQ(entry["expires_at"], "9999-12-31T23:59:59Z");
}

TEST_F(OllamaModels, AreShownWithTheKeysOfTheirFile) {
  const Json body = ollama_show(default_model());
  const std::string architecture = body["model_info"]["general.architecture"];
  EXPECT_EQ(body["details"]["family"], architecture);
  EXPECT_GT(body["model_info"][architecture + ".block_count"], 0);
  EXPECT_EQ(body["capabilities"][0], "completion");
  EXPECT_THAT(dump_json(body), Not(HasSubstr("tokenizer.ggml.tokens")));
  EXPECT_THAT(body["parameters"].get<std::string>(), HasSubstr("temperature"));
}

TEST(OllamaModelName, IsReadFromEitherField) {
  EXPECT_EQ(ollama_show_name(Json{{"model", "m:latest"}}).value(), "m");
  EXPECT_EQ(ollama_show_name(Json{{"name", "m:7b"}, {"verbose", true}}).value(), "m:7b");
  EXPECT_FALSE(ollama_show_name(Json::object()).is_ok());
  EXPECT_FALSE(ollama_show_name(Json{{"model", 5}}).is_ok());
  EXPECT_FALSE(ollama_show_name(Json::array()).is_ok());
}

}  // namespace
}  // namespace ingot
