// SPDX-License-Identifier: Apache-2.0
#include "eval/task_runner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>

#include "api/loaded_model.h"
#include "base/json.h"
#include "eval/task_score.h"
#include "eval/tasks/task_file.h"

namespace ingot {
namespace {

constexpr std::chrono::milliseconds kWait{50};

// One request of an item: a choice, a text, or an answer.
struct Part {
  size_t item = 0;
  size_t choice = 0;
};

// First choices of a block of items, then their second ones: a question's beginning is cached by
// the time its other choices come, and no step waits for it.
std::vector<Part> order_parts(const Task& task, int64_t block_items) {
  const auto count_of = [&](size_t item) {
    const auto* choices = std::get_if<ChoiceItem>(&task.items[item].what);
    return choices == nullptr ? size_t{1} : choices->choices.size();
  };
  std::vector<Part> parts;
  const auto block = static_cast<size_t>(std::max<int64_t>(block_items, 1));
  for (size_t begin = 0; begin < task.items.size(); begin += block) {
    const size_t end = std::min(begin + block, task.items.size());
    bool has_more = true;
    for (size_t choice = 0; has_more; ++choice) {
      has_more = false;
      for (size_t item = begin; item < end; ++item) {
        if (choice < count_of(item)) parts.push_back({item, choice});
        has_more = has_more || choice + 1 < count_of(item);
      }
    }
  }
  return parts;
}

class Runner {
 public:
  Runner(TextEngine& engine, const Task& task, const TaskRunOptions& options)
      : engine_(engine),
        task_(task),
        options_(options),
        tokenizer_(engine.model().text.tokenizer.get()),
        parts_(order_parts(task, options.block_items)),
        results_(task.items.size()) {
    for (size_t i = 0; i < task.items.size(); ++i) {
      const auto* choices = std::get_if<ChoiceItem>(&task.items[i].what);
      results_[i].logprobs.resize(choices == nullptr ? 1 : choices->choices.size());
    }
  }

  Result<TaskEntry> run() {
    if (tokenizer_ == nullptr) return engine_.model().text.tokenizer_status;
    const auto start = std::chrono::steady_clock::now();
    while (true) {
      INGOT_TRY(submit_more());
      if (flying_.empty()) break;
      INGOT_TRY(collect());
      const TaskProgress progress{done_, static_cast<int64_t>(parts_.size())};
      if (options_.goes_on && !options_.goes_on(progress))
        return Status::cancelled("the task was stopped");
    }
    TaskTally tally;
    for (size_t i = 0; i < task_.items.size(); ++i)
      tally.add(task_, task_.items[i], results_[i]);
    TaskEntry entry = tally.entry(task_);
    entry.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return entry;
  }

 private:
  struct Flying {
    Part part;
    size_t first_scored = 0;
    bool is_scored = false;
    std::unique_ptr<TextStream> stream = {};
  };

  Status submit_more() {
    while (next_ < parts_.size() &&
           static_cast<int64_t>(flying_.size()) < options_.most_in_flight) {
      const Part part = parts_[next_++];
      Flying flying{part};
      TextRequest request;
      const TaskItem& item = task_.items[part.item];
      const Status made = make_request(item, part.choice, request, flying);
      if (!made.is_ok()) return made.with_context(fmt::format("item {}", part.item + 1));
      Result<std::unique_ptr<TextStream>> stream = engine_.submit(request);
      if (!stream.is_ok())
        return stream.status().with_context(fmt::format("item {}", part.item + 1));
      flying.stream = *std::move(stream);
      flying_.push_back(std::move(flying));
    }
    return Status::ok();
  }

  Status make_request(const TaskItem& item, size_t choice, TextRequest& request, Flying& flying) {
    request.sampling = engine_.default_sampling();
    request.sampling.temperature = 0;
    request.sampling.repetition_penalty = 1;  // what is measured is the model, not its sampling
    request.sampling.presence_penalty = request.sampling.frequency_penalty = 0;
    if (const auto* choices = std::get_if<ChoiceItem>(&item.what))
      return score_continuation(choices->context, " " + choices->choices[choice], request, flying);
    if (const auto* text = std::get_if<TextItem>(&item.what))
      return score_continuation("", text->text, request, flying);
    if (const auto* answer = std::get_if<AnswerItem>(&item.what)) {
      request.stop = answer->stop;
      return ask(answer->prompt, answer->is_chat, answer->max_tokens, request);
    }
    const auto& instructions = std::get<InstructionItem>(item.what);
    const bool has_template = engine_.model().text.chat_template.has_value();
    return ask(instructions.prompt, has_template, instructions.max_tokens, request);
  }

