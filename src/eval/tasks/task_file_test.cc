// SPDX-License-Identifier: Apache-2.0
// Task files from strangers: what is wrong is refused with file and line, and nothing is read past
// its bounds.
#include "eval/tasks/task_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/limits.h"
#include "eval/task.h"

namespace ingot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TaskFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(testing::TempDir()) /
        ("tasks_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path write(const std::string& name, std::string_view text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  Result<Task> custom(std::string_view lines) {
    return load_task({.name = write("own.jsonl", lines).string()});
  }
  void expect_error(std::string_view lines, std::string_view part) {
    const Result<Task> task = custom(lines);
    ASSERT_FALSE(task.is_ok()) << lines;
    EXPECT_THAT(task.status().message(), HasSubstr(std::string(part))) << lines;
  }
  std::filesystem::path folder_;
};

TEST_F(TaskFiles, ReadsEveryKindOfOnesOwnTask) {
  const Result<Task> task = custom(R"(
{"kind": "multiple_choice", "context": "1 + 1 =", "choices": ["1", "2"], "answer": 1, "group": "sums"}
{"kind": "multiple_choice", "context": "c", "choices": ["x", "y"], "answer": "B"}
{"kind": "multiple_choice", "context": "c", "choices": ["x", "y"], "answer": ["x", 1]}

{"kind": "exact_match", "prompt": "p", "answer": "42", "extract": "number", "stop": "\n", "max_tokens": 9}
{"kind": "contains", "prompt": "p", "answer": ["a", "b"], "ignore_case": true}
{"kind": "perplexity", "text": "Once upon a time"}
)");
  ASSERT_TRUE(task.is_ok()) << task.status().message();
  EXPECT_EQ(task->name, "own");
  ASSERT_EQ(task->items.size(), 6u);
  EXPECT_EQ(task->items[0].group, "sums");
  EXPECT_THAT(std::get<ChoiceItem>(task->items[0].what).is_right, ElementsAre(false, true));
  EXPECT_THAT(std::get<ChoiceItem>(task->items[1].what).is_right, ElementsAre(false, true));
  EXPECT_THAT(std::get<ChoiceItem>(task->items[2].what).is_right, ElementsAre(true, true));
  EXPECT_EQ(std::get<AnswerItem>(task->items[3].what).max_tokens, 9);
  EXPECT_TRUE(std::get<AnswerItem>(task->items[4].what).is_contained);
  EXPECT_EQ(std::get<TextItem>(task->items[5].what).text, "Once upon a time");
}

