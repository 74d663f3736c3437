// SPDX-License-Identifier: Apache-2.0
#include "api/batch_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/limits.h"

namespace ingot {
namespace {

class BatchFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              fmt::format("batch_{}_{}", ::getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name, std::ios::binary).rdbuf();
    return text.str();
  }
  Result<BatchFile> open(bool overwrites = false) const {
    return BatchFile::open({folder_ / "in", folder_ / "out", overwrites});
  }

  std::filesystem::path folder_;
};

std::string request_line(const std::string& id) {
  return R"({"custom_id":")" + id +
         R"(","method":"POST","url":"/v1/completions","body":{"prompt":"x"}})" + "\n";
}

std::string answer(uint64_t number, const std::string& id) {
  return reply_line(number, id, 200, {{"x", 1}});
}

TEST_F(BatchFileTest, CountsWholeLinesOfAnEarlierRunAsDone) {
  write("in", request_line("a") + "\n" + request_line("b") + request_line("c"));
  write("out.partial", answer(4, "c") + answer(1, "a"));
  const auto file = open();
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  EXPECT_EQ(file->progress().requests, 3);
  EXPECT_EQ(file->progress().resumed, 2);
  EXPECT_FALSE(file->is_answered());
  EXPECT_EQ(read("out.partial"), answer(4, "c") + answer(1, "a"));
}

TEST_F(BatchFileTest, CutsATornLastLineAtEveryByte) {
  write("in", request_line("a") + request_line("b"));
  const std::string first = answer(1, "a");
  const std::string last = answer(2, "b");
  for (size_t size = 0; size < last.size(); ++size) {
    write("out.partial", first + last.substr(0, size));
    const auto file = open();
    ASSERT_TRUE(file.is_ok()) << file.status().message();
    EXPECT_EQ(file->progress().resumed, 1) << size;
    EXPECT_EQ(read("out.partial"), first) << size;
  }
}

TEST_F(BatchFileTest, DropsLinesThatAnswerNothingOfTheInput) {
  write("in", request_line("a") + request_line("b") + "no json\n");
  const std::string bad = error_line(3, {"invalid_json_line", "m"});
  write("out.partial", answer(1, "a") + "garbage\n" + answer(9, "z") + bad + answer(1, "a") + bad +
                           error_line(1, {"c", "m"}) + error_line(99, {"c", "m"}) +
                           answer(2, "b").substr(0, 20) + "\n");
  const auto file = open();
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  EXPECT_EQ(file->progress().resumed, 2);
  EXPECT_EQ(read("out.partial"), answer(1, "a") + bad);
}

TEST_F(BatchFileTest, FinishesWithoutAModelWhenAllIsAnswered) {
  write("in", request_line("a") + request_line("a") + "[]\n");
  const std::string all = answer(1, "a") + error_line(3, {"missing_custom_id", "m"}) +
                          error_line(2, {"duplicate_custom_id", "m"});
  write("out.partial", all);
  auto file = open();
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  ASSERT_TRUE(file->is_answered());
  ASSERT_TRUE(file->finish().is_ok());
  EXPECT_EQ(read("out"), all);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.partial"));
}

