// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "base/log_thread.h"

namespace ingot {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::chrono::system_clock::time_point kTime(1'721'997'296'789ms);

std::string text_line(std::string_view message, std::vector<LogField> fields = {}) {
  return format_log_line(LogFormat::kText, kTime, LogLevel::kInfo, message, fields);
}

TEST(LogFormat, TextHasTimeLevelMessageAndFields) {
  EXPECT_EQ(text_line("request", {{"id", "4f2"},
                                  {"status", int64_t{200}},
                                  {"seconds", 0.25},
                                  {"is_new", true},
                                  {"what", "two words"},
                                  {"none", ""}}),
            "2024-07-26T12:34:56.789Z info request id=4f2 status=200 seconds=0.25 is_new=true "
            "what=\"two words\" none=\"\"\n");
  EXPECT_EQ(format_log_line(LogFormat::kPlain, kTime, LogLevel::kError, "a \"b\"", {}),
            "ingot: error: a \"b\"\n");
}

TEST(LogFormat, JsonIsOneObjectALine) {
  const std::vector<LogField> fields = {{"id", "a\"b\\c\n\x1b[2J\u009b\u2028\xff"},
                                        {"n", int64_t{-5}},
                                        {"x", std::numeric_limits<double>::infinity()},
                                        {"yes", false}};
  const std::string line =
      format_log_line(LogFormat::kJson, kTime, LogLevel::kWarning, "mess\nage", fields);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  const Result<Json> json = parse_json(line, "log");
  ASSERT_TRUE(json.is_ok()) << json.status().message() << line;
  EXPECT_EQ((*json)["time"], "2024-07-26T12:34:56.789Z");
  EXPECT_EQ((*json)["level"], "warning");
  EXPECT_EQ((*json)["message"], "mess\nage");
  EXPECT_EQ((*json)["id"], "a\"b\\c\n\x1b[2J\u009b\u2028\uFFFD");
  EXPECT_EQ((*json)["n"], -5);
  EXPECT_TRUE((*json)["x"].is_null());
}

TEST(LogFormat, NothingEndsALineOrDrivesATerminal) {
  const std::string line = text_line("a\r\n2024 error forged\x1b]0;x\x07", {{"f", "b\nc d=e"}});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  for (const char c : line.substr(0, line.size() - 1))
    EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  EXPECT_THAT(line, HasSubstr("f=\"b\\nc d=e\""));
}

class LogThreadTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::pipe(pipe_.data()), 0);
    set_log_format(LogFormat::kText);
  }
  void TearDown() override {
    set_log_format(LogFormat::kPlain);
    for (const int descriptor : pipe_)
      ::close(descriptor);
  }
  std::string read_some() const {
    std::string text(1 << 20, '\0');
    const ssize_t size = ::read(pipe_[0], text.data(), text.size());
    text.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
    return text;
  }
  std::array<int, 2> pipe_{};
};

TEST_F(LogThreadTest, WritesLinesInOrder) {
  {
    LogThread thread(pipe_[1]);
    for (int i = 0; i < 100; ++i)
      log_error("line {}.", i);
    thread.flush(10s);
  }
  const std::string text = read_some();
  size_t at = 0;
  for (int i = 0; i < 100; ++i) {
    at = text.find(fmt::format("line {}.", i), at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST_F(LogThreadTest, AReaderThatStopsStopsNobody) {
  const int64_t before = log_lines_dropped();
  LogThread thread(pipe_[1], size_t{64} << 10);
  const std::string line(1000, 'x');
  for (int i = 0; i < 1000; ++i)  // a megabyte: more than the pipe and the buffer hold
    log_error("{}", line);
  EXPECT_GT(log_lines_dropped(), before);
  std::string all;
  while (all.find("were dropped") == std::string::npos) {
    all += read_some();  // now somebody reads
    if (all.size() > (size_t{8} << 20)) break;
  }
  EXPECT_THAT(all, HasSubstr("lines of the log were dropped"));
}

TEST_F(LogThreadTest, EndsAlthoughNobodyReads) {
  const auto start = std::chrono::steady_clock::now();
  {
    const LogThread thread(pipe_[1]);
    for (int i = 0; i < 200; ++i)
      log_error("{}", std::string(1000, 'x'));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
}

}  // namespace
}  // namespace ingot
