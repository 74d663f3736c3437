// SPDX-License-Identifier: Apache-2.0
#include "api/embeddings_writer.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/embeddings_reply.h"
#include "api/ollama_reply.h"

namespace ingot {
namespace {

class Writer final : public AnswerWriter {
 public:
  Writer(const EmbeddingsRequest& request, std::string model)
      : request_(request), model_(std::move(model)) {
    result_.vectors.resize(request.inputs());
  }

  bool streams() const override { return false; }
  std::string_view content_type() const override { return "application/json"; }
  void begin(std::string& /*out*/) override {}

  void take(size_t prompt, TextEvent event, std::string& /*out*/) override {
    if (event.kind == TextEvent::Kind::kPrompt) result_.prompt_tokens += event.prompt->tokens;
    if (event.kind == TextEvent::Kind::kEmbedding)
      result_.vectors[prompt] = std::move(event.embedding);
  }

  void end(const Status& status, std::string& out) override {
    if (!status.is_ok()) return;
    result_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    Json body = embeddings_reply(request_, result_, model_);
    if (!request_.warnings.empty()) body["warnings"] = request_.warnings;
    out += dump_json(body);
  }

  std::string fail(const OpenAiError& error) const override {
    const bool is_openai = request_.endpoint == EmbeddingsEndpoint::kOpenAi;
    return dump_json(is_openai ? error_body(error) : ollama_error_body(error));
  }

 private:
  const EmbeddingsRequest& request_;
  const std::string model_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  EmbeddingsResult result_;
};

}  // namespace

std::optional<OpenAiError> embedding_prompts(const TextEngine& engine,
                                             const EmbeddingsRequest& request, Pooling pooling,
                                             OpenAiRequest& out) {
  const auto context = static_cast<size_t>(engine.context());
  for (size_t i = 0; i < request.inputs(); ++i) {
    TextRequest text;
    if (i < request.texts.size()) {
      text.prompt = request.texts[i];
    } else {
      text.prompt_ids = request.ids[i - request.texts.size()];
    }
    Result<std::vector<TokenId>> ids = engine.prompt_ids(text);
    if (!ids.is_ok()) return to_openai_error(ids.status(), "input");
    if (request.truncates && ids->size() > context) ids->resize(context);
    if (ids->size() > context) {
      return OpenAiError{.message = fmt::format("input {} has {} tokens but the context holds {}",
                                                i, ids->size(), context),
                         .param = "input",
                         .code = "context_length_exceeded"};
    }
    if (ids->empty())
      return OpenAiError{
          .message = fmt::format("input {} has no tokens", i), .param = "input", .code = {}};
    text.prompt.clear();
    text.prompt_ids = *std::move(ids);
    text.pooling = pooling;
    text.max_tokens = 0;
    out.requests.push_back(std::move(text));
  }
  return std::nullopt;
}

std::unique_ptr<AnswerWriter> embeddings_writer(const EmbeddingsRequest& request,
                                                std::string model) {
  return std::make_unique<Writer>(request, std::move(model));
}

}  // namespace ingot
