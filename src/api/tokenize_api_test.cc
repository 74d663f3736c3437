// SPDX-License-Identifier: Apache-2.0
#include "api/tokenize_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ingot {
namespace {

using testing::HasSubstr;

// "é" is the two tokens 6 and 7; <s> is added in front.
const TextSide& text_side() {
  static const TextSide kSide = [] {
    TextSide side;
    side.tokenizer = Tokenizer::from_tokenizer_json(
                         R"({"added_tokens":[{"id":8,"content":"<s>","special":true}],
                "model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"\u0120":3,"\u0120a":4,
                "\u010a":5,"\u00c3":6,"\u00a9":7,"<s>":8,":":9},"merges":["a b","\u0120 a"]},
                "pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":false},
                "post_processor":{"type":"TemplateProcessing",
                  "single":[{"SpecialToken":{"id":"<s>","type_id":0}},
                            {"Sequence":{"id":"A","type_id":0}}],
                  "pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],
                  "special_tokens":{"<s>":{"id":"<s>","ids":[8],"tokens":["<s>"]}}},
                "decoder":{"type":"ByteLevel"}})",
                         "tokenizer.json")
                         .value();
    side.chat_template = ChatTemplateSource{
        "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}"
        "{% if tools %}b{% endif %}{% if extra %}{{ extra }}{% endif %}"
        "{% if add_generation_prompt %}:{% endif %}",
        "test"};
    side.bos_token = "<s>";
    side.eos_token = "</s>";
    return side;
  }();
  return kSide;
}

const TokenizeApi& api() {
  static const TokenizeApi kApi(
      text_side(),
      {.model = "m", .build = "ingot 1", .context = 64, .vocab = 12, .slots = 3, .sampling = {}});
  return kApi;
}

Json json_of(std::string_view text) {
  return parse_json(text, "test").value();
}

std::string tokenized(std::string_view body) {
  const Result<Json> reply = api().tokenize(json_of(body));
  return reply.is_ok() ? dump_json(*reply) : "error: " + reply.status().message();
}

std::string detokenized(std::string_view body) {
  const Result<Json> reply = api().detokenize(json_of(body));
  return reply.is_ok() ? dump_json(*reply) : "error: " + reply.status().message();
}

TEST(TokenizeApi, AnswersVllmsClients) {
  EXPECT_EQ(tokenized(R"({"model":"m","prompt":"ab a"})"),
            R"({"count":3,"max_model_len":64,"tokens":[8,2,4]})");
  EXPECT_EQ(tokenized(R"({"prompt":"ab a","add_special_tokens":false,"return_token_strs":true})"),
            R"({"count":2,"max_model_len":64,"tokens":[2,4],"token_strs":["ab","Ġa"]})");
}

TEST(TokenizeApi, AnswersLlamaServersClients) {
  EXPECT_EQ(tokenized(R"({"content":"ab a"})"), R"({"tokens":[2,4]})");
  EXPECT_EQ(tokenized(R"({"content":"a","add_special":true})"), R"({"tokens":[8,0]})");
  EXPECT_EQ(tokenized(R"({"content":"<s>"})"), R"({"tokens":[8]})");
  EXPECT_EQ(tokenized(R"({"content":"aé","with_pieces":true})"),
            R"({"tokens":[{"id":0,"piece":"a"},{"id":6,"piece":[195]},{"id":7,"piece":[169]}]})");
}

TEST(TokenizeApi, TokenizesWhatAChatBecomes) {
  EXPECT_EQ(tokenized(R"({"messages":[{"role":"user","content":"ab"}]})"),
            R"({"count":3,"max_model_len":64,"tokens":[8,2,9]})");
  EXPECT_EQ(tokenized(R"({"messages":[{"role":"user","content":"a"}],"add_generation_prompt":false,
                "tools":[{"type":"function","function":{"name":"f"}}],
                "chat_template_kwargs":{"extra":"a"}})"),
            R"({"count":3,"max_model_len":64,"tokens":[8,2,0]})");
}

