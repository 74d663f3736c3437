// SPDX-License-Identifier: Apache-2.0
// Embeddings on their way through the engine: each input becomes a request for a pooled vector, and
// the vectors become the body of the reply.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/answer_writer.h"
#include "api/embeddings_request.h"
#include "api/openai_request.h"
#include "ingot/engine.h"

namespace ingot {

// One request for each input, as ids: refused (or cut) where it does not fit the context.
std::optional<OpenAiError> embedding_prompts(const TextEngine& engine,
                                             const EmbeddingsRequest& request, Pooling pooling,
                                             OpenAiRequest& out);

// `request` outlives the writer.
std::unique_ptr<AnswerWriter> embeddings_writer(const EmbeddingsRequest& request,
                                                std::string model);

}  // namespace ingot
