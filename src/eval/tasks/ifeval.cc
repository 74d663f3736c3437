// SPDX-License-Identifier: Apache-2.0
// IFEval: prompts with instructions that a program can check.
#include "base/limits.h"
#include "eval/tasks/task_file.h"
#include "eval/tasks/task_loaders.h"

namespace ingot {
namespace {

constexpr int64_t kResponseTokens = 1280;

Result<InstructionItem> parse_prompt(const TaskObject& line) {
  InstructionItem item;
  INGOT_TRY(item.prompt, line.string("prompt"));
  INGOT_TRY(const std::vector<std::string> ids,
            line.strings("instruction_id_list", limits::kTaskInstructions));
  const Json* arguments = line.find("kwargs");
  if (arguments == nullptr || !arguments->is_array() || arguments->size() != ids.size())
    return line.error("'kwargs' must be a list with an object for each instruction");
  if (ids.empty()) return line.error("'instruction_id_list' is empty");
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!(*arguments)[i].is_object()) return line.error("each of 'kwargs' must be an object");
    INGOT_TRY(Instruction instruction,
              parse_instruction(ids[i], TaskObject((*arguments)[i], line.place())));
    item.instructions.push_back(std::move(instruction));
  }
  return item;
}

}  // namespace

Result<Task> load_ifeval(const TaskSpec& spec) {
  INGOT_TRY(const std::filesystem::path file,
            find_task_file(spec.data, {"input_data.jsonl", "ifeval_input_data.jsonl"}));
  Task task{.name = "ifeval"};
  INGOT_TRY(for_each_object(file, [&](const TaskObject& line) -> Result<bool> {
    INGOT_TRY(InstructionItem item, parse_prompt(line));
    item.max_tokens = spec.max_tokens < 0 ? kResponseTokens : spec.max_tokens;
    task.items.push_back({"", std::move(item)});
    return spec.limit < 0 || static_cast<int64_t>(task.items.size()) < spec.limit;
  }));
  return task;
}

}  // namespace ingot
