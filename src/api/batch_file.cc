// SPDX-License-Identifier: Apache-2.0
#include "api/batch_file.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <deque>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <variant>

#include "api/openai_job.h"
#include "api/text_engine.h"
#include "base/limits.h"

namespace ingot {
namespace {

constexpr std::chrono::milliseconds kNoWait{0};
constexpr std::chrono::milliseconds kWait{10};

bool is_blank_line(const LineReader::Line& line) {
  return !line.is_too_long && line.text.find_first_not_of(" \t") == std::string::npos;
}

bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code ignored;  // one of them is not there
  return std::filesystem::equivalent(a, b, ignored);
}

Status check_paths(const BatchPaths& paths) {
  std::filesystem::path partial = paths.output;
  partial += ".partial";
  if (is_same_file(paths.input, paths.output) || is_same_file(paths.input, partial)) {
    return Status::invalid_argument("{}: the output would overwrite the input; give another path",
                                    paths.input.string());
  }
  if (!paths.overwrites && std::filesystem::exists(paths.output)) {
    return Status::invalid_argument("{}: exists already; remove it or give --overwrite",
                                    paths.output.string());
  }
  return Status::ok();
}

}  // namespace

BatchFile::BatchFile(std::filesystem::path input, BatchOutput output, Lines lines)
    : input_(std::move(input)), output_(std::move(output)), states_(std::move(lines.states)) {
  progress_.requests = lines.requests;
  progress_.resumed = lines.resumed;
}

Result<BatchFile> BatchFile::open(const BatchPaths& paths) {
  INGOT_TRY(check_paths(paths));
  INGOT_TRY(LineReader reader, LineReader::open(paths.input, limits::kRequestBytes));
  Lines lines;
  std::unordered_map<std::string, size_t> line_of;  // custom_id
  while (true) {
    INGOT_TRY(const std::optional<LineReader::Line> line, reader.next());
    if (!line) break;
    if (is_blank_line(*line)) {
      lines.states.push_back(LineState::kBlank);
      continue;
    }
    ++lines.requests;
    const BatchLine parsed = parse_batch_line(*line);
    const auto* request = std::get_if<BatchRequest>(&parsed);
    if (request == nullptr) {
      lines.states.push_back(LineState::kBad);
      continue;
    }
    const bool is_new = line_of.try_emplace(request->custom_id, lines.states.size()).second;
    lines.states.push_back(is_new ? LineState::kOpen : LineState::kDuplicate);
  }
  // Answers are known by their custom_id; lines that have none of their own, by their number.
  const auto keeps = [&](const BatchAnswered& answered) {
    size_t index = answered.number - 1;  // number 0 becomes a large one
    if (answered.custom_id) {
      const auto found = line_of.find(*answered.custom_id);
      if (found == line_of.end()) return false;
      index = found->second;
    }
    if (index >= lines.states.size()) return false;
    LineState& state = lines.states[index];
    const bool is_open = answered.custom_id
                             ? state == LineState::kOpen
                             : state == LineState::kBad || state == LineState::kDuplicate;
    if (!is_open) return false;
    state = LineState::kAnswered;
    ++lines.resumed;
    return true;
  };
  INGOT_TRY(BatchOutput output, BatchOutput::open(paths.output, keeps));
  return BatchFile(paths.input, std::move(output), std::move(lines));
}

// Keeps the engine supplied and writes down what comes back.
class BatchFile::Runner {
 public:
  Runner(BatchFile& file, TextEngine& engine, const BatchOptions& options, LineReader reader)
      : file_(file),
        engine_(engine),
        options_(options),
        reader_(std::move(reader)),
        parser_(openai_defaults(engine)) {}

  Status run() {
    while (true) {
      INGOT_TRY(submit_more());
      if (jobs_.empty()) return Status::ok();
      INGOT_TRY(collect());
      if (options_.goes_on && !options_.goes_on(file_.progress_))
        return Status::cancelled("the batch was stopped");
    }
  }

 private:
  struct Flying {
    uint64_t number;
    std::string custom_id;
    std::unique_ptr<OpenAiJob> job;
  };

  Status submit_more() {
    while (!is_at_end_ && in_flight_ < options_.most_in_flight) {
      INGOT_TRY(const std::optional<LineReader::Line> line, reader_.next());
      if (!line) {
        is_at_end_ = true;
        break;
      }
      if (line->number > file_.states_.size())
        return Status::invalid_data("{}: has grown while it was read", file_.input_.string());
      INGOT_TRY(take(*line));
      if (options_.goes_on && !options_.goes_on(file_.progress_))
        return Status::cancelled("the batch was stopped");
    }
    return Status::ok();
  }

