// SPDX-License-Identifier: Apache-2.0
// The table of every field: those that fill one sampling parameter, those with a reader of their
// own, those that change nothing here, and those that are refused unless they say what is so
// anyway.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <variant>

#include "api/json_values.h"
#include "api/openai_draft.h"
#include "api/openai_messages.h"
#include "api/token_sequences.h"
#include "base/limits.h"
#include "engine/sampling_params.h"

namespace ingot {
namespace {

using Draft = OpenAiDraft;
using Params = SamplingParams;
using Member = std::variant<float Params::*, int32_t Params::*, bool Params::*>;

constexpr uint8_t kChat = static_cast<uint8_t>(OpenAiEndpoint::kChat);
constexpr uint8_t kCompletions = static_cast<uint8_t>(OpenAiEndpoint::kCompletions);
constexpr uint8_t kBoth = kChat | kCompletions;
constexpr int64_t kMostTokens = std::numeric_limits<int32_t>::max();

// --- Fields that are one sampling parameter; validate() knows their ranges. ---

struct ParameterField {
  std::string_view name;
  Member member;
};

constexpr std::array kParameters = std::to_array<ParameterField>({
    {"temperature", &Params::temperature},
    {"top_p", &Params::top_p},
    {"top_k", &Params::top_k},
    {"min_p", &Params::min_p},
    {"typical_p", &Params::typical_p},
    {"top_n_sigma", &Params::top_n_sigma},
    {"xtc_probability", &Params::xtc_probability},
    {"xtc_threshold", &Params::xtc_threshold},
    {"dynatemp_range", &Params::dynatemp_range},
    {"dynatemp_exponent", &Params::dynatemp_exponent},
    {"presence_penalty", &Params::presence_penalty},
    {"frequency_penalty", &Params::frequency_penalty},
    {"repetition_penalty", &Params::repetition_penalty},
    {"repeat_last_n", &Params::repeat_last_n},
    {"penalize_prompt", &Params::penalize_prompt},
    {"dry_multiplier", &Params::dry_multiplier},
    {"dry_base", &Params::dry_base},
    {"dry_allowed_length", &Params::dry_allowed_length},
    {"dry_penalty_last_n", &Params::dry_penalty_last_n},
    {"mirostat", &Params::mirostat},
    {"mirostat_tau", &Params::mirostat_tau},
    {"mirostat_eta", &Params::mirostat_eta},
    {"min_tokens", &Params::min_tokens},
    {"ignore_eos", &Params::ignore_eos},
});

Status assign(const Json& value, float& out) {
  INGOT_TRY(const double number, number_of(value, -1e9, 1e9));
  out = static_cast<float>(number);
  return Status::ok();
}

Status assign(const Json& value, int32_t& out) {
  INGOT_TRY(const int64_t number,
            integer_of(value, std::numeric_limits<int32_t>::min(), kMostTokens));
  out = static_cast<int32_t>(number);
  return Status::ok();
}

Status assign(const Json& value, bool& out) {
  INGOT_TRY(out, bool_of(value));
  return Status::ok();
}

Status set_parameter(Draft& draft, const ParameterField& field, const Json& value) {
  const auto set = [&](Params& params) {
    return std::visit([&](auto member) { return assign(value, params.*member); }, field.member);
  };
  Params probe;  // alone, so that an error is this field's
  if (const Status status = set(probe); !status.is_ok())
    return Status(status.code(), fmt::format("{} {}", field.name, status.message()));
  INGOT_TRY(validate(probe));  // its messages begin with the name
  draft.gives_penalty |= field.name.ends_with("_penalty");
  draft.gives_window |= field.name == "repeat_last_n";
  draft.gives_penalize_prompt |= field.name == "penalize_prompt";
  return set(draft.text.sampling);
}

// --- Fields with a reader of their own. ---

template <class T>
Status read_integer(const Json& value, int64_t least, int64_t most, T& out) {
  INGOT_TRY(const int64_t number, integer_of(value, least, most));
  if constexpr (std::is_same_v<T, int32_t> || std::is_same_v<T, std::optional<int32_t>>) {
    out = static_cast<int32_t>(number);
  } else {
    out = number;
  }
  return Status::ok();
}

template <class T>
Status read_bool(const Json& value, T& out) {
  INGOT_TRY(const bool flag, bool_of(value));
  out = flag;
  return Status::ok();
}

Status read_prompt(Draft& draft, const Json& value) {
  if (value.is_string()) {
    draft.prompts = {value.get<std::string>()};
    return Status::ok();
  }
  if (!value.is_array() || value.empty()) {
    return Status::invalid_argument(
        "must be a string, a list of strings, a list of token ids, or a list of such lists");
  }
  const int64_t vocab = draft.parser.defaults().vocab;
  const auto read_ids = [&](const Json& list) -> Status {
    INGOT_TRY(std::vector<TokenId> ids, ids_of(list, vocab, limits::kJsonNodes));
    if (ids.empty()) return Status::invalid_argument("holds an empty list of token ids");
    draft.prompt_ids.push_back(std::move(ids));
    return Status::ok();
  };
  if (value.front().is_number()) return read_ids(value);
  if (value.size() > limits::kRequestPrompts) {
    return Status::invalid_argument("has {} entries but may have {}", value.size(),
                                    limits::kRequestPrompts);
  }
  for (const Json& entry : value) {
    if (entry.type() != value.front().type())
      return Status::invalid_argument("mixes strings and token ids");
    if (entry.is_string()) {
      draft.prompts.push_back(entry.get<std::string>());
    } else {
      INGOT_TRY(read_ids(entry));
    }
  }
  return Status::ok();
}

Status read_tools(Draft& draft, const Json& value) {
  INGOT_TRY(const Json tools, template_tools(value));
  draft.text.tools = tools.empty() ? "" : dump_json(tools);
  for (const Json& tool : tools)
    draft.tool_names.push_back(tool["function"]["name"].get<std::string>());
  return Status::ok();
}

Status read_tool_choice(Draft& draft, const Json& value) {
  if (!value.is_string() || (value != "none" && value != "auto")) {
    return Status::unsupported(
        "can be 'none' or 'auto': a call cannot be forced as long as output cannot be constrained");
  }
  draft.tool_choice = value.get<std::string>();
  return Status::ok();
}

Status read_logit_bias(Draft& draft, const Json& value) {
  if (!value.is_object())
    return Status::invalid_argument("must be an object of token ids and biases");
  if (value.size() > limits::kRequestBiases) {
    return Status::invalid_argument("has {} entries but may have {}", value.size(),
                                    limits::kRequestBiases);
  }
  const int64_t vocab = draft.parser.defaults().vocab;
  std::vector<std::pair<TokenId, float>> biases;
  for (const auto& [key, bias] : value.items()) {
    TokenId id = -1;
    const auto [end, problem] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (problem != std::errc() || end != key.data() + key.size() || id < 0 || id >= vocab) {
      return Status::invalid_argument("has the key '{}', not a token id of the vocabulary [0, {})",
                                      key.substr(0, limits::kRequestStringBytes), vocab);
    }
    INGOT_TRY(const double number, number_of(bias, -100, 100));
    biases.emplace_back(id, static_cast<float>(number));
  }
  draft.text.sampling.logit_bias = std::move(biases);
  return Status::ok();
}

// Chat says whether, completions say how many.
Status read_logprobs(Draft& draft, const Json& value) {
  if (draft.result.endpoint == OpenAiEndpoint::kChat) return read_bool(value, draft.wants_logprobs);
  if (value.is_boolean() && !value.get<bool>()) return Status::ok();
  draft.wants_logprobs = true;
  return read_integer(value, 0, limits::kRequestLogprobs, draft.top_logprobs);
}

Status read_stages(Draft& draft, const Json& value) {
  std::string names;
  if (value.is_array()) {
    INGOT_TRY(const std::vector<std::string> list, texts_of(value, false));
    for (const std::string& name : list)
      names += name + ";";
  } else {
    INGOT_TRY(names, text_of(value, limits::kRequestNameBytes));
  }
  const Result<std::vector<SamplerStage>> stages = parse_stages(names);
  if (!stages.is_ok())
    return Status::invalid_argument("cannot be read: {}", stages.status().message());
  draft.text.sampling.stages = *stages;
  return Status::ok();
}

Status read_bad_words(Draft& draft, const Json& value) {
  INGOT_TRY(const std::vector<std::string> words, texts_of(value, false));
  if (words.empty()) return Status::ok();
  const Tokenizer* tokenizer = draft.parser.defaults().tokenizer.get();
  if (tokenizer == nullptr) return Status::invalid_argument("needs a model with a tokenizer");
  INGOT_TRY(draft.text.sampling.bad_words, bad_word_ids(*tokenizer, words));
  return validate(draft.text.sampling);
}

Status read_template_kwargs(Draft& draft, const Json& value) {
  if (!value.is_object()) return Status::invalid_argument("must be an object");
  draft.text.template_kwargs = value.empty() ? "" : dump_json(value);
  return Status::ok();
}

Status read_response_format(Draft& /*draft*/, const Json& value) {
  const auto type = value.is_object() ? value.find("type") : value.end();
  if (!value.is_object() || type == value.end() || !type->is_string())
    return Status::invalid_argument("must be an object with a type");
  if (*type == "text") return Status::ok();
  return Status::unsupported("of the type '{}' cannot be enforced yet; only 'text' is supported",
                             type->get<std::string>().substr(0, limits::kRequestStringBytes));
}

Status read_stream_options(Draft& draft, const Json& value) {
  if (!value.is_object()) return Status::invalid_argument("must be an object");
  const auto read = [&](const char* name, bool& out) {
    const auto option = value.find(name);
    if (option == value.end() || option->is_null()) return Status::ok();
    return read_bool(*option, out);
  };
  INGOT_TRY(read("include_usage", draft.result.includes_usage));
  return read("continuous_usage_stats", draft.result.continuous_usage);
}

Status read_metadata(Draft& /*draft*/, const Json& value) {
  if (!value.is_object() || value.size() > limits::kRequestMetadata) {
    return Status::invalid_argument("must be an object of at most {} strings",
                                    limits::kRequestMetadata);
  }
  for (const auto& [key, entry] : value.items()) {
    INGOT_TRY(text_of(entry, limits::kRequestNameBytes));
    if (key.size() > limits::kRequestStringBytes)
      return Status::invalid_argument("has a key of {} bytes", key.size());
  }
  return Status::ok();
}

Status read_effort(Draft& draft, const Json& value) {
  constexpr std::array<std::string_view, 7> kEfforts = {"none", "minimal", "low", "medium",
                                                        "high", "xhigh",   "max"};
  INGOT_TRY(draft.reasoning_effort, text_of(value, limits::kRequestStringBytes));
  if (std::ranges::find(kEfforts, draft.reasoning_effort) != kEfforts.end()) return Status::ok();
  return Status::invalid_argument("must be one of none, minimal, low, medium, high, xhigh and max");
}

struct ReaderField {
  std::string_view name;
  uint8_t endpoints;
  Status (*read)(Draft& draft, const Json& value);
};

constexpr std::array kReaders = std::to_array<ReaderField>({
    // The prompt.
    {"messages", kChat, [](Draft& draft, const Json& value) {
       INGOT_TRY(const Json messages, template_messages(value));
       draft.text.messages = dump_json(messages);
       return Status::ok();
}  // namespace
}  // namespace ingot
, {"prompt", kCompletions, read_prompt}, {"tools", kChat, read_tools},
    {"tool_choice", kChat, read_tool_choice},
    {"parallel_tool_calls", kChat, [](Draft& draft, const Json& value){return read_bool(value, draft.parallel_tool_calls);
}
}
, {"chat_template_kwargs", kChat, read_template_kwargs}, {"reasoning_effort", kChat, read_effort},
    {"include_reasoning", kChat, [](Draft& draft, const Json& value){return read_bool(value, draft.includes_reasoning);
}
},
    {"model", kBoth,
     [](Draft& draft, const Json& value){INGOT_TRY(draft.result.model, text_of(value, limits::kRequestNameBytes));
return Status::ok();
}
}
,
    // How long, how many.
    {"max_tokens", kChat, [](Draft& draft, const Json& value){return read_integer(value, 1, kMostTokens, draft.max_tokens);
}
}
, {"max_tokens", kCompletions,
   [](Draft& draft, const Json& value){return read_integer(value, 0, kMostTokens, draft.max_tokens);
}
}
, {"max_completion_tokens", kBoth,
   [](Draft& draft, const Json& value){return read_integer(value, 1, kMostTokens, draft.max_completion_tokens);
}
}
, {"n", kBoth, [](Draft& draft, const Json& value){return read_integer(value, 1, limits::kRequestAnswers, draft.text.n);
}
}
, {"best_of", kBoth,
   [](Draft& draft, const Json& value){return read_integer(value, 1, limits::kRequestAnswers, draft.text.best_of);
}
}
, {"use_beam_search", kBoth, [](Draft& draft, const Json& value){return read_bool(value, draft.uses_beams);
}
}
, {"beam_width", kBoth, [](Draft& draft, const Json& value){return read_integer(value, 1, limits::kBeams, draft.beam_width);
}
}
, {"early_stopping", kBoth, [](Draft& draft, const Json& value){return read_bool(value, draft.beam.early_stopping);
}
}
, {"length_penalty", kBoth,
   [](Draft& draft, const Json& value){INGOT_TRY(draft.beam.length_penalty, number_of(value, -100, 100));
return Status::ok();
}
}
,
    // Where it ends.
    {"stop", kBoth, [](Draft& draft, const Json& value){INGOT_TRY(draft.text.stop, texts_of(value, true));
return Status::ok();
}
}
, {"stop_token_ids", kBoth,
   [](Draft& draft, const Json& value){INGOT_TRY(draft.text.sampling.stop_token_ids,
                        ids_of(value, draft.parser.defaults().vocab, limits::kRequestBiases));
return Status::ok();
}
}
, {"include_stop_str_in_output", kBoth, [](Draft& draft, const Json& value){return read_bool(value, draft.text.include_stop);
}
}
, {"skip_special_tokens", kBoth, [](Draft& draft, const Json& value){return read_bool(value, draft.text.skip_special);
}
}
,
    // Which tokens.
    {"seed", kBoth,
     [](Draft& draft, const Json& value){return read_integer(value, std::numeric_limits<int64_t>::min(),
                                    std::numeric_limits<int64_t>::max(), draft.seed);
}
}
, {"logit_bias", kBoth, read_logit_bias}, {"bad_words", kBoth, read_bad_words},
    {"allowed_token_ids", kBoth,
     [](Draft& draft, const Json& value){INGOT_TRY(draft.text.sampling.allowed_token_ids,
                          ids_of(value, draft.parser.defaults().vocab, limits::kJsonNodes));
if (draft.text.sampling.allowed_token_ids.empty())
  return Status::invalid_argument("allows no token at all");
return Status::ok();
}
}
, {"samplers", kBoth, read_stages},
    {"dry_sequence_breakers", kBoth, [](Draft& draft, const Json& value){INGOT_TRY(draft.breakers, texts_of(value, false));
return Status::ok();
}
}
,
    // What is told.
    {"logprobs", kBoth, read_logprobs},
    {"top_logprobs", kChat,
     [](Draft& draft, const Json& value){return read_integer(value, 0, limits::kRequestLogprobs, draft.top_logprobs);
}
}
, {"prompt_logprobs", kBoth,
   [](Draft& draft, const Json& value){return read_integer(value, 0, limits::kRequestLogprobs, draft.prompt_logprobs);
}
}
, {"echo", kCompletions, [](Draft& draft, const Json& value){return read_bool(value, draft.result.echoes);
}
}
, {"return_token_ids", kBoth, [](Draft& draft, const Json& value){return read_bool(value, draft.result.returns_token_ids);
}
}
, {"return_tokens_as_token_ids", kBoth,
   [](Draft& draft, const Json& value){return read_bool(value, draft.result.tokens_as_ids);
}
}
, {"stream", kBoth, [](Draft& draft, const Json& value){return read_bool(value, draft.result.streams);
}
}
, {"stream_options", kBoth, read_stream_options}, {"response_format", kBoth, read_response_format},
    // Scheduling.
    {"priority", kBoth,
     [](Draft& draft, const Json& value){return read_integer(value, std::numeric_limits<int32_t>::min(), kMostTokens,
                                    draft.text.priority);
}
}
, {"cache_salt", kBoth,
   [](Draft& draft, const Json& value){INGOT_TRY(draft.text.cache_salt, text_of(value, limits::kRequestNameBytes));
if (draft.text.cache_salt.empty()) return Status::invalid_argument("must not be empty");
return Status::ok();
}
}
, {"metadata", kBoth, read_metadata},
});

// --- Fields that say nothing to us: who asks, where it is kept, hints about speed. ---

struct QuietField {
  std::string_view name;
  bool is_text;  // else a boolean or a number
};

constexpr std::array kQuiet = std::to_array<QuietField>({
    {"user", true},
    {"safety_identifier", true},
    {"prompt_cache_key", true},
    {"prompt_cache_retention", true},
    {"service_tier", true},
    {"request_id", true},
    {"session_id", true},
    {"store", false},
    {"stream_interval", false},
});

Status check_quiet(const QuietField& field, const Json& value) {
  if (field.is_text) {
    INGOT_TRY(text_of(value, limits::kRequestNameBytes));
  } else if (!value.is_boolean() && !value.is_number()) {
    return Status::invalid_argument("has a wrong type");
  }
  return Status::ok();
}

// --- Fields that cannot be honoured, and the one value with which they are harmless. ---

struct RefusedField {
  std::string_view name;
  uint8_t endpoints;
  std::string_view harmless;  // JSON; null is always harmless
  std::string_view reason;
};

constexpr std::string_view kNoConstraints = "output cannot be constrained yet";
constexpr std::array kRefused = std::to_array<RefusedField>({
    {"modalities", kChat, R"(["text"])", "only text can be generated"},
    {"audio", kChat, "", "only text can be generated"},
    {"web_search_options", kChat, "", "there is no web search"},
    {"prediction", kChat, "", "predicted output is not supported"},
    {"functions", kChat, "[]", "it is deprecated; use tools"},
    {"function_call", kChat, R"("none")", "it is deprecated; use tool_choice"},
    {"verbosity", kChat, R"("medium")", "say in the prompt how long the answer should be"},
    {"suffix", kCompletions, R"("")", "text cannot be inserted before a suffix"},
    {"prompt_embeds", kCompletions, "", "prompts are text or token ids"},
    {"moderation", kBoth, "", "there is no moderation"},
    {"structured_outputs", kBoth, "", kNoConstraints},
    {"guided_json", kBoth, "", kNoConstraints},
    {"guided_regex", kBoth, "", kNoConstraints},
    {"guided_choice", kBoth, "", kNoConstraints},
    {"guided_grammar", kBoth, "", kNoConstraints},
    {"json_schema", kBoth, "", kNoConstraints},
    {"grammar", kBoth, "", kNoConstraints},
    {"echo", kChat, "false", "it exists for /v1/completions alone"},
    {"add_generation_prompt", kChat, "true", "the answer's turn is always opened"},
    {"continue_final_message", kChat, "false",
     "an answer cannot be continued; use /v1/completions"},
    {"add_special_tokens", kChat, "false", "the template writes its own"},
    {"add_special_tokens", kCompletions, "true", "give token ids instead of text"},
    {"chat_template", kChat, "", "templates come with the model, not with a request"},
    {"documents", kChat, "[]", "put them into a message"},
    {"mm_processor_kwargs", kBoth, "{}", "only text is supported"},
    {"truncate_prompt_tokens", kBoth, "", "shorten the prompt instead"},
    {"truncation_side", kBoth, "", "shorten the prompt instead"},
    {"spaces_between_special_tokens", kBoth, "true", "text is decoded in one way only"},
    {"logprob_token_ids", kBoth, "", "use logprobs with a number"},
    {"kv_transfer_params", kBoth, "", "caches are not transferred"},
    {"thinking_token_budget", kChat, "", "thinking cannot be limited; use max_completion_tokens"},
    {"repetition_detection", kBoth, "", "use the penalties or dry_multiplier"},
    {"vllm_xargs", kBoth, "{}", "there are no such extensions"},
});

Status check_refused(const RefusedField& field, const Json& value) {
  if (!field.harmless.empty()) {
    const Result<Json> harmless = parse_json(field.harmless, field.name);
    if (harmless.is_ok() && *harmless == value) return Status::ok();
  }
  return Status::unsupported("is not supported: {}", field.reason);
}

template <class Table>
auto find_field(const Table& table, std::string_view name, OpenAiEndpoint endpoint) -> const
    typename Table::value_type* {
  const auto found = std::ranges::find_if(table, [&](const auto& field) {
    if constexpr (requires { field.endpoints; }) {
      if ((field.endpoints & static_cast<uint8_t>(endpoint)) == 0) return false;
    }
    return field.name == name;
  });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

Result<FieldUse> read_openai_field(Draft& draft, std::string_view name, const Json& value) {
  const OpenAiEndpoint endpoint = draft.result.endpoint;
  Status status;
  if (const auto* parameter = find_field(kParameters, name, endpoint); parameter != nullptr) {
    if (!value.is_null()) {
      INGOT_TRY(set_parameter(draft, *parameter, value));
    }
    return FieldUse::kTaken;
  }
  const auto* reader = find_field(kReaders, name, endpoint);
  const auto* quiet = find_field(kQuiet, name, endpoint);
  const auto* refused = find_field(kRefused, name, endpoint);
  if (reader == nullptr && quiet == nullptr && refused == nullptr) return FieldUse::kUnknown;
  if (value.is_null()) return FieldUse::kTaken;  // as if it were absent
  if (reader != nullptr) {
    status = reader->read(draft, value);
  } else if (quiet != nullptr) {
    status = check_quiet(*quiet, value);
  } else {
    status = check_refused(*refused, value);
  }
  if (status.is_ok()) return FieldUse::kTaken;
  return Status(status.code(), fmt::format("{} {}", name, status.message()));
}

}  // namespace ingot
