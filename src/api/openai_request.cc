// SPDX-License-Identifier: Apache-2.0
#include "api/openai_request.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <random>

#include "api/answer_splitter.h"
#include "api/openai_draft.h"
#include "api/text_engine.h"
#include "api/token_sequences.h"
#include "base/limits.h"

namespace ingot {
namespace {

constexpr int64_t kDefaultCompletionTokens = 16;  // OpenAI's
constexpr size_t kShownFieldBytes = 64;           // of an unknown field

// An error and the field it is about.
struct Problem {
  Status status;
  std::string param;
};

Problem none() {
  return {};
}

Problem about(std::string param, Status status) {
  return {std::move(status), std::move(param)};
}

void warn_unknown(OpenAiRequest& request, size_t unknown, std::string_view name) {
  if (unknown > limits::kRequestWarnings) return;
  request.warnings.push_back(
      unknown == limits::kRequestWarnings
          ? std::string("there are more unknown fields")
          : fmt::format("the unknown field '{}' is ignored", name.substr(0, kShownFieldBytes)));
}

Problem read_fields(OpenAiDraft& draft, const Json& body) {
  size_t unknown = 0;
  for (const auto& [name, value] : body.items()) {
    const Result<FieldUse> use = read_openai_field(draft, name, value);
    if (!use.is_ok()) return about(name, use.status());
    if (*use == FieldUse::kUnknown) warn_unknown(draft.result, unknown++, name);
  }
  return none();
}

Problem finish_lengths(OpenAiDraft& draft) {
  TextRequest& text = draft.text;
  const bool is_chat = draft.result.endpoint == OpenAiEndpoint::kChat;
  text.max_tokens = draft.max_completion_tokens.value_or(
      draft.max_tokens.value_or(is_chat ? -1 : kDefaultCompletionTokens));
  if (text.best_of != 0 && text.best_of < text.n) {
    return about("best_of", Status::invalid_argument("best_of is {} but must be at least n ({})",
                                                     text.best_of, text.n));
  }
  if (text.max_tokens >= 0 && text.sampling.min_tokens > text.max_tokens) {
    return about("min_tokens", Status::invalid_argument("min_tokens is {} but max_tokens is {}",
                                                        text.sampling.min_tokens, text.max_tokens));
  }
  draft.result.truncate_prompt_tokens = draft.truncate_prompt_tokens;
  draft.result.truncates_right = draft.truncates_right;
  if (draft.truncate_prompt_tokens == 0) {
    return about("truncate_prompt_tokens",
                 Status::invalid_argument("truncate_prompt_tokens must be -1 or at least 1"));
  }
  if (!draft.uses_beams) return none();
  draft.beam.width = draft.beam_width.value_or(std::max(text.n, text.best_of));
  if (draft.beam.width < std::max(text.n, text.best_of)) {
    return about("beam_width",
                 Status::invalid_argument("beam_width is {} but must be at least {}",
                                          draft.beam.width, std::max(text.n, text.best_of)));
  }
  text.beam = draft.beam;
  return none();
}

Problem finish_logprobs(OpenAiDraft& draft) {
  SamplingParams& sampling = draft.text.sampling;
  const bool is_wanted = draft.wants_logprobs.value_or(false);
  if (draft.top_logprobs.value_or(0) > 0 && !is_wanted)
    return about("top_logprobs", Status::invalid_argument("top_logprobs needs logprobs: true"));
  if (is_wanted) sampling.logprobs = draft.top_logprobs.value_or(0);
  sampling.prompt_logprobs = draft.prompt_logprobs;
  draft.result.hides_prompt_logprobs = !draft.prompt_logprobs.has_value();
  // What is echoed is told of like what is generated.
  if (draft.result.echoes && is_wanted) {
    sampling.prompt_logprobs = std::max(draft.prompt_logprobs.value_or(0), *sampling.logprobs);
    // Evaluation harnesses ask for one token and leave out the last entry: it must be there also
    // where the model would have ended.
    if (draft.text.max_tokens == 1) sampling.ignore_eos = true;
  }
  return none();
}

// OpenAI's penalties, and vLLM's, look at all of the answer, not at a window of prompt and answer.
Problem finish_sampling(OpenAiDraft& draft) {
  SamplingParams& sampling = draft.text.sampling;
  if (draft.gives_penalty && !draft.gives_window) sampling.repeat_last_n = -1;
  if (draft.gives_penalty && !draft.gives_penalize_prompt) sampling.penalize_prompt = false;
  if (sampling.dry_multiplier != 0) {
    const Tokenizer* tokenizer = draft.parser.defaults().tokenizer.get();
    Result<std::vector<std::vector<TokenId>>> breakers = std::vector<std::vector<TokenId>>();
    if (!draft.breakers) {
      breakers = draft.parser.default_breakers();
    } else if (!draft.breakers->empty()) {
      breakers = tokenizer != nullptr
                     ? breaker_ids(*tokenizer, *draft.breakers)
                     : Status::invalid_argument("dry_sequence_breakers needs a tokenizer");
    }
    if (!breakers.is_ok()) return about("dry_sequence_breakers", breakers.status());
    sampling.dry_breakers = *std::move(breakers);
  }
  draft.result.seed = draft.seed.value_or(std::random_device{}());
  sampling.seed = static_cast<uint64_t>(draft.result.seed);
  return none();
}

// Calls are looked for where the request offers tools, thoughts wherever the model has them.
void finish_format(OpenAiDraft& draft) {
  TextRequest& text = draft.text;
  const OpenAiDefaults& defaults = draft.parser.defaults();
  AnswerFormat& format = draft.result.format;
  format.reasoning = defaults.reasoning;
  format.hides_reasoning = !draft.includes_reasoning;
  if (!text.tools.empty()) {
    format.tools = defaults.tool_format;
    format.tool_names = std::move(draft.tool_names);
    format.one_call = !draft.parallel_tool_calls.value_or(true);
    if (format.tools == ToolFormat::kNone) {
      draft.result.warnings.emplace_back(
          "how this model writes tool calls is not known: its calls stay text");
    }
  }
  if (!text.skip_special || format.is_plain() || defaults.tokenizer == nullptr) return;
  format.strips_special = !special_marks(format, *defaults.tokenizer).empty();
  text.skip_special = !format.strips_special;
}

Problem finish_chat(OpenAiDraft& draft) {
  TextRequest& text = draft.text;
  if (text.messages.empty())
    return about("messages", Status::invalid_argument("messages is missing"));
  if (draft.tool_choice == "none") text.tools.clear();
  if (text.continue_final_message && draft.add_generation_prompt.value_or(false)) {
    return about("continue_final_message",
                 Status::invalid_argument(
                     "continue_final_message and add_generation_prompt exclude each other"));
  }
  text.add_generation_prompt = draft.add_generation_prompt.value_or(true);
  finish_format(draft);
  if (!draft.reasoning_effort.empty()) {
    if (text.template_kwargs.empty()) text.template_kwargs = "{}";
    Result<Json> kwargs = parse_json(text.template_kwargs, "chat_template_kwargs");
    if (!kwargs.is_ok()) return about("chat_template_kwargs", kwargs.status());
    if (!kwargs->contains("reasoning_effort"))
      (*kwargs)["reasoning_effort"] = draft.reasoning_effort;
    text.template_kwargs = dump_json(*kwargs);
  }
  draft.result.requests = {text};
  return none();
}

Problem finish_completions(OpenAiDraft& draft) {
  for (std::string& prompt : draft.prompts) {
    draft.result.requests.push_back(draft.text);
    draft.result.requests.back().prompt = std::move(prompt);
  }
  for (std::vector<TokenId>& ids : draft.prompt_ids) {
    draft.result.requests.push_back(draft.text);
    draft.result.requests.back().prompt_ids = std::move(ids);
  }
  if (draft.result.requests.empty())
    return about("prompt", Status::invalid_argument("prompt is missing"));
  return none();
}

Problem read_body(OpenAiDraft& draft, const Json& body) {
  if (!body.is_object()) return about("", Status::invalid_argument("the body is not an object"));
  Problem problem = read_fields(draft, body);
  const bool is_chat = draft.result.endpoint == OpenAiEndpoint::kChat;
  for (const auto finish : {finish_lengths, finish_logprobs, finish_sampling,
                            is_chat ? finish_chat : finish_completions}) {
    if (!problem.status.is_ok()) break;
    problem = finish(draft);
  }
  return problem;
}

}  // namespace

OpenAiDefaults openai_defaults(const TextEngine& engine) {
  const TextSide& text = engine.model().text;
  std::string_view chat_template;
  if (text.chat_template) chat_template = text.chat_template->text;
  return {.sampling = engine.default_sampling(),
          .tokenizer = text.tokenizer,
          .vocab = engine.model().model->spec().vocab,
          .tool_format = detect_tool_format(chat_template),
          .reasoning = detect_reasoning(chat_template)};
}

Result<std::vector<std::vector<TokenId>>> OpenAiParser::default_breakers() const {
  static const std::array<std::string, 4> kBreakers = {"\n", ":", "\"", "*"};
  const std::scoped_lock lock(mutex_);
  if (breakers_.empty()) {
    if (defaults_.tokenizer == nullptr)
      return Status::invalid_argument("dry_sequence_breakers must be [] without a tokenizer");
    INGOT_TRY(breakers_, breaker_ids(*defaults_.tokenizer, kBreakers));
  }
  return breakers_;
}

std::variant<OpenAiRequest, OpenAiError> OpenAiParser::parse(OpenAiEndpoint endpoint,
                                                             const Json& body) const {
  OpenAiDraft draft(*this);
  draft.result.endpoint = endpoint;
  draft.text.sampling = defaults_.sampling;
  Problem problem = read_body(draft, body);
  if (problem.status.is_ok()) return std::move(draft.result);
  OpenAiError error = to_openai_error(problem.status, std::move(problem.param));
  if (problem.status.code() == StatusCode::kUnsupported) error.code = "unsupported_value";
  return error;
}

std::variant<OpenAiRequest, OpenAiError> OpenAiParser::parse_text(OpenAiEndpoint endpoint,
                                                                  std::string_view body) const {
  if (body.size() > limits::kRequestBytes) {
    return OpenAiError{.http_status = 413,
                       .message = fmt::format("the body has {} bytes but may have {}", body.size(),
                                              limits::kRequestBytes),
                       .param = {},
                       .code = {}};
  }
  const Result<Json> json = parse_json(body, "the body");
  if (!json.is_ok()) return to_openai_error(json.status());
  return parse(endpoint, *json);
}

}  // namespace ingot