TEST(TokenizeApi, NeedsExactlyOneText) {
  for (const char* body : {"{}", R"({"prompt":"a","content":"a"})", R"({"prompt":null})", "[]"})
    EXPECT_THAT(tokenized(body), HasSubstr("error: ")) << body;
  EXPECT_EQ(tokenized(R"({"prompt":5})"), "error: prompt must be a string");
  EXPECT_EQ(tokenized(R"({"content":["a"]})"), "error: content must be a string");
  EXPECT_THAT(tokenized(R"({"messages":[]})"), HasSubstr("error: messages must be"));
  EXPECT_THAT(tokenized(R"({"messages":[{"role":"user","content":"a"}],"tools":"x"})"),
              HasSubstr("error: tools must be"));
  EXPECT_THAT(tokenized(R"({"messages":[{"role":"user","content":"a"}],"chat_template":"x"})"),
              HasSubstr("error: chat_template is not supported"));
  EXPECT_THAT(tokenized(R"({"prompt":"a","return_token_strs":1})"),
              HasSubstr("error: return_token_strs must be"));
}

TEST(TokenizeApi, UnknownFieldsBecomeWarnings) {
  EXPECT_THAT(tokenized(R"({"content":"a","colour":1})"),
              HasSubstr(R"("warnings":["the unknown field 'colour' is ignored"])"));
}

TEST(TokenizeApi, DetokenizesUnderBothNames) {
  EXPECT_EQ(detokenized(R"({"tokens":[8,2,4,6,7]})"),
            R"({"prompt":"<s>ab aé","content":"<s>ab aé"})");
  EXPECT_EQ(detokenized(R"({"tokens":[]})"), R"({"prompt":"","content":""})");
  EXPECT_EQ(detokenized(R"({"tokens":[11]})"), R"({"prompt":"","content":""})");  // padding
  EXPECT_THAT(detokenized(R"({"tokens":[12]})"), HasSubstr("error: tokens holds 12"));
  EXPECT_THAT(detokenized(R"({"tokens":["a"]})"), HasSubstr("error: tokens holds"));
  EXPECT_THAT(detokenized("{}"), HasSubstr("error: tokens is missing"));
}

TEST(TokenizeApi, AppliesTheTemplate) {
  EXPECT_EQ(dump_json(*api().apply_template(
                json_of(R"({"messages":[{"role":"user","content":"ab"}],"temperature":0})"))),
            R"({"prompt":"<s>ab:"})");
}

TEST(TokenizeApi, DescribesTheTokenizer) {
  const Json info = *api().tokenizer_info();
  EXPECT_EQ(info["bos_token"], "<s>");
  EXPECT_EQ(info["eos_token"], "</s>");
  EXPECT_EQ(info["pad_token"], nullptr);
  EXPECT_THAT(info["chat_template"].get<std::string>(), HasSubstr("messages"));
}

TEST(TokenizeApi, PropsTellNoPath) {
  const Json props = api().props();
  EXPECT_EQ(props["model_path"], "m");
  EXPECT_EQ(props["total_slots"], 3);
  EXPECT_EQ(props["build_info"], "ingot 1");
  EXPECT_EQ(props["default_generation_settings"]["n_ctx"], 64);
  EXPECT_EQ(props["default_generation_settings"]["params"]["top_k"], 40);
}

TEST(TokenizeApi, AModelWithoutATokenizerSaysSo) {
  TextSide none;
  none.tokenizer_status = none.template_status = Status::not_found("none");
  const TokenizeApi empty(none, {});
  EXPECT_EQ(empty.tokenize(json_of(R"({"prompt":"a"})")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(empty.detokenize(json_of(R"({"tokens":[]})")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(empty.apply_template(json_of(R"({"messages":[{"role":"user","content":"a"}]})"))
                .status()
                .code(),
            StatusCode::kNotFound);
  EXPECT_EQ(empty.tokenizer_info().status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace ingot