  // The continuation's tokens are those of the whole text behind what it shares with the context's.
  Status score_continuation(std::string_view context, const std::string& continuation,
                            TextRequest& request, Flying& flying) const {
    EncodeOptions encoding;
    encoding.parse_special = false;  // a benchmark's text is text
    INGOT_TRY(std::vector<TokenId> whole,
              tokenizer_->encode(std::string(context) + continuation, encoding));
    size_t first = 1;
    if (!context.empty()) {
      INGOT_TRY(const std::vector<TokenId> before, tokenizer_->encode(context, encoding));
      const auto [unused, here] = std::ranges::mismatch(before, whole);
      first = std::max<size_t>(static_cast<size_t>(here - whole.begin()), 1);
    }
    // What is too long loses its beginning, but not its bos.
    const auto most = static_cast<size_t>(engine_.context());
    if (whole.size() > most) {
      const std::optional<TokenId> bos = tokenizer_->special().bos;
      const size_t kept = bos && whole.front() == *bos ? 1 : 0;
      const size_t dropped = whole.size() - most;
      whole.erase(whole.begin() + static_cast<ptrdiff_t>(kept),
                  whole.begin() + static_cast<ptrdiff_t>(kept + dropped));
      first = first > dropped + kept ? first - dropped : kept + 1;
    }
    if (whole.size() < 2 || first >= whole.size())
      return Status::invalid_data("has no token to score");
    request.prompt_ids = std::move(whole);
    request.max_tokens = 0;
    request.sampling.prompt_logprobs = 0;
    request.sampling.prompt_logprobs_from = static_cast<int32_t>(first);
    flying.first_scored = first;
    flying.is_scored = true;
    return Status::ok();
  }

  Status ask(const std::string& prompt, bool is_chat, int64_t max_tokens,
             TextRequest& request) const {
    if (is_chat) {
      request.messages = dump_json(Json::array({Json{{"role", "user"}, {"content", prompt}}}));
    } else {
      request.prompt = prompt;
    }
    INGOT_TRY(std::vector<TokenId> ids, engine_.prompt_ids(request));
    // Room for an answer: a prompt that is too long loses its beginning (the first examples).
    const int64_t room = std::min(max_tokens, engine_.context() / 2);
    const int64_t most = engine_.context() - room;
    if (static_cast<int64_t>(ids.size()) > most) {
      ids.erase(ids.begin(), ids.end() - static_cast<ptrdiff_t>(most));
      request.prompt.clear();
      request.messages.clear();
      request.prompt_ids = std::move(ids);
    }
    request.max_tokens = max_tokens;
    return Status::ok();
  }

  // Waits a little for the oldest; looks at all.
  Status collect() {
    flying_.front().stream->wait_for(kWait);
    for (Flying& flying : flying_) {
      ItemResult& result = results_[flying.part.item];
      while (std::optional<TextEvent> event = flying.stream->try_next()) {
        if (event->kind == TextEvent::Kind::kPrompt && flying.is_scored) {
          INGOT_TRY(add_up(*event->prompt, flying, result));
        }
        if (!flying.is_scored) result.answer += event->text;
      }
      if (!flying.stream->is_over()) continue;
      const Status status = flying.stream->status();
      if (!status.is_ok()) return status.with_context(fmt::format("item {}", flying.part.item + 1));
      flying.stream = nullptr;
      ++done_;
    }
    std::erase_if(flying_, [](const Flying& flying) { return flying.stream == nullptr; });
    return Status::ok();
  }

  static Status add_up(const PromptReport& report, const Flying& flying, ItemResult& result) {
    double sum = 0;
    for (size_t i = flying.first_scored; i < report.logprobs.size(); ++i) {
      if (!report.logprobs[i]) return Status::internal("a scored token has no likelihood");
      sum += static_cast<double>(report.logprobs[i]->logprob);
      ++result.tokens;
    }
    result.logprobs[flying.part.choice] = sum;
    return Status::ok();
  }

  TextEngine& engine_;
  const Task& task_;
  const TaskRunOptions& options_;
  const Tokenizer* tokenizer_;
  std::vector<Part> parts_;
  std::vector<ItemResult> results_;
  std::deque<Flying> flying_;
  size_t next_ = 0;
  int64_t done_ = 0;
};

}  // namespace

Result<TaskEntry> run_task(TextEngine& engine, const Task& task, const TaskRunOptions& options) {
  return Runner(engine, task, options).run();
}

}  // namespace ingot
