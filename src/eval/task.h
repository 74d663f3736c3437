// SPDX-License-Identifier: Apache-2.0
// A task as data: what the model is asked and what counts as right. Loaders (eval/tasks/) turn the
// files of each benchmark into this; the runner knows no benchmark.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "eval/instruction.h"

namespace ingot {

// What a user asks for.
struct TaskSpec {
  std::string name = {};            // "hellaswag", ..., or a path that ends in .jsonl
  std::filesystem::path data = {};  // a file or folder; empty: only for a .jsonl name
  int64_t limit = -1;               // items; -1: all
  int64_t shots = -1;               // examples before each question; -1: the task's usual number
  int64_t max_tokens = -1;          // of an answer; -1: the task's
  bool uses_chat = false;           // answers are asked for through the model's chat template
};

// Which continuation is the likeliest? Scored by log-likelihood, nothing is generated.
struct ChoiceItem {
  std::string context = {};
  std::vector<std::string> choices = {};  // each follows the context after a blank
  std::vector<bool> is_right = {};        // one per choice; at least one is
};

enum class Extraction : uint8_t {
  kAll,        // the answer without blanks around it
  kFirstLine,  // its first line that is not blank
  kNumber,     // the number after "####", else the last number
};

// An answer is generated and compared.
struct AnswerItem {
  std::string prompt = {};
  bool is_chat = false;  // the prompt is a user's message
  std::vector<std::string> stop = {};
  int64_t max_tokens = 256;
  std::vector<std::string> expected = {};  // any of these
  bool is_contained = false;               // it is enough that the answer has it somewhere
  bool ignores_case = false;
  Extraction extraction = Extraction::kAll;
};

// Instructions whose following a program can check.
struct InstructionItem {
  std::string prompt = {};
  int64_t max_tokens = 1280;
  std::vector<Instruction> instructions = {};
};

// How well is a text predicted?
struct TextItem {
  std::string text = {};
};

struct TaskItem {
  std::string group = {};  // a subject; may be empty
  std::variant<ChoiceItem, AnswerItem, InstructionItem, TextItem> what = {};
};

struct Task {
  std::string name = {};
  int64_t shots = 0;
  bool has_mc2 = false;  // TruthfulQA's measures besides
  std::vector<TaskItem> items = {};
};

// kInvalidData with file and line for a bad item; kNotFound for a task or file that is not there.
Result<Task> load_task(const TaskSpec& spec);
// "hellaswag, mmlu, ..." for messages.
std::string task_names();

}  // namespace ingot