TEST_F(TaskFiles, RefusesBadLinesWithTheirNumber) {
  const std::string good = R"({"kind": "perplexity", "text": "a"})";
  expect_error(good + "\nnot json", "own.jsonl:2");
  expect_error(good + "\n[1]", "own.jsonl:2");
  expect_error(good + "\n" + std::string(100'000, '['), "own.jsonl:2");
  expect_error(good + "\n{\"kind\": \"perplexity\", \"text\": \"" +
                   std::string(limits::kTaskLineBytes, 'a') + "\"}",
               "own.jsonl:2: the line is longer");
  expect_error("{}", "'kind' must be a string");
  expect_error(R"({"kind": 1})", "'kind' must be a string");
  expect_error(R"({"kind": "essay"})", "'kind' is 'essay'");
  expect_error(R"({"kind": "perplexity"})", "'text'");
  expect_error(R"({"kind": "perplexity", "text": ""})", "'text' is empty");
  const std::string choice = R"({"kind": "multiple_choice", "context": "c", "choices": )";
  expect_error(choice + R"("ab", "answer": 0})", "'choices' must be a list");
  expect_error(choice + R"(["a"], "answer": 0})", "at least two");
  expect_error(choice + R"(["a", " "], "answer": 0})", "a choice is empty");
  expect_error(choice + R"(["a", "b"]})", "'answer' is missing");
  for (const char* answer :
       {"2", "-1", "\"C\"", "\"z\"", "[]", "[0, 5]", "{}", "1e300", "18446744073709551615"}) {
    expect_error(choice + R"(["a", "b"], "answer": )" + answer + "}", "'answer'");
  }
  std::string many = choice + "[\"0\"";
  for (size_t i = 1; i <= limits::kTaskChoices; ++i)
    many += fmt::format(",\"{}\"", i);
  expect_error(many + R"(], "answer": 0})", "more than");
  const std::string exact = R"({"kind": "exact_match", "prompt": "p", )";
  expect_error(exact + R"("answer": 5})", "'answer'");
  expect_error(exact + R"("answer": []})", "'answer' is empty");
  expect_error(exact + R"("answer": "a", "extract": "magic"})", "'extract'");
  expect_error(exact + R"("answer": "a", "max_tokens": 0})", "'max_tokens'");
  expect_error(exact + R"("answer": "a", "chat": "yes"})", "'chat'");
}

TEST_F(TaskFiles, RefusesTasksThatAreNotThere) {
  EXPECT_FALSE(load_task({.name = "no-such"}).is_ok());
  EXPECT_FALSE(load_task({.name = "hellaswag"}).is_ok()) << "no data";
  EXPECT_FALSE(load_task({.name = "hellaswag", .data = folder_}).is_ok()) << "an empty folder";
  EXPECT_FALSE(load_task({.name = "mmlu", .data = folder_}).is_ok());
  EXPECT_FALSE(load_task({.name = "/no/such.jsonl"}).is_ok());
  expect_error("\n\n", "no items");
}

TEST_F(TaskFiles, ReadsTablesWithQuotesAndLineBreaks) {
  const Result<CsvTable> table = parse_csv(
      "\xEF\xBB\xBF"
      "a,b\r\n\"x, \"\"y\"\"\",2\r\n\"two\nlines\",\n\n3,4",
      "t.csv");
  ASSERT_TRUE(table.is_ok()) << table.status().message();
  EXPECT_THAT(table->names, ElementsAre("a", "b"));
  ASSERT_EQ(table->rows.size(), 3u);
  EXPECT_THAT(table->rows[0], ElementsAre("x, \"y\"", "2"));
  EXPECT_THAT(table->rows[1], ElementsAre("two\nlines", ""));
  EXPECT_THAT(table->rows[2], ElementsAre("3", "4"));
  EXPECT_THAT(table->lines, ElementsAre(2, 3, 6));
}

TEST_F(TaskFiles, RefusesTablesThatBreakTheirForm) {
  const auto fails = [](std::string_view text, std::string_view part) {
    const Result<CsvTable> table = parse_csv(text, "t.csv");
    ASSERT_FALSE(table.is_ok()) << text;
    EXPECT_THAT(table.status().message(), HasSubstr(std::string(part)));
  };
  fails("", "empty");
  fails("a,b\n1\n", "t.csv:2");
  fails("a,b\n\"open", "no end");
  fails("a\n\xFF\n", "UTF-8");
  fails("a\n" + std::string(100, ','), "more than");
}

TEST_F(TaskFiles, ReadsTheBenchmarksFormats) {
  write("hellaswag_val.jsonl",
        R"({"activity_label": "Cooking", "ctx_a": "A man cooks.", "ctx_b": "he", "label": 1, )"
        R"("endings": ["[header] sings", "eats  [x]it.", "runs", "sits"]})");
  Result<Task> task = load_task({.name = "hellaswag", .data = folder_});
  ASSERT_TRUE(task.is_ok()) << task.status().message();
  const auto& hella = std::get<ChoiceItem>(task->items[0].what);
  EXPECT_EQ(hella.context, "Cooking: A man cooks. He");
  EXPECT_THAT(hella.choices, ElementsAre(" sings", "eats it.", "runs", "sits"));
  EXPECT_TRUE(hella.is_right[1]);

  std::filesystem::create_directories(folder_ / "mmlu/test");
  std::filesystem::create_directories(folder_ / "mmlu/dev");
  write("mmlu/test/moral_law_test.csv",
        "question,choice0,choice1,choice2,choice3,answer\n\"Why, so?\",a,b,c,d,2\n");
  write("mmlu/dev/moral_law_dev.csv",
        "question,choice0,choice1,choice2,choice3,answer\nHow?,e,f,g,h,B\n");
  task = load_task({.name = "mmlu", .data = folder_ / "mmlu"});
  ASSERT_TRUE(task.is_ok()) << task.status().message();
  EXPECT_EQ(task->shots, 5);
  const auto& mmlu = std::get<ChoiceItem>(task->items[0].what);
  EXPECT_EQ(mmlu.context,
            "The following are multiple choice questions (with answers) about moral law.\n\n"
            "How?\nA. e\nB. f\nC. g\nD. h\nAnswer: B\n\n"
            "Why, so?\nA. a\nB. b\nC. c\nD. d\nAnswer:");
  EXPECT_TRUE(mmlu.is_right[2]);
  EXPECT_EQ(task->items[0].group, "moral_law");

  write(
      "arc.jsonl",
      R"({"question": {"stem": "Q?", "choices": [{"text": "x", "label": "1"}, {"text": "y", "label": "2"}]}, "answerKey": "2"})"
      "\n"
      R"({"question": "Q?", "choices": {"text": ["x", "y"], "label": ["A", "B"]}, "answerKey": "A"})");
  task = load_task({.name = "arc", .data = folder_ / "arc.jsonl"});
  ASSERT_TRUE(task.is_ok()) << task.status().message();
  EXPECT_THAT(std::get<ChoiceItem>(task->items[0].what).is_right, ElementsAre(false, true));
  EXPECT_THAT(std::get<ChoiceItem>(task->items[1].what).is_right, ElementsAre(true, false));

  write("TruthfulQA.csv",
        "Category,Question,Best Answer,Correct Answers,Incorrect Answers\n"
        "Law,Why?,Yes,No idea; Yes,Never;  ; Always\n");
  task = load_task({.name = "truthfulqa", .data = folder_});
  ASSERT_TRUE(task.is_ok()) << task.status().message();
  const auto& truthful = std::get<ChoiceItem>(task->items[0].what);
  EXPECT_THAT(truthful.choices, ElementsAre("Yes", "No idea", "Never", "Always"));
  EXPECT_THAT(truthful.is_right, ElementsAre(true, true, false, false));

  write("test.jsonl",
        "{\"question\": \"a\", \"answer\": \"#### 1\"}\n"
        "{\"question\": \"b\", \"answer\": \"#### 2\"}\n");
  task = load_task({.name = "gsm8k", .data = folder_, .shots = 1});
  ASSERT_TRUE(task.is_ok()) << task.status().message();
  ASSERT_EQ(task->items.size(), 1u) << "the example is not asked";
  EXPECT_EQ(std::get<AnswerItem>(task->items[0].what).prompt,
            "Question: a\nAnswer: #### 1\n\nQuestion: b\nAnswer:");
  write("test.jsonl", "{\"question\": \"a\", \"answer\": \"none\"}\n");
  EXPECT_FALSE(load_task({.name = "gsm8k", .data = folder_, .shots = 0}).is_ok());

  write("input_data.jsonl",
        R"({"prompt": "p", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]})");
  task = load_task({.name = "ifeval", .data = folder_});
  ASSERT_TRUE(task.is_ok()) << task.status().message();
  write("input_data.jsonl",
        R"({"prompt": "p", "instruction_id_list": ["punctuation:no_comma"], "kwargs": []})");
  EXPECT_FALSE(load_task({.name = "ifeval", .data = folder_}).is_ok());
}

}  // namespace
}  // namespace ingot