TEST_F(BatchFileTest, RefusesToOverwriteWithoutBeingTold) {
  write("in", request_line("a"));
  write("out", "old");
  EXPECT_EQ(open().status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(open(true).is_ok());
  EXPECT_EQ(read("out"), "old");
}

TEST_F(BatchFileTest, RefusesAnOutputThatIsTheInput) {
  write("in", request_line("a"));
  EXPECT_FALSE(BatchFile::open({folder_ / "in", folder_ / "." / "in", true}).is_ok());
  write("out.partial", request_line("a"));
  EXPECT_FALSE(BatchFile::open({folder_ / "out.partial", folder_ / "out", true}).is_ok());
  EXPECT_EQ(read("out.partial"), request_line("a"));
  std::filesystem::create_symlink(folder_ / "in", folder_ / "link");
  EXPECT_FALSE(BatchFile::open({folder_ / "in", folder_ / "link", true}).is_ok());
}

TEST_F(BatchFileTest, RefusesASecondRunAtTheSameTime) {
  write("in", request_line("a"));
  const auto first = open();
  ASSERT_TRUE(first.is_ok());
  const auto second = open();
  ASSERT_FALSE(second.is_ok());
  EXPECT_NE(second.status().message().find("another run"), std::string::npos);
}

TEST_F(BatchFileTest, NamesAnInputThatIsNotThere) {
  EXPECT_EQ(open().status().code(), StatusCode::kNotFound);
}

BatchLine parse(const std::string& text) {
  return parse_batch_line({.number = 3, .text = text});
}

TEST(BatchLine, ReadsARequest) {
  const BatchLine line = parse(
      R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"n":1},"more":1})");
  const auto& request = std::get<BatchRequest>(line);
  EXPECT_EQ(request.custom_id, "a");
  EXPECT_EQ(request.endpoint, OpenAiEndpoint::kChat);
  EXPECT_EQ(request.body, Json({{"n", 1}}));
  EXPECT_FALSE(request.error.has_value());
}

TEST(BatchLine, AWrongCallKeepsItsId) {
  for (const auto& [text, param] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"({"custom_id":"a","url":"/v1/completions","body":{}})", "method"},
           {R"({"custom_id":"a","method":"GET","url":"/v1/completions","body":{}})", "method"},
           {R"({"custom_id":"a","method":"POST","url":"/v1/embeddings","body":{}})", "url"},
           {R"({"custom_id":"a","method":"POST","url":7,"body":{}})", "url"},
           {R"({"custom_id":"a","method":"POST","url":"/v1/completions"})", "body"},
           {R"({"custom_id":"a","method":"POST","url":"/v1/completions","body":[]})", "body"}}) {
    const BatchLine line = parse(text);
    const auto& request = std::get<BatchRequest>(line);
    ASSERT_TRUE(request.error.has_value()) << text;
    EXPECT_EQ(request.error->param, param);
  }
}

TEST(BatchLine, ALineWithoutAnIdIsAnErrorOfItsOwn) {
  const auto code = [](const LineReader::Line& line) {
    return std::get<BatchLineError>(parse_batch_line(line)).code;
  };
  EXPECT_EQ(code({.number = 1, .text = "{"}), "invalid_json_line");
  EXPECT_EQ(code({.number = 1, .text = "[]"}), "missing_custom_id");
  EXPECT_EQ(code({.number = 1, .text = R"({"custom_id":""})"}), "missing_custom_id");
  EXPECT_EQ(code({.number = 1, .text = R"({"custom_id":7})"}), "missing_custom_id");
  EXPECT_EQ(code({.number = 1, .text = "", .is_too_long = true}), "line_too_long");
  const std::string long_id(limits::kRequestNameBytes + 1, 'x');
  EXPECT_EQ(code({.number = 1, .text = R"({"custom_id":")" + long_id + "\"}"}),
            "missing_custom_id");
}

TEST(BatchLine, OutputLinesAreReadBack) {
  const std::string line = reply_line(12, "q\"\n", 400, {{"a", 1}});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto answered = parse_answered(std::string_view(line).substr(0, line.size() - 1));
  ASSERT_TRUE(answered.has_value());
  EXPECT_EQ(answered->number, 12U);
  EXPECT_EQ(answered->custom_id, "q\"\n");
  for (size_t size = 0; size + 1 < line.size(); ++size)
    EXPECT_FALSE(parse_answered(std::string_view(line).substr(0, size)).has_value()) << size;
  EXPECT_FALSE(parse_answered(error_line(5, {"c", "m"}))->custom_id.has_value());
}

}  // namespace
}  // namespace ingot
