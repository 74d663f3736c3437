// SPDX-License-Identifier: Apache-2.0
// The table of every field of the public schemas and of vLLM's and llama.cpp's extensions: those
// that are honoured, those that change nothing here, and those that are refused unless they say
// what is so anyway. A new field is a new line.
#include <array>
#include <limits>

#include "api/openai_field.h"
#include "api/openai_readers.h"
#include "base/limits.h"

namespace ingot {
namespace {

using Params = SamplingParams;
using Request = OpenAiRequest;
using Draft = OpenAiDraft;
using Type = ValueShape::Type;

constexpr uint8_t kChat = static_cast<uint8_t>(OpenAiEndpoint::kChat);
constexpr uint8_t kCompletions = static_cast<uint8_t>(OpenAiEndpoint::kCompletions);
constexpr uint8_t kBoth = kChat | kCompletions;
constexpr int64_t kMost32 = std::numeric_limits<int32_t>::max();
constexpr int64_t kLeast32 = std::numeric_limits<int32_t>::min();
constexpr int64_t kMost64 = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast64 = std::numeric_limits<int64_t>::min();

constexpr ValueShape kAny{};
constexpr ValueShape kBoolean{.type = Type::kBoolean};
constexpr ValueShape integer(int64_t least, int64_t most) {
  return {.type = Type::kInteger, .least = least, .most = most};
}
constexpr ValueShape number(double low, double high) {
  return {.type = Type::kNumber, .low = low, .high = high};
}
constexpr ValueShape sized(Type type, size_t most) {
  return {.type = type, .most = static_cast<int64_t>(most)};
}
constexpr ValueShape kName = sized(Type::kText, limits::kRequestNameBytes);
constexpr ValueShape kTexts = sized(Type::kTexts, limits::kRequestStrings);
constexpr ValueShape kTextOrTexts = sized(Type::kTextOrTexts, limits::kRequestStrings);
constexpr ValueShape kObject = sized(Type::kObject, limits::kJsonNodes);

constexpr std::string_view kNoConstraints = "output cannot be constrained yet";
constexpr std::string_view kTextOnly = "only text is supported";

// clang-format off
constexpr std::array kFields = std::to_array<OpenAiField>({
    // The prompt.
    {"messages", kChat, sized(Type::kList, limits::kRequestMessages), read_messages},
    {"prompt", kCompletions, kAny, read_prompt},
    {"model", kBoth, kName, read_model},
    {"tools", kChat, sized(Type::kList, limits::kRequestTools), read_tools},
    {"tool_choice", kChat, kAny, read_tool_choice},
    {"parallel_tool_calls", kChat, kBoolean, &Draft::parallel_tool_calls},
    {"chat_template_kwargs", kChat, kObject, read_template_kwargs},
    {"reasoning_effort", kChat, sized(Type::kText, limits::kRequestStringBytes), read_effort},
    {"include_reasoning", kChat, kBoolean, &Draft::includes_reasoning},
    {"add_generation_prompt", kChat, kBoolean, &Draft::add_generation_prompt},
    {"continue_final_message", kChat, kBoolean, &TextRequest::continue_final_message},
    {"add_special_tokens", kBoth, kBoolean, read_add_special},
    {"truncate_prompt_tokens", kBoth, integer(-1, kMost32), &Draft::truncate_prompt_tokens},
    {"truncation_side", kBoth, sized(Type::kText, limits::kRequestStringBytes), read_truncation_side},

    // How long, how many.
    {"max_tokens", kChat, integer(1, kMost32), &Draft::max_tokens},
    {"max_tokens", kCompletions, integer(0, kMost32), &Draft::max_tokens},
    {"max_completion_tokens", kBoth, integer(1, kMost32), &Draft::max_completion_tokens},
    {"min_tokens", kBoth, integer(0, kMost32), &Params::min_tokens},
    {"n", kBoth, integer(1, limits::kRequestAnswers), &TextRequest::n},
    {"best_of", kBoth, integer(1, limits::kRequestAnswers), &TextRequest::best_of},
    {"use_beam_search", kBoth, kBoolean, &Draft::uses_beams},
    {"beam_width", kBoth, integer(1, limits::kBeams), &Draft::beam_width},
    {"early_stopping", kBoth, kBoolean, read_early_stopping},
    {"length_penalty", kBoth, number(-100, 100), read_length_penalty},

    // Where it ends.
    {"stop", kBoth, kTextOrTexts, read_stop},
    {"stop_token_ids", kBoth, sized(Type::kIds, limits::kRequestBiases), read_stop_ids},
    {"include_stop_str_in_output", kBoth, kBoolean, &TextRequest::include_stop},
    {"skip_special_tokens", kBoth, kBoolean, &TextRequest::skip_special},
    {"ignore_eos", kBoth, kBoolean, &Params::ignore_eos},

    // Which tokens; the engine's validate() has the same ranges.
    {"temperature", kBoth, number(0, 100), &Params::temperature},
    {"top_p", kBoth, number(0, 1), &Params::top_p},
    {"top_k", kBoth, integer(-1, kMost32), &Params::top_k},
    {"min_p", kBoth, number(0, 1), &Params::min_p},
    {"typical_p", kBoth, number(0, 1), &Params::typical_p},
    {"top_n_sigma", kBoth, number(-1, 1e6), &Params::top_n_sigma},
    {"xtc_probability", kBoth, number(0, 1), &Params::xtc_probability},
    {"xtc_threshold", kBoth, number(0, 1), &Params::xtc_threshold},
    {"dynatemp_range", kBoth, number(0, 100), &Params::dynatemp_range},
    {"dynatemp_exponent", kBoth, number(0, 100), &Params::dynatemp_exponent},
    {"presence_penalty", kBoth, number(-100, 100), &Params::presence_penalty},
    {"frequency_penalty", kBoth, number(-100, 100), &Params::frequency_penalty},
    {"repetition_penalty", kBoth, number(1e-3, 1e3), &Params::repetition_penalty},
    {"repeat_last_n", kBoth, integer(-1, kMost32), &Params::repeat_last_n},
    {"penalize_prompt", kBoth, kBoolean, &Params::penalize_prompt},
    {"dry_multiplier", kBoth, number(0, 1e3), &Params::dry_multiplier},
    {"dry_base", kBoth, number(0, 1e3), &Params::dry_base},
    {"dry_allowed_length", kBoth, integer(0, kMost32), &Params::dry_allowed_length},
    {"dry_penalty_last_n", kBoth, integer(-1, kMost32), &Params::dry_penalty_last_n},
    {"dry_sequence_breakers", kBoth, kTexts, read_breakers},
    {"mirostat", kBoth, integer(0, 2), &Params::mirostat},
    {"mirostat_tau", kBoth, number(0, 100), &Params::mirostat_tau},
    {"mirostat_eta", kBoth, number(0, 10), &Params::mirostat_eta},
    {"samplers", kBoth, kAny, read_stages},
    {"seed", kBoth, integer(kLeast64, kMost64), &Draft::seed},
    {"logit_bias", kBoth, sized(Type::kObject, limits::kRequestBiases), read_logit_bias},
    {"bad_words", kBoth, kTexts, read_bad_words},
    {"allowed_token_ids", kBoth, sized(Type::kIds, limits::kJsonNodes), read_allowed_ids},

    // What is told.
    {"logprobs", kChat, kBoolean, &Draft::wants_logprobs},
    {"logprobs", kCompletions, kAny, read_completion_logprobs},
    {"top_logprobs", kChat, integer(0, limits::kRequestLogprobs), &Draft::top_logprobs},
    {"prompt_logprobs", kBoth, integer(0, limits::kRequestLogprobs), &Draft::prompt_logprobs},
    {"echo", kCompletions, kBoolean, &Request::echoes},
    {"return_token_ids", kBoth, kBoolean, &Request::returns_token_ids},
    {"return_tokens_as_token_ids", kBoth, kBoolean, &Request::tokens_as_ids},
    {"stream", kBoth, kBoolean, &Request::streams},
    {"stream_options", kBoth, kObject, read_stream_options},
    {"response_format", kBoth, kObject, read_response_format},

    // Scheduling.
    {"priority", kBoth, integer(kLeast32, kMost32), &TextRequest::priority},
    {"cache_salt", kBoth, kName, read_cache_salt},

    // Who asks, where it is kept, hints about speed.
    {"metadata", kBoth, sized(Type::kObject, limits::kRequestMetadata), check_metadata},
    {"user", kBoth, kName, QuietField{}},
    {"safety_identifier", kBoth, kName, QuietField{}},
    {"prompt_cache_key", kBoth, kName, QuietField{}},
    {"prompt_cache_retention", kBoth, kName, QuietField{}},
    {"service_tier", kBoth, kName, QuietField{}},
    {"request_id", kBoth, kName, QuietField{}},
    {"session_id", kBoth, kName, QuietField{}},
    {"store", kBoth, kBoolean, QuietField{}},
    {"stream_interval", kBoth, integer(0, kMost32), QuietField{}},

    // What cannot be honoured.
    {"modalities", kChat, kAny, RefusedField{R"(["text"])", "only text can be generated"}},
    {"audio", kChat, kAny, RefusedField{"", "only text can be generated"}},
    {"web_search_options", kChat, kAny, RefusedField{"", "there is no web search"}},
    {"prediction", kChat, kAny, RefusedField{"", "predicted output is not supported"}},
    {"functions", kChat, kAny, RefusedField{"[]", "it is deprecated; use tools"}},
    {"function_call", kChat, kAny, RefusedField{R"("none")", "it is deprecated; use tool_choice"}},
    {"verbosity", kChat, kAny, RefusedField{R"("medium")", "say in the prompt how long the answer should be"}},
    {"suffix", kCompletions, kAny, RefusedField{R"("")", "text cannot be inserted before a suffix"}},
    {"prompt_embeds", kCompletions, kAny, RefusedField{"", "prompts are text or token ids"}},
    {"moderation", kBoth, kAny, RefusedField{"", "there is no moderation"}},
    {"structured_outputs", kBoth, kAny, RefusedField{"", kNoConstraints}},
    {"guided_json", kBoth, kAny, RefusedField{"", kNoConstraints}},
    {"guided_regex", kBoth, kAny, RefusedField{"", kNoConstraints}},
    {"guided_choice", kBoth, kAny, RefusedField{"", kNoConstraints}},
    {"guided_grammar", kBoth, kAny, RefusedField{"", kNoConstraints}},
    {"json_schema", kBoth, kAny, RefusedField{"", kNoConstraints}},
    {"grammar", kBoth, kAny, RefusedField{"", kNoConstraints}},
    {"echo", kChat, kAny, RefusedField{"false", "it exists for /v1/completions alone"}},
    {"chat_template", kChat, kAny, RefusedField{"", "templates come with the model, not with a request"}},
    {"documents", kChat, kAny, RefusedField{"[]", "put them into a message"}},
    {"mm_processor_kwargs", kBoth, kAny, RefusedField{"{}", kTextOnly}},
    {"spaces_between_special_tokens", kBoth, kAny, RefusedField{"true", "text is decoded in one way only"}},
    {"logprob_token_ids", kBoth, kAny, RefusedField{"", "use logprobs with a number"}},
    {"kv_transfer_params", kBoth, kAny, RefusedField{"", "caches are not transferred"}},
    {"thinking_token_budget", kChat, kAny, RefusedField{"", "thinking cannot be limited; use max_completion_tokens"}},
    {"repetition_detection", kBoth, kAny, RefusedField{"", "use the penalties or dry_multiplier"}},
    {"vllm_xargs", kBoth, kAny, RefusedField{"{}", "there are no such extensions"}},
});
// clang-format on

}  // namespace

std::span<const OpenAiField> openai_fields() {
  return kFields;
}

}  // namespace ingot