  Status take(const LineReader::Line& line) {
    const LineState state = file_.states_[line.number - 1];
    if (state == LineState::kBlank || state == LineState::kAnswered) return Status::ok();
    BatchLine parsed = parse_batch_line(line);
    if (const auto* error = std::get_if<BatchLineError>(&parsed))
      return write_failure(error_line(line.number, *error));
    auto& request = std::get<BatchRequest>(parsed);
    if (state != LineState::kOpen) {
      return write_failure(error_line(
          line.number,
          {"duplicate_custom_id", fmt::format("line {}: the custom_id '{}' stands on a line above",
                                              line.number, request.custom_id)}));
    }
    return start(line.number, request);
  }

  Status start(uint64_t number, BatchRequest& request) {
    const auto fail = [&](const OpenAiError& error) {
      return write_failure(
          reply_line(number, request.custom_id, error.http_status, error_body(error)));
    };
    if (request.error) return fail(*request.error);
    std::variant<OpenAiRequest, OpenAiError> parsed = parser_.parse(request.endpoint, request.body);
    if (const auto* error = std::get_if<OpenAiError>(&parsed)) return fail(*error);
    auto& openai = std::get<OpenAiRequest>(parsed);
    note_warnings(openai);
    auto started = OpenAiJob::start(engine_, std::move(openai));
    if (const auto* error = std::get_if<OpenAiError>(&started)) return fail(*error);
    auto& job = std::get<std::unique_ptr<OpenAiJob>>(started);
    in_flight_ += static_cast<int64_t>(job->prompts());
    jobs_.push_back({number, std::move(request.custom_id), std::move(job)});
    return Status::ok();
  }

  // The oldest job is waited for a little; all others are only looked at.
  Status collect() {
    std::chrono::milliseconds wait = kWait;
    std::erase_if(jobs_, [](const Flying& flying) { return flying.job == nullptr; });
    for (Flying& flying : jobs_) {
      if (!flying.job->poll(std::exchange(wait, kNoWait))) continue;
      INGOT_TRY(write_answer(flying));
      in_flight_ -= static_cast<int64_t>(flying.job->prompts());
      flying.job = nullptr;
    }
    std::erase_if(jobs_, [](const Flying& flying) { return flying.job == nullptr; });
    return Status::ok();
  }

  Status write_answer(const Flying& flying) {
    const OpenAiJob& job = *flying.job;
    Status status = job.status();
    // Without its weights the engine answers nothing more: stop rather than fail line by line.
    if (status.code() == StatusCode::kIo || status.code() == StatusCode::kCancelled) return status;
    std::optional<OpenAiError> error = job.broken_off();
    if (!status.is_ok()) error = to_openai_error(status);
    if (error) {
      return write_failure(
          reply_line(flying.number, flying.custom_id, error->http_status, error_body(*error)));
    }
    const bool is_chat = job.request().endpoint == OpenAiEndpoint::kChat;
    Json body = job.reply({.id = fmt::format("{}-{}", is_chat ? "chatcmpl" : "cmpl", flying.number),
                           .created = std::time(nullptr),
                           .model = engine_.model().name,
                           .tokenizer = nullptr});
    BatchProgress& progress = file_.progress_;
    progress.prompt_tokens += job.counts().prompt_tokens;
    progress.answer_tokens += job.counts().generated_tokens;
    progress.reused_tokens += job.counts().reused_tokens;
    return write(reply_line(flying.number, flying.custom_id, 200, std::move(body)));
  }

  Status write_failure(const std::string& line) {
    ++file_.progress_.failed;
    return write(line);
  }

  Status write(const std::string& line) {
    ++file_.progress_.answered;
    return file_.output_.append(line);
  }

  void note_warnings(const OpenAiRequest& request) {
    const auto note = [&](const std::string& warning) {
      std::vector<std::string>& all = file_.warnings_;
      if (all.size() < limits::kRequestWarnings && std::ranges::find(all, warning) == all.end())
        all.push_back(warning);
    };
    for (const std::string& warning : request.warnings)
      note(warning);
    if (!request.model.empty() && request.model != engine_.model().name)
      note(fmt::format("requests for '{}' are answered by '{}'", request.model,
                       engine_.model().name));
  }

  BatchFile& file_;
  TextEngine& engine_;
  const BatchOptions& options_;
  LineReader reader_;
  OpenAiParser parser_;
  std::deque<Flying> jobs_;
  int64_t in_flight_ = 0;
  bool is_at_end_ = false;
};

Status BatchFile::run(TextEngine& engine, const BatchOptions& options) {
  INGOT_TRY(LineReader reader, LineReader::open(input_, limits::kRequestBytes));
  INGOT_TRY(Runner(*this, engine, options, std::move(reader)).run());
  return finish();
}

}  // namespace ingot
