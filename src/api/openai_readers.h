// SPDX-License-Identifier: Apache-2.0
// Fields whose value needs more than to be stored. Each gets a value that has the shape its line of
// the table demands; errors do not name the field.
#pragma once

#include "api/openai_draft.h"
#include "base/json.h"
#include "base/status.h"

namespace ingot {

// The prompt.
Status read_messages(OpenAiDraft& draft, const Json& value);
Status read_prompt(OpenAiDraft& draft, const Json& value);
Status read_model(OpenAiDraft& draft, const Json& value);
Status read_tools(OpenAiDraft& draft, const Json& value);
Status read_tool_choice(OpenAiDraft& draft, const Json& value);
Status read_template_kwargs(OpenAiDraft& draft, const Json& value);
Status read_effort(OpenAiDraft& draft, const Json& value);
Status read_add_special(OpenAiDraft& draft, const Json& value);
Status read_truncation_side(OpenAiDraft& draft, const Json& value);

// The answer.
Status read_early_stopping(OpenAiDraft& draft, const Json& value);
Status read_length_penalty(OpenAiDraft& draft, const Json& value);
Status read_stop(OpenAiDraft& draft, const Json& value);
Status read_stop_ids(OpenAiDraft& draft, const Json& value);
Status read_breakers(OpenAiDraft& draft, const Json& value);
Status read_stages(OpenAiDraft& draft, const Json& value);
Status read_logit_bias(OpenAiDraft& draft, const Json& value);
Status read_bad_words(OpenAiDraft& draft, const Json& value);
Status read_allowed_ids(OpenAiDraft& draft, const Json& value);
Status read_completion_logprobs(OpenAiDraft& draft, const Json& value);
Status read_stream_options(OpenAiDraft& draft, const Json& value);
Status read_response_format(OpenAiDraft& draft, const Json& value);
Status read_cache_salt(OpenAiDraft& draft, const Json& value);
Status check_metadata(OpenAiDraft& draft, const Json& value);

}  // namespace ingot
